package import Errand
import ErrandNotification
import ErrandPostgres

/// Notifies people of an event in their household.
///
/// Enqueued by the schema, in the transaction of the event. Its recipients are read when it runs:
/// an event that is outdated by then causes no notice, and the same event never causes two.
package struct NotifyHousehold: Job {
    package static let kind = "household.notify"
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 50,
        backoff: Backoff(base: 2, ceiling: 600), timeout: .seconds(300),
        retention: .seconds(86_400))

    package var event: String
    package var groupID: Int64?
    /// Of the event in its group.
    package var number: Int64?
    /// When it happened in its group.
    package var at: String?
    /// Who has done it, or whom it concerns.
    package var personID: Int64?
    package var invitationID: Int64?
    package var choreID: Int64?
    package var plan: Int32?
    package var occurrenceID: Int64?
    package var occurrenceIDs: [Int64]?
    /// Who had a turn that was handed over.
    package var insteadOf: Int64?
    package var billID: Int64?
    package var revision: Int32?
    /// Who had paid a bill before it was edited.
    package var payerID: Int64?
    package var paymentID: Int64?
    package var noteID: Int64?
    /// Who is to be reminded, or notified alone.
    package var to: [Int64]?
    /// SHA-256 in hexadecimal digits.
    package var session: String?
    package var monthEnd: String?
    package var groupIDs: [Int64]?

    enum CodingKeys: String, CodingKey {
        case event, number, at, plan, revision, to, session
        case groupID = "group_id"
        case personID = "person_id"
        case invitationID = "invitation_id"
        case choreID = "chore_id"
        case occurrenceID = "occurrence_id"
        case occurrenceIDs = "occurrence_ids"
        case insteadOf = "instead_of"
        case billID = "bill_id"
        case payerID = "payer_id"
        case paymentID = "payment_id"
        case noteID = "note_id"
        case monthEnd = "month_end"
        case groupIDs = "group_ids"
    }

    /// People of one call of the planner.
    private static let batch = 500

    static func run(
        _ job: NotifyHousehold, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        guard let news = HouseholdNews(rawValue: job.event) else {
            throw JobError.invalid("household.notify: no event is called \(job.event)")
        }
        let planner = NoticePlanner(catalogue, context: context)
        let now = Instant(date: context.now)
        try await context.database.transaction { transaction in
            let statement = news.statement(of: job, now: now)
            let rows = try await transaction.query(statement.sql, statement.parameters)
            let intents = try rows.map { row in
                try job.intent(news, row, job: context.id, now: now)
            }
            let people = try rows.map { try $0.int64("person_id") }
            try await job.withdrawTurns(news, from: people, in: transaction)
            if news.movesMoney, let group = job.groupID {
                try await HeldBalances.renew(of: group, in: transaction)
            }
            for first in stride(from: 0, to: intents.count, by: batch) {
                let some = Array(intents[first..<min(first + batch, intents.count)])
                try await planner.notify(some, now: context.now, in: transaction)
            }
            try await context.complete(in: transaction)
        }
    }

    /// Withdraws unsent notices of turns that are not theirs any more, or that
    /// get a new notice.
    private func withdrawTurns(
        _ news: HouseholdNews, from people: [Int64], in transaction: Transaction
    ) async throws {
        var turns = occurrenceIDs ?? [occurrenceID].compactMap(\.self)
        var people = people + [personID, insteadOf].compactMap(\.self)
        switch news {
        case .choreDone, .choreSkipped, .choreTakenOver, .choreHandedOver, .choreOverdue: break
        case .choreDue:
            // What came before them was missed.
            let rows = try await transaction.query(NewsStatements.missed, [.int64Array(turns)])
            turns = try rows.map { try $0.int64("id") }
            people = try rows.map { try $0.int64("person_id") }
        case .choreRemoved:
            let rows = try await transaction.query(NewsStatements.dropped, [.optional(choreID)])
            turns = try rows.map { try $0.int64("id") }
        default: return
        }
        guard !turns.isEmpty else { return }
        try await HeldNotices.withdraw(
            of: turns.map { "chore_turn:\($0)" }, to: people, because: "it is not so any more",
            in: transaction)
    }

    /// The notice of one person.
    private func intent(
        _ news: HouseholdNews, _ row: Row, job id: Int64, now: Instant
    ) throws -> Intent {
        let person = try row.int64("person_id")
        // Names the event: by what it is about or, of what people ask for, by the job.
        let subject = try row.text("subject")
        let event = try row.optionalText("event") ?? (news.isAsked ? "\(id)" : subject)
        return Intent(
            news.kind.name, to: person, of: subject, data: try row.json("data"),
            dedupeKey: "\(news.kind.name):\(event):\(person)",
            expiresAt: try row.optionalTimestamp("expires_at") ?? now.adding(news.validity),
            from: news.isAsked ? personID : nil)
    }
}
