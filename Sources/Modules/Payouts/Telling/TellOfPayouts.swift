import FoundationEssentials
package import Errand
import ErrandLedger
import ErrandNotification
import ErrandPostgres

/// Tells people what has become of their payouts.
///
/// Enqueued in the transaction of what it tells, for some hundreds at most: nobody is told of what
/// was not done, and closing or issuing does not wait for notices.
package struct TellOfPayouts: Job {
    package static let kind = "payouts.tell"
    package static let options = JobOptions(
        queue: "payouts", priority: .low, maxAttempts: 20,
        backoff: Backoff(base: 5, ceiling: 600), retention: .seconds(7 * 86_400))

    /// What they are told.
    package enum Event: String, Codable, Sendable {
        /// Something is missing.
        case held
        /// The money is on its way.
        case issued
        /// It came back.
        case returned
    }

    package var event: Event
    package var payouts: [Int64]

    package init(_ event: Event, _ payouts: [Int64]) {
        self.event = event
        self.payouts = payouts
    }

    /// Payouts of one job.
    package static let batch = 500

    /// As many jobs as tell of all of them.
    package static func jobs(_ event: Event, _ payouts: [Int64]) -> [TellOfPayouts] {
        stride(from: 0, to: payouts.count, by: batch).map { start in
            TellOfPayouts(event, Array(payouts[start..<min(start + batch, payouts.count)]))
        }
    }
}

/// What is said of a payout, and how.
enum Telling {
    // What is no longer so is not told; a payout is in a state once, but for held ones.
    private static let statement = """
        SELECT p.id, p.person_id,
            jsonb_build_object(
                'amount', jsonb_build_object('minor', p.amount, 'currency', p.currency),
                'reason', coalesce(p.reason, ''), 'cheque', coalesce(p.cheque_number::text, ''),
                'pay_date', coalesce(
                    (SELECT i.pay_date FROM payouts.files f
                        JOIN payouts.issues i ON i.id = f.issue_id WHERE f.id = p.file_id),
                    r.pay_date)::text)
                - CASE $2 WHEN 'issued' THEN '{reason}'::text[]
                    ELSE '{cheque, pay_date}' END AS data
        FROM payouts.payouts p JOIN payouts.runs r ON r.id = p.run_id
        WHERE p.id = ANY ($1) AND CASE $2
            WHEN 'held' THEN p.state = 'held'
            WHEN 'issued' THEN p.state IN ('issued', 'settled')
            ELSE p.state IN ('returned', 'reissued') END
        ORDER BY p.id
        """

    /// How long it is worth being told.
    private static let validity = Duration.seconds(14 * 86_400)

    static func tell(
        _ job: TellOfPayouts, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        let teller = Teller(catalogue, context: context)
        let kind =
            switch job.event {
            case .held: NoticeKind.payoutHeld
            case .issued: NoticeKind.payoutIssued
            case .returned: NoticeKind.payoutReturned
            }
        let expires = Instant(date: context.now).adding(validity)
        try await context.database.transaction { transaction in
            let rows = try await transaction.query(
                statement, [.int64Array(job.payouts), .text(job.event.rawValue)])
            let intents = try rows.map { row in
                let subject = "payout:\(try row.int64("id"))"
                return Intent(
                    kind.name, to: try row.int64("person_id"), of: subject,
                    data: try row.json("data"), dedupeKey: "\(job.event.rawValue):\(subject)",
                    expiresAt: expires)
            }
            try await teller.tell(intents, now: context.now, in: transaction)
            try await context.complete(in: transaction)
        }
    }
}
