import Errand
import ErrandPostgres
import FoundationEssentials

/// Ends direct mails whose jobs ended without a result, so that their addresses and facts go.
extension CloseUndelivered {
    /// Ends the mails that a statement finds, each with its reason; returns their number.
    ///
    /// A job for one of them that is retried later does nothing: there is no address any more.
    static func endMails(
        _ status: String, _ statement: Statement, in database: Pool, now: Date
    ) async throws -> Int {
        let lost = try await database.withSession { try await $0.query(statement) }
        let own = try await owned(lost, by: [DirectMail.kind], alive("mail_id"), in: database)
        guard !own.isEmpty else { return 0 }
        return try await database.withSession { session in
            try await session.query(
                end,
                [
                    .int64Array(own.map(\.id)), .textArray(own.map(\.reason)),
                    .timestamp(Instant(date: now)), .text(status),
                ]
            ).affected
        }
    }

    /// Mails whose jobs died since $1.
    static let deadMails = """
        SELECT DISTINCT ON (m.id) m.id, \(why)
        FROM errand.dead_jobs j JOIN notification.direct_mails m ON m.id = \(id("mail_id"))
        WHERE j.kind = $2 AND j.finished_at > $1 AND m.status = 'pending'
        ORDER BY m.id, j.id
        """

    /// Mails whose jobs were cancelled since $1.
    static let cancelledMails = """
        SELECT DISTINCT m.id, $3
        FROM errand.finished_jobs j JOIN notification.direct_mails m ON m.id = \(id("mail_id"))
        WHERE \(wasCancelled) AND j.kind = $2 AND m.status = 'pending'
        """

    private static let end = """
        UPDATE notification.direct_mails m
        SET status = $4::text::notification.delivery_status, reply = f.reason, answered_at = $3
        FROM unnest($1::bigint[], $2::text[]) AS f (id, reason)
        WHERE m.id = f.id AND m.status = 'pending'
        """
}
