package import Errand
import ErrandNotification
import ErrandPostgres

/// Notifies shoppers of a change of their mission, or of their own state.
///
/// Enqueued by the schema, in the transaction of the change. A change that is outdated when it runs
/// causes no notice.
package struct NotifyOfMissions: Job {
    package static let kind = "missions.notify"
    package static let options = JobOptions(
        queue: "missions", priority: .high, maxAttempts: 50,
        backoff: Backoff(base: 2, ceiling: 600), retention: .seconds(7 * 86_400))

    /// The event.
    package enum Event: String, Codable, Sendable, CaseIterable {
        // Of an assignment.
        case offered, agreed, waiting, reminder, unfinished
        case withdrawn, returned, paid, rejected, missed
        // Of a person.
        case hired, suspended, dismissed
    }

    package var event: Event
    /// Of an assignment.
    package var assignmentID: Int64?
    /// The number of the notice, from 1, where the same event can cause several.
    package var step: Int?
    /// Of a person, with when it happened, which names it.
    package var personID: Int64?
    package var at: String?

    package init(_ event: Event, assignment: Int64, step: Int = 0) {
        self.event = event
        assignmentID = assignment
        self.step = step
    }

    package init(_ event: Event, person: Int64, at: String) {
        self.event = event
        personID = person
        self.at = at
    }

    enum CodingKeys: String, CodingKey {
        case event, step, at
        case assignmentID = "assignment_id"
        case personID = "person_id"
    }

    static func run(
        _ job: NotifyOfMissions, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        let planner = NoticePlanner(catalogue, context: context)
        let now = Instant(date: context.now)
        try await context.database.transaction { transaction in
            if let intent = try await job.intent(now: now, in: transaction) {
                try await planner.notify([intent], now: context.now, in: transaction)
            }
            try await context.complete(in: transaction)
        }
    }

    /// The facts of the notice; nil if the event is outdated.
    private func intent(now: Instant, in transaction: Transaction) async throws -> Intent? {
        if let assignmentID {
            return try await intent(assignment: assignmentID, now: now, in: transaction)
        }
        guard let personID, let at else {
            throw JobError.invalid("missions.notify needs assignment_id, or person_id and at")
        }
        return try await intent(person: personID, at: at, now: now, in: transaction)
    }
}

extension NotifyOfMissions.Event {
    /// The kind of notice, with the states in which it is still so.
    fileprivate var notice: (kind: NoticeKind, states: [String]) {
        switch self {
        case .offered: (.missionOffered, ["offered"])
        case .agreed: (.missionAgreed, ["accepted"])
        case .waiting: (.missionWaiting, ["offered"])
        case .reminder: (.missionDueSoon, ["accepted"])
        case .unfinished: (.missionUnfinished, ["arrived"])
        case .withdrawn: (.missionWithdrawn, ["withdrawn"])
        case .returned: (.missionReturned, ["arrived"])
        case .paid: (.missionPaid, ["paid"])
        case .rejected: (.missionRejected, ["rejected"])
        case .missed: (.missionMissed, ["missed"])
        case .hired: (.missionHired, ["active"])
        case .suspended: (.missionSuspended, ["suspended"])
        case .dismissed: (.missionDismissed, ["refused"])
        }
    }
}

extension NotifyOfMissions {
    /// How long its notice is valid, unless something else ends it.
    private static let validity = Duration.seconds(14 * 86_400)

    private static let assignment = """
        SELECT a.person_id, a.state::text AS state,
            CASE WHEN a.state = 'offered' THEN a.answer_by
                WHEN a.state = 'accepted' THEN m.closes_at
                WHEN a.state = 'arrived' THEN a.due_at END AS expires_at,
            (SELECT jsonb_object_agg(f.key, f.value) FROM jsonb_each(jsonb_build_object(
                'title', m.title, 'branch', b.name,
                'pay', jsonb_build_object('minor', m.pay, 'currency', m.currency),
                'starts_at', m.opens_at, 'ended_at',
                CASE WHEN a.arrived_at IS NULL THEN m.closes_at ELSE a.due_at END,
                'answer_by', a.answer_by,
                'ends_at', CASE WHEN a.state = 'arrived' THEN a.due_at ELSE m.closes_at END,
                'reason', coalesce(a.reason, 'it is not needed any more'),
                'code', coalesce(a.review_code, ''))) f
                WHERE f.key = ANY ($2)) AS data
        FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
        JOIN establishments.branches b ON b.id = m.branch_id
        WHERE a.id = $1
        """

    private func intent(
        assignment id: Int64, now: Instant, in transaction: Transaction
    ) async throws -> Intent? {
        let (kind, states) = event.notice
        let row = try await transaction.query(
            Self.assignment, [.int64(id), .textArray(kind.fields.keys.sorted())]
        ).first
        guard let row, states.contains(try row.text("state")) else { return nil }
        let expires = try row.optionalTimestamp("expires_at") ?? now.adding(Self.validity)
        guard expires > now else { return nil }
        return Intent(
            kind.name, to: try row.int64("person_id"), of: "mission:\(id)",
            data: try row.json("data"),
            dedupeKey: "\(kind.name):\(id):\(step ?? 0)", expiresAt: expires)
    }

    private static let person = """
        SELECT s.state::text AS state,
            CASE WHEN 'reason' = ANY ($2)
                THEN jsonb_build_object('reason', coalesce(s.reason, 'an operator decided so'))
                ELSE '{}' END AS data
        FROM missions.shoppers s WHERE s.person_id = $1 AND s.state_since = $3::text::timestamptz
        """

    private func intent(
        person id: Int64, at: String, now: Instant, in transaction: Transaction
    ) async throws -> Intent? {
        let (kind, states) = event.notice
        let row = try await transaction.query(
            Self.person, [.int64(id), .textArray(kind.fields.keys.sorted()), .text(at)]
        ).first
        guard let row, states.contains(try row.text("state")) else { return nil }
        return Intent(
            kind.name, to: id, of: "shopper:\(id)", data: try row.json("data"),
            dedupeKey: "\(kind.name):\(id):\(at)", expiresAt: now.adding(Self.validity))
    }
}
