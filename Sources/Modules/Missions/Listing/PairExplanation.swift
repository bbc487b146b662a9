package import ErrandPostgres

/// Why a shopper would be sent to a mission, or not.
package struct PairExplanation: Sendable {
    package var mission: Int64
    package var shopper: Int64
    /// In metres; nil where nobody knows where the shopper sets out from.
    package var distance: Double?
    /// Hard rules that forbid it, by the codes of `missions.objections`; without those that an
    /// assignment of the two, which has not ended, itself brings about.
    package var objections: [String]
    package var parts: [Score.Part]
    /// The last assignment of the two, if there was one.
    package var assignment: AssignmentRecord?

    package var score: Int64 { parts.reduce(0) { $0 + $1.points } }
}

extension MissionRows {
    private static let pair = """
        SELECT \(AssignmentRows.missionColumns),
            missions.way(s.home, m.place)::real AS distance_m,
            missions.objections(m.id, s.person_id, $1) AS objections,
            r.quality_points, r.nearness_points, r.pay_points, r.waiting_points,
            r.reliability_points
        FROM missions.missions m, missions.shoppers s, missions.rules r
        WHERE m.id = $2 AND s.person_id = $3
        """
    private static let person = """
        SELECT \(AssignmentRows.shopperColumns) FROM missions.shoppers s WHERE s.person_id = $2
        """
    private static let last = """
        SELECT \(AssignmentRecord.columns) FROM missions.assignments a
        WHERE a.mission_id = $1 AND a.person_id = $2 ORDER BY a.id DESC LIMIT 1
        """

    /// What a pair is worth now; nil when there is no such mission or shopper.
    package func explanation(
        mission: Int64, shopper: Int64, now: Instant
    ) async throws -> PairExplanation? {
        let (mission, shopper) = (Parameter.int64(mission), Parameter.int64(shopper))
        let rows = try await session.pipeline([
            Statement(Self.pair, [.timestamp(now), mission, shopper]),
            Statement(Self.person, [.timestamp(now), shopper]),
            Statement(Self.last, [mission, shopper]),
        ])
        guard let pair = rows[0].first, let person = rows[1].first else { return nil }
        let (open, facts) = (try OpenMission(pair), try ShopperFacts(person))
        let distance = try pair.optionalDouble("distance_m")
        let last = try rows[2].map(AssignmentRecord.init).first
        let own = last?.endedAt == nil && last != nil ? Self.ownObjections : []
        return PairExplanation(
            mission: open.id, shopper: facts.id, distance: distance,
            objections: try pair.textArray("objections").filter { !own.contains($0) },
            parts: Score.parts(
                AssignmentQuestion.facts(open, facts, distance: distance ?? .infinity),
                try ScoreWeights(pair)),
            assignment: last)
    }

    /// What holding a slot brings about: it takes a slot, a place of the day, and bars the branch.
    private static let ownObjections: Set = ["no_slot", "holds_already", "rested", "capacity"]
}
