package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Ends notices, deliveries and direct mails whose jobs ended without a result.
///
/// A job counts only if it is their own: while another one with the same id in its arguments is
/// alive, or the delivery waits for its batch, the ended one was somebody else's.
///
/// A job becomes a dead letter without a call of its handler if its worker is killed on the last
/// attempt or its handler fails each time. Cancellation by an operator does not call the handler
/// either.
package struct CloseUndelivered: Job {
    package static let kind = "notification.undelivered"
    package static let options = JobOptions(
        queue: "notices", priority: .low, maxAttempts: 3, timeout: .seconds(120))

    /// The period it checks, in seconds: long enough to cover missed runs.
    private static let reach = 86_400.0

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "*/5 * * * *", run: CloseUndelivered(), catchUp: .latest(within: .seconds(3_600)),
            overlap: .skip)
    }

    /// Ends those whose jobs died in the day before `now`.
    ///
    /// - Returns: the number of undecided notices, and of deliveries and direct mails without an
    ///   answer.
    @discardableResult
    package static func run(
        in database: Pool, now: Date
    ) async throws -> (notices: Int, deliveries: Int) {
        let since = Parameter.timestamp(Instant(date: now.addingTimeInterval(-reach)))
        let ended = try await end(
            "failed", in: database, now: now,
            notices: Statement(undecided, [since, .text(DecideNotice.kind)]),
            deliveries: Statement(
                unanswered, [since, .textArray([PushDelivery.kind, EmailDelivery.kind])]))
        let mails = try await endMails(
            "failed", Statement(deadMails, [since, .text(DirectMail.kind)]), in: database, now: now)
        let events = try await endEvents(since, in: database, now: now)
        return (ended.notices, ended.deliveries + mails + events)
    }

    /// Deletes the secret facts that have expired by `now`, and ends direct mails that were not
    /// sent in time.
    package static func expireSecrets(in database: Pool, now: Date) async throws {
        _ = try await database.withSession {
            try await $0.query(
                "SELECT notification.expire_secrets($1)", [.timestamp(Instant(date: now))])
        }
    }

    /// Ends the deliveries of events whose jobs died; returns their number.
    private static func endEvents(
        _ since: Parameter, in database: Pool, now: Date
    ) async throws -> Int {
        let lost = try await database.withSession {
            try await $0.query(WebhookStatements.abandoned, [since])
        }
        let own = try await owned(lost, by: [WebhookDelivery.kind], aliveEvents, in: database)
        guard !own.isEmpty else { return 0 }
        return try await database.withSession { session in
            try await session.query(
                WebhookStatements.endAbandoned,
                [
                    .int64Array(own.map(\.id)), .textArray(own.map(\.reason)),
                    .timestamp(Instant(date: now)),
                ]
            ).affected
        }
    }

    /// Withdraws those whose jobs operators cancelled in the day before `now`.
    ///
    /// - Returns: the number of withdrawn notices, and of deliveries and direct mails.
    @discardableResult
    package static func withdrawCancelled(
        in database: Pool, now: Date
    ) async throws -> (notices: Int, deliveries: Int) {
        let since = Parameter.timestamp(Instant(date: now.addingTimeInterval(-reach)))
        let why = Parameter.text(DeliveryStatements.cancelled)
        let ended = try await end(
            "withdrawn", in: database, now: now,
            notices: Statement(
                cancelledUndecided, [since, .text(DecideNotice.kind), why]),
            deliveries: Statement(
                cancelledUnanswered,
                [since, .textArray([PushDelivery.kind, EmailDelivery.kind]), why]))
        let mails = try await endMails(
            "withdrawn", Statement(cancelledMails, [since, .text(DirectMail.kind), why]),
            in: database, now: now)
        return (ended.notices, ended.deliveries + mails)
    }

    /// Ends notices and deliveries, each with its reason.
    private static func end(
        _ status: String, in database: Pool, now: Date, notices: Statement, deliveries: Statement
    ) async throws -> (notices: Int, deliveries: Int) {
        let lost = try await database.withSession { try await $0.pipeline([notices, deliveries]) }
        let notices = try await owned(
            lost[0], by: [DecideNotice.kind], aliveNotices, in: database)
        if !notices.isEmpty {
            _ = try await database.withSession {
                try await $0.query(
                    endNotices,
                    [
                        .int64Array(notices.map(\.id)), .textArray(notices.map(\.reason)),
                        .timestamp(Instant(date: now)), .text(status),
                    ])
            }
        }
        let deliveries = try await owned(
            lost[1], by: [PushDelivery.kind, EmailDelivery.kind], aliveDeliveries, in: database)
        guard !deliveries.isEmpty else { return (notices.count, 0) }
        let reasons = Dictionary(deliveries.map { ($0.id, $0.reason) }) { first, _ in first }
        let rows = try await database.withSession {
            try await $0.query(
                DeliveryStatements.read, [.int64Array(deliveries.map(\.id).sorted())])
        }
        let answers = try rows.map { row -> DeliveryAnswer in
            let due = try DueDelivery(row, zones: .shared)
            return DeliveryAnswer(due, status, reasons[due.id] ?? "its job died", .done)
        }
        if !answers.isEmpty {
            let statements = DeliveryAnswer.statements(
                answers, now: Instant(date: now), bounceLimit: .max)
            _ = try await database.withSession { try await $0.pipeline(statements) }
        }
        return (notices.count, rows.count)
    }

    /// Returns the rows `id, reason` whose ended jobs were their own.
    ///
    /// - Parameter alive: reads which of the ids $1 have a job of the kinds $2 that has not ended.
    static func owned(
        _ rows: Rows, by kinds: [String], _ alive: String, in database: Pool
    ) async throws -> [(id: Int64, reason: String)] {
        let found = try rows.map { (id: try $0.int64(0), reason: try $0.text(1)) }
        guard !found.isEmpty else { return [] }
        let others = try await database.withSession {
            try await $0.query(alive, [.int64Array(found.map(\.id)), .textArray(kinds)])
        }
        let foreign = Set(try others.map { try $0.int64(0) })
        return found.filter { !foreign.contains($0.id) }
    }

    /// Returns the SQL for a member of a job's arguments as an id, or NULL if it is not a number.
    ///
    /// The handlers read numbers only: a job with a text never was one of theirs.
    static func id(_ member: String) -> String {
        """
        CASE WHEN jsonb_typeof(j.args -> '\(member)') = 'number'
                AND j.args ->> '\(member)' ~ '^[0-9]{1,18}$'
            THEN (j.args ->> '\(member)')::bigint END
        """
    }

    private static let aliveNotices = alive("notice_id")
    private static let aliveEvents = alive("delivery_id")
    /// Also those that wait for the release of their batch, which have no job yet.
    private static let aliveDeliveries = """
        \(alive("delivery_id"))
            OR EXISTS (SELECT FROM notification.parked_deliveries p WHERE p.delivery_id = c.id)
        """

    /// Reads all live jobs of the kinds, and only while there are candidates.
    ///
    /// It names the queues because the index of lanes begins with them: jobs of other kinds are not
    /// read.
    static func alive(_ member: String) -> String {
        """
        SELECT c.id FROM unnest($1::bigint[]) AS c (id)
        WHERE c.id IN (
            SELECT \(id(member)) FROM errand.queues q
            CROSS JOIN LATERAL (
                SELECT j.args FROM errand.jobs j
                WHERE j.queue = q.name AND j.kind = ANY ($2) OFFSET 0
            ) j)
        """
    }

    /// The SQL for the reason of a dead job: its last error, which is more specific than its
    /// reason.
    static let why =
        "'its job died: ' || coalesce(j.errors -> -1 ->> 'error', j.reason, 'without a reason')"

    /// Undecided notices whose jobs died since $1; excludes notices held again after that.
    private static let undecided = """
        SELECT DISTINCT ON (n.id) n.id, \(why)
        FROM errand.dead_jobs j JOIN notification.notices n ON n.id = \(id("notice_id"))
        WHERE j.kind = $2 AND j.finished_at > $1
          AND (n.status = 'intended' OR n.status = 'held' AND n.hold_until < j.finished_at)
        ORDER BY n.id, j.id
        """

    private static let unanswered = """
        SELECT DISTINCT ON (d.id) d.id, \(why)
        FROM errand.dead_jobs j JOIN notification.deliveries d ON d.id = \(id("delivery_id"))
        WHERE j.kind = ANY ($2) AND j.finished_at > $1 AND d.status = 'pending'
        ORDER BY d.id, j.id
        """

    /// The condition for jobs of notices that ended without their handlers; matches their index.
    static let wasCancelled = """
        j.outcome = 'cancelled' AND j.reason !~ '^(failed|expired|withdrawn): '
            AND j.kind IN ('notification.decide', 'notification.email', 'notification.push',
                'notification.direct_mail')
            AND j.finished_at > $1
        """

    /// Undecided notices whose jobs were cancelled; excludes notices held again after that.
    private static let cancelledUndecided = """
        SELECT DISTINCT n.id, $3
        FROM errand.finished_jobs j JOIN notification.notices n ON n.id = \(id("notice_id"))
        WHERE \(wasCancelled) AND j.kind = $2
          AND (n.status = 'intended' OR n.status = 'held' AND n.hold_until <= j.run_at)
        """

    private static let cancelledUnanswered = """
        SELECT DISTINCT d.id, $3
        FROM errand.finished_jobs j JOIN notification.deliveries d ON d.id = \(id("delivery_id"))
        WHERE \(wasCancelled) AND j.kind = ANY ($2) AND d.status = 'pending'
        """

    private static let endNotices = """
        UPDATE notification.notices n
        SET status = $4::text::notification.notice_status, reason = f.reason, answered_at = $3
        FROM unnest($1::bigint[], $2::text[]) AS f (id, reason)
        WHERE n.id = f.id AND n.status IN ('intended', 'held')
        """
}
