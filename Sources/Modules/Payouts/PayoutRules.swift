package import ErrandPostgres

/// What is paid, and what it takes to approve it, as `payouts.rules` says.
package struct PayoutRules: Sendable, Equatable {
    /// In whole units of each currency, as decimals: people to whom less is owed wait.
    package var minimum: String
    /// In percent, as decimals: what differs more from its preview is approved by name only.
    package var deviationLimit: String
    /// Whether who has closed a run may approve it.
    package var allowsSame: Bool

    private static let statement = """
        SELECT minimum::text AS minimum, deviation_limit::text AS deviation_limit, allows_same
        FROM payouts.rules
        """

    package static func read(_ session: Session) async throws -> PayoutRules {
        guard let row = try await session.query(statement).first else {
            throw PostgresError.decoding("payouts.rules has no row: insert one, of defaults")
        }
        return PayoutRules(
            minimum: try row.text("minimum"), deviationLimit: try row.text("deviation_limit"),
            allowsSame: try row.bool("allows_same"))
    }

    private static let update = """
        WITH changed AS (
            UPDATE payouts.rules
            SET minimum = $1::text::numeric, deviation_limit = $2::text::numeric, allows_same = $3
        )
        INSERT INTO errand.audit (operator, action, subject, reason, change)
        VALUES ($4, 'payout rules', 'payouts.rules', $5, jsonb_build_object('minimum', $1::text,
            'deviation_limit', $2::text, 'allows_same', $3::boolean))
        """

    /// Puts them in force, with a line in the audit.
    package func write(by actor: String, reason: String?, _ session: Session) async throws {
        _ = try await session.query(
            Self.update,
            [
                .text(minimum), .text(deviationLimit), .bool(allowsSame), .text(actor),
                .optional(reason),
            ])
    }
}
