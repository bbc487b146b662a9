package import ErrandPostgres

/// A burst of wrong codes at one establishment.
package struct GuessAlert: Sendable {
    package var id: Int64
    package var at: Instant
    package var establishmentID: Int64
    /// Nil if the establishment was deleted.
    package var establishment: String?
    /// The terminal of the last guess; nil if the guesses were rolled back and no known terminal
    /// reached its limit.
    package var terminal: String?
    package var guesses: Int

    private static let page = """
        SELECT a.id, a.at, a.establishment_id, e.name, a.terminal, a.guesses
        FROM (
            SELECT * FROM coupons.alerts WHERE id < $1 AND at >= $2
            ORDER BY id DESC LIMIT 100000
        ) a LEFT JOIN establishments.establishments e ON e.id = a.establishment_id
        WHERE $3::bigint IS NULL OR a.establishment_id = $3
        ORDER BY a.id DESC LIMIT $4
        """

    /// Raises the alerts of guesses that were rolled back.
    ///
    /// - Returns: the number of alerts.
    @discardableResult
    package static func raise(_ session: Session) async throws -> Int {
        Int(try await session.query("SELECT coupons.raise_alerts()").int32(0, 0))
    }

    /// Returns alerts, newest first.
    ///
    /// - Parameters:
    ///   - since: only alerts at or after this time.
    ///   - establishment: only alerts of this establishment; all when nil.
    ///   - before: only alerts with lower ids.
    package static func list(
        _ session: Session, since: Instant?, establishment: Int64?, before: Int64?, limit: Int
    ) async throws -> [GuessAlert] {
        try await session.query(
            page,
            [
                .int64(before ?? .max), .timestamp(since ?? .negativeInfinity),
                .optional(establishment), .int64(Int64(limit)),
            ]
        ).map { row in
            GuessAlert(
                id: try row.int64("id"), at: try row.timestamp("at"),
                establishmentID: try row.int64("establishment_id"),
                establishment: try row.optionalText("name"),
                terminal: try row.optionalText("terminal"),
                guesses: Int(try row.int32("guesses")))
        }
    }
}
