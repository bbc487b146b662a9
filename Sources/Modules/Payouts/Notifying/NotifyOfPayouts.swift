import FoundationEssentials
package import Errand
import ErrandLedger
import ErrandNotification
import ErrandPostgres

/// Notifies people of changes of their payouts.
///
/// The transaction of the change enqueues it, for some hundreds of payouts: no notice is sent for
/// a rolled-back change, and closing or issuing does not wait for notices.
package struct NotifyOfPayouts: Job {
    package static let kind = "payouts.notify"
    package static let options = JobOptions(
        queue: "payouts", priority: .low, maxAttempts: 20,
        backoff: Backoff(base: 5, ceiling: 600), retention: .seconds(7 * 86_400))

    /// The change of the payouts.
    package enum Event: String, Codable, Sendable {
        /// Held because information is missing.
        case held
        /// Issued to the bank or by cheque.
        case issued
        /// Returned by the bank or post.
        case returned
    }

    package var event: Event
    package var payouts: [Int64]

    package init(_ event: Event, _ payouts: [Int64]) {
        self.event = event
        self.payouts = payouts
    }

    /// Payouts per job.
    package static let batch = 500

    /// Returns jobs for all of the payouts.
    package static func jobs(_ event: Event, _ payouts: [Int64]) -> [NotifyOfPayouts] {
        stride(from: 0, to: payouts.count, by: batch).map { start in
            NotifyOfPayouts(event, Array(payouts[start..<min(start + batch, payouts.count)]))
        }
    }
}

/// Plans the notices of payouts.
enum PayoutNotifier {
    // Skips payouts that have left the state. A payout enters each state but held only once.
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

    /// How long a notice is valid.
    private static let validity = Duration.seconds(14 * 86_400)

    static func notify(
        _ job: NotifyOfPayouts, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        let planner = NoticePlanner(catalogue, context: context)
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
            try await planner.notify(intents, now: context.now, in: transaction)
            try await context.complete(in: transaction)
        }
    }
}
