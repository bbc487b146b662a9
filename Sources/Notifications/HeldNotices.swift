package import FoundationEssentials
package import Postgres

/// Notices that wait for a better time of their person's day.
package enum HeldNotices {
    private static let withdraw = """
        UPDATE notification.notices
        SET status = 'withdrawn', reason = $3, answered_at = $4
        WHERE person_id = ANY ($1) AND subject = $2 AND is_held AND status = 'held'
        """

    /// Takes back what of a subject some people have not been told yet; their jobs find nothing
    /// to do.
    ///
    /// - Parameter reason: in words for an operator.
    package static func withdraw(
        of subject: String, to people: [Int64], because reason: String, now: Date,
        in transaction: Transaction
    ) async throws {
        _ = try await transaction.query(
            withdraw,
            [
                .int64Array(people), .text(subject), .text(reason),
                .timestamp(Instant(date: now)),
            ])
    }
}
