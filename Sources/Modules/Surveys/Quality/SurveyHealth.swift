package import ErrandPostgres

/// The state of receipt keys, sweeps and reviews.
package struct SurveyHealth: Sendable {
    /// The number of open surveys.
    package var surveys: Int
    /// The number of establishments whose receipts lead to a survey and that have no key.
    package var missing: Int
    /// The first of them.
    package var firstMissing: Int64?
    /// The number of valid keys that PostgreSQL has not open.
    package var closed: Int
    /// The establishment of the first of them.
    package var firstClosed: Int64?
    /// The number of open invitations that expired more than ``lateAfter`` ago.
    package var late: Int
    /// The number of answers that wait for a review.
    package var waiting: Int
    /// The number of them that wait for longer than ``reviewWithin``.
    package var overdue: Int

    /// The sweep runs every hour.
    package static let lateAfter = Duration.seconds(2 * 3_600)
    /// How long an answer may wait for its review.
    package static let reviewWithin = Duration.seconds(7 * 86_400)

    private static let statement = """
        SELECT surveys, missing, first_missing, closed, first_closed, late, waiting, overdue
        FROM surveys.health($1, $2)
        """

    /// Reads the state as of `now`.
    package static func read(_ session: Session, now: Instant) async throws -> SurveyHealth {
        let rows = try await session.query(
            statement,
            [
                .timestamp(now.adding(.zero - lateAfter)),
                .timestamp(now.adding(.zero - reviewWithin)),
            ])
        guard let row = rows.first else { throw PostgresError.decoding("no row") }
        return SurveyHealth(
            surveys: Int(try row.int64("surveys")), missing: Int(try row.int64("missing")),
            firstMissing: try row.optionalInt64("first_missing"),
            closed: Int(try row.int64("closed")),
            firstClosed: try row.optionalInt64("first_closed"),
            late: Int(try row.int64("late")), waiting: Int(try row.int64("waiting")),
            overdue: Int(try row.int64("overdue")))
    }
}
