package import ErrandPostgres

/// The rules of payouts and approvals, from `payouts.rules`.
package struct PayoutRules: Sendable, Equatable {
    /// The minimum payout, as a decimal in major units of each currency.
    package var minimum: String
    /// The maximum deviation from the preview without acknowledgment, as a decimal in percent.
    package var deviationLimit: String
    /// Whether one person may close and approve a run.
    package var allowsSame: Bool
    /// Whether the login that closed a run may approve it, under another person's name.
    package var allowsSharedLogin: Bool

    private static let statement = """
        SELECT minimum::text AS minimum, deviation_limit::text AS deviation_limit, allows_same,
            allows_shared_login
        FROM payouts.rules
        """

    package static func read(_ session: Session) async throws -> PayoutRules {
        guard let row = try await session.query(statement).first else {
            throw PostgresError.decoding("payouts.rules has no row: insert one with defaults")
        }
        return PayoutRules(
            minimum: try row.text("minimum"), deviationLimit: try row.text("deviation_limit"),
            allowsSame: try row.bool("allows_same"),
            allowsSharedLogin: try row.bool("allows_shared_login"))
    }

    private static let update = """
        WITH changed AS (
            UPDATE payouts.rules
            SET minimum = $1::text::numeric, deviation_limit = $2::text::numeric, allows_same = $3,
                allows_shared_login = $6
        )
        INSERT INTO errand.audit (operator, action, subject, reason, change)
        VALUES ($4, 'payout rules', 'payouts.rules', $5, jsonb_build_object('minimum', $1::text,
            'deviation_limit', $2::text, 'allows_same', $3::boolean, 'allows_shared_login',
            $6::boolean, 'login', session_user))
        """

    /// Stores the rules and writes an audit line.
    package func write(by actor: String, reason: String?, _ session: Session) async throws {
        _ = try await session.query(
            Self.update,
            [
                .text(minimum), .text(deviationLimit), .bool(allowsSame), .text(actor),
                .optional(reason), .bool(allowsSharedLogin),
            ])
    }
}
