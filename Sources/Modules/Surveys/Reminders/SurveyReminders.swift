package import FoundationEssentials
package import Errand
import ErrandCoupons
package import ErrandNotification
package import ErrandPostgres

/// Finds open invitations that expire soon in their people's calendars, and notifies these people.
///
/// The dedupe key allows one notice per person, last day and distance, even for repeated and
/// concurrent runs. A run therefore needs no record of other runs: it notifies every person who
/// is due today and has no notice yet.
package struct SurveyReminders: Sendable {
    /// The time of the scheduled occurrence.
    package var due: Date
    /// The current time.
    package var now: Date
    package var database: Pool
    package var client: JobClient
    /// The notices and their templates.
    package var catalogue: NoticeCatalogue
    package var zones: PeopleZones
    package var log: Log
    /// The job that runs it.
    package var job: Int64?
    /// Invitations per transaction.
    package var pageSize: Int32 = 1_000

    package init(
        due: Date, now: Date, database: Pool, client: JobClient, catalogue: NoticeCatalogue,
        zones: PeopleZones, log: Log
    ) {
        self.due = due
        self.now = now
        self.database = database
        self.client = client
        self.catalogue = catalogue
        self.zones = zones
        self.log = log
    }

    /// Handles the job; a transaction after the last page completes it.
    static func handle(_ context: JobContext, notices catalogue: NoticeCatalogue) async throws {
        PeopleZones.shared.refresh()
        var run = SurveyReminders(
            due: context.occurrence?.due ?? context.now, now: context.now,
            database: context.database, client: context.client, catalogue: catalogue,
            zones: .shared, log: context.log)
        run.job = context.id
        let count = try await run.notify { try await context.complete(in: $0) }
        context.log.with("notices", count).info("notified people of surveys that expire soon")
    }

    /// Notifies people, page by page.
    ///
    /// - Parameter end: called in a transaction after the last page.
    /// - Returns: the number of notices, sent now or at the person's notice time.
    package func notify(
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        let windows = try await Expiry(
            due: due, now: now, database: database, client: client, catalogue: catalogue,
            zones: zones, log: log
        ).windows()
        let planner = NoticePlanner(catalogue, client: client, zones: zones, job: job)
        var count = 0
        for distance in ExpiryWindow.distances {
            guard let scan = Expiry.Scan(windows.filter { $0.daysLeft == distance }) else {
                continue
            }
            count += try await notify(scan, planner)
        }
        try await database.transaction { try await end($0) }
        return count
    }

    /// Notifies the people of one scan, some pages at once.
    ///
    /// Pages share people, but no notice: the dedupe key decides which page makes it.
    private func notify(_ scan: Expiry.Scan, _ planner: NoticePlanner) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            var (count, running) = (0, 0)
            var next: Page? = Page(after: scan.last, through: (scan.through, .max))
            while let page = next {
                let end = try await lastRow(of: page)
                next = end.map { Page(after: $0, through: page.through) }
                let own = Page(after: page.after, through: end ?? page.through)
                if running == Self.lanes, let made = try await group.next() {
                    count += made
                    running -= 1
                }
                running += 1
                group.addTask { try await notify(own, of: scan, planner) }
            }
            return try await group.reduce(count, +)
        }
    }

    private func notify(
        _ page: Page, of scan: Expiry.Scan, _ planner: NoticePlanner
    ) async throws -> Int {
        try await database.transaction { transaction in
            let intents = try await intents(page, of: scan, in: transaction)
            // A dry run may be ahead of the clock.
            let answers = try await planner.notify(intents, now: max(due, now), in: transaction)
            return answers.count(where: \.isKept)
        }
    }

    /// The number of pages handled at once; a worker has two connections for handlers by default.
    private static let lanes = 2

    /// Invitations from one behind `after` to `through`, by their end and id.
    private struct Page: Sendable {
        var after: (expiry: Instant, id: Int64)
        var through: (expiry: Instant, id: Int64)
    }

    private static let end = """
        SELECT i.expires_at, i.id FROM surveys.invitations i
        WHERE i.person_id IS NOT NULL AND (i.expires_at, i.id) > ($1, $2) AND i.expires_at <= $3
        ORDER BY i.expires_at, i.id OFFSET $4 - 1 LIMIT 1
        """

    /// Returns the last invitation of a full page; nil if what is left is less.
    private func lastRow(of page: Page) async throws -> (expiry: Instant, id: Int64)? {
        let rows = try await database.withSession {
            try await $0.query(
                Self.end,
                [
                    .timestamp(page.after.expiry), .int64(page.after.id),
                    .timestamp(page.through.expiry), .int64(Int64(pageSize)),
                ])
        }
        return try rows.first.map { (try $0.timestamp("expires_at"), try $0.int64("id")) }
    }

    private static let statement = """
        SELECT person_id, last_day, dedupe_key, until, data
        FROM surveys.due_reminders(zones => $1, last_days => $2, afters => $3, throughs => $4,
            untils => $5, seconds_of_day => $6, days_left => $7, after_expiry => $8,
            after_id => $9, through => $10, through_id => $11, page_size => $12, late => $13)
        """

    private func intents(
        _ page: Page, of scan: Expiry.Scan, in transaction: Transaction
    ) async throws -> [Intent] {
        let windows = scan.windows
        let rows = try await transaction.query(
            Self.statement,
            [
                .textArray(windows.map(\.zone)), .textArray(windows.map(\.lastDay)),
                .timestampArray(windows.map(\.after)), .timestampArray(windows.map(\.through)),
                .timestampArray(windows.map(\.until)),
                .int32Array(windows.map { Int32($0.secondOfDay) }),
                .int32(Int32(windows.first?.daysLeft ?? 0)), .timestamp(page.after.expiry),
                .int64(page.after.id), .timestamp(page.through.expiry), .int64(page.through.id),
                .int32(.max), .int32(Int32(ExpiryWindow.late)),
            ])
        let intents = try rows.compactMap { row -> Intent? in
            guard let person = try row.optionalInt64("person_id") else { return nil }
            return Intent(
                NoticeKind.surveyExpiring.name, to: person,
                of: "surveys-expiring:\(try row.text("last_day"))",
                data: [UInt8](try row.text("data").utf8),
                dedupeKey: try row.text("dedupe_key"), expiresAt: try row.timestamp("until"))
        }
        // In one order, so that pages that share people do not wait for each other in a circle.
        return intents.sorted { $0.dedupeKey < $1.dedupeKey }
    }
}
