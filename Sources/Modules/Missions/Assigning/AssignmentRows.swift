import ErrandPostgres

/// Reads from the database what an assignment is found from.
///
/// In batches: each asks for the candidates of all its missions in one statement.
package struct AssignmentRows: Sendable {
    let transaction: Transaction
    let now: Instant

    /// Missions of one statement.
    private static let batch: Int64 = 1_000
    /// The maximum number in one run, those that end first: they fit into memory with their
    /// candidates.
    package static let most = 20_000

    /// What counts of a mission; the days are whole numbers that only have to be comparable.
    static let missionColumns = """
        m.id, m.branch_id, m.first_day - date '2000-01-01' AS first_day,
        m.due_day - date '2000-01-01' AS due_day, m.rest_days, m.radius_m, m.pay,
        (extract(epoch FROM m.closes_at - $1::timestamptz) / 3600)::float8 AS hours_left,
        m.slots - (SELECT count(*) FROM missions.assignments a WHERE a.mission_id = m.id
            AND a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')) AS free_slots
        """
    private static let missions = """
        SELECT * FROM (
            SELECT \(missionColumns), m.closes_at
            FROM missions.missions m CROSS JOIN missions.rules r
            WHERE m.state = 'open' AND NOT m.is_locked AND m.closes_at >= $1 + r.lead
              AND ($2::bigint IS NULL OR m.id = $2) AND (m.closes_at, m.id) > ($3, $4)
            ORDER BY m.closes_at, m.id LIMIT $5) AS open
        """
    private static let candidates = """
        SELECT mission_id, person_id, distance_m FROM missions.candidates($1, $2)
        ORDER BY mission_id, person_id
        """
    static let shopperColumns = """
        s.person_id, s.reviewed, s.good, s.expected_pay, s.completed, s.missed, s.radius_m,
        s.daily_capacity,
        (extract(epoch FROM $1::timestamptz - coalesce(s.waiting_since, s.hired_at,
            s.state_since)) / 86400)::float8 AS days_waiting
        """
    private static let shoppers = """
        SELECT \(shopperColumns) FROM missions.shoppers s WHERE s.person_id = ANY ($2)
        """
    private static let held = """
        SELECT a.person_id, a.due_day - date '2000-01-01' AS due_day, count(*)
        FROM missions.assignments a
        WHERE a.person_id = ANY ($1)
          AND (a.state IN ('offered', 'accepted') OR a.arrived_at IS NOT NULL)
        GROUP BY 1, 2
        """
    private static let weights = """
        SELECT quality_points, nearness_points, pay_points, waiting_points, reliability_points
        FROM missions.rules
        """

    /// - Parameter only: that mission alone; nil for all.
    func question(_ only: Int64?) async throws -> AssignmentQuestion {
        var question = AssignmentQuestion()
        question.weights = try await weights()
        var last: Place? = Place(closesAt: .negativeInfinity, id: 0)
        while let after = last, question.missions.count < Self.most {
            last = try await add(to: &question, only, after: after)
        }
        question.leavesOut = last != nil
        try await addShoppers(to: &question)
        return question
    }

    func weights() async throws -> ScoreWeights {
        let rows = try await transaction.query(Self.weights)
        guard let row = rows.first else {
            throw PostgresError.decoding("missions.rules has no row: put it back")
        }
        return try ScoreWeights(row)
    }

    /// Where a batch of missions ends, in the order in which they do.
    private struct Place {
        var closesAt: Instant
        var id: Int64
    }

    /// Adds the next missions and their candidates; nil behind the last ones.
    private func add(
        to question: inout AssignmentQuestion, _ only: Int64?, after: Place
    ) async throws -> Place? {
        let rows = try await transaction.query(
            Self.missions,
            [
                .timestamp(now), .optional(only), .timestamp(after.closesAt), .int64(after.id),
                .int64(Self.batch),
            ])
        var last: Place?
        for row in rows {
            last = Place(closesAt: try row.timestamp("closes_at"), id: try row.int64("id"))
        }
        let free = try rows.map(OpenMission.init).filter { $0.freeSlots > 0 }
        guard !free.isEmpty else { return last }
        question.missions += free
        let found = try await transaction.query(
            Self.candidates, [.int64Array(free.map(\.id)), .timestamp(now)])
        for row in 0..<found.count {
            question.candidates.append(
                Candidate(
                    mission: try found.int64(row, 0), shopper: try found.int64(row, 1),
                    distance: try found.double(row, 2)))
        }
        return last
    }

    private func addShoppers(to question: inout AssignmentQuestion) async throws {
        let ids = Set(question.candidates.map(\.shopper)).sorted()
        let rows = try await transaction.pipeline([
            Statement(Self.shoppers, [.timestamp(now), .int64Array(ids)]),
            Statement(Self.held, [.int64Array(ids)]),
        ])
        for row in rows[0] {
            let shopper = try ShopperFacts(row)
            question.shoppers[shopper.id] = shopper
        }
        for row in rows[1] {
            let key = DayKey(shopper: try row.int64(0), day: try row.int32(1))
            question.held[key] = Int(try row.int64(2))
        }
    }
}

extension OpenMission {
    /// Of a row with the columns of ``AssignmentRows/missionColumns``.
    init(_ row: Row) throws {
        self.init(
            id: try row.int64("id"), branch: try row.int64("branch_id"),
            firstDay: try row.int32("first_day"), dueDay: try row.int32("due_day"),
            restDays: Int32(try row.int16("rest_days")), freeSlots: try row.int64("free_slots"),
            radius: try row.double("radius_m"), pay: try row.int64("pay"),
            hoursLeft: try row.double("hours_left"))
    }
}

extension ShopperFacts {
    /// Of a row with the columns of ``AssignmentRows/shopperColumns``.
    init(_ row: Row) throws {
        self.init(
            id: try row.int64("person_id"), radius: try row.double("radius_m"),
            dailyCapacity: Int(try row.int16("daily_capacity")))
        reviewed = Int(try row.int32("reviewed"))
        good = Int(try row.int32("good"))
        expectedPay = try row.optionalInt64("expected_pay")
        daysWaiting = try row.double("days_waiting")
        completed = Int(try row.int32("completed"))
        missed = Int(try row.int32("missed"))
    }
}

extension ScoreWeights {
    /// Of a row that has the columns of `missions.rules`.
    init(_ row: Row) throws {
        self.init(
            quality: Int64(try row.int32("quality_points")),
            nearness: Int64(try row.int32("nearness_points")),
            pay: Int64(try row.int32("pay_points")),
            waiting: Int64(try row.int32("waiting_points")),
            reliability: Int64(try row.int32("reliability_points")))
    }
}
