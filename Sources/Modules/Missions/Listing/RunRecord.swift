package import ErrandPostgres

/// A run that looked for shoppers, and what came of it.
package struct RunRecord: Sendable {
    package var id: Int64
    package var startedAt: Instant
    /// Missions that had free slots, and these slots.
    package var missions: Int
    package var slots: Int
    /// Who might have been sent, and pairs of one of them and a mission.
    package var shoppers: Int
    package var candidates: Int
    package var offered: Int
    /// Of the offers that were made.
    package var totalScore: Int64
    /// No offers could have been worth more.
    package var bound: Int64
    package var isOptimal: Bool
    package var took: Duration

    fileprivate init(_ row: Row) throws {
        id = try row.int64("id")
        startedAt = try row.timestamp("started_at")
        missions = Int(try row.int32("missions"))
        slots = Int(try row.int32("slots"))
        shoppers = Int(try row.int32("shoppers"))
        candidates = Int(try row.int32("candidates"))
        offered = Int(try row.int32("offered"))
        totalScore = try row.int64("total_score")
        bound = try row.int64("bound")
        isOptimal = try row.bool("is_optimal")
        took = try row.seconds("seconds")
    }
}

extension MissionRows {
    private static let runs = """
        SELECT id, started_at, missions, slots, shoppers, candidates, offered, total_score, bound,
            is_optimal, seconds
        FROM missions.runs WHERE id < coalesce($1, 9223372036854775807) ORDER BY id DESC LIMIT $2
        """

    /// One page of the runs that are kept, the newest first.
    ///
    /// - Parameter behind: go on behind the run of this id.
    package func runs(behind: Int64?, limit: Int) async throws -> [RunRecord] {
        try await session.query(Self.runs, [.optional(behind), .int64(Int64(limit))])
            .map(RunRecord.init)
    }
}
