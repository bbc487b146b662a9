package import ErrandPostgres

/// Which missions are listed; nil filters nothing.
package struct MissionFilter: Sendable {
    package var state: MissionState?
    package var branch: Int64?
    /// Only those that have free slots.
    package var isUnfilled = false
    /// Only those where a submission waits to be reviewed.
    package var isSubmitted = false
    /// Only those of whose coupons some were refused.
    package var hasRefusedCoupons = false
    /// Go on behind the mission of this id.
    package var behind: Int64?
    package var limit = 50

    /// A filter that all missions pass.
    package init() {}
}

/// The rows of missions, and of what goes with them.
package struct MissionRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    /// Each condition is added only when it is asked for: behind an OR, it would use no index.
    private static func listing(_ filter: MissionFilter) -> String {
        var conditions = "m.id < coalesce($3, 9223372036854775807)"
        if filter.isUnfilled {
            conditions += """
                 AND m.slots > (SELECT count(*) FROM missions.assignments a
                    WHERE a.mission_id = m.id
                      AND a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid'))
                """
        }
        if filter.isSubmitted {
            conditions += """
                 AND m.id IN (SELECT a.mission_id FROM missions.assignments a
                    WHERE a.state = 'submitted')
                """
        }
        if filter.hasRefusedCoupons {
            conditions += """
                 AND m.id IN (SELECT a.mission_id FROM missions.refused_coupons c
                    JOIN missions.assignments a ON a.id = c.assignment_id)
                """
        }
        return """
            SELECT \(MissionRecord.columns)
            FROM missions.missions m JOIN establishments.branches b ON b.id = m.branch_id
            WHERE ($1::text IS NULL OR m.state = $1::missions.mission_state)
              AND ($2::bigint IS NULL OR m.branch_id = $2) AND \(conditions)
            ORDER BY m.id DESC LIMIT $4
            """
    }

    /// One page of the missions that pass a filter, the newest first.
    package func page(_ filter: MissionFilter) async throws -> [MissionRecord] {
        try await session.query(
            Self.listing(filter),
            [
                .optional(filter.state?.rawValue), .optional(filter.branch),
                .optional(filter.behind), .int64(Int64(filter.limit)),
            ]
        ).map(MissionRecord.init)
    }

    private static let one = """
        SELECT \(MissionRecord.columns)
        FROM missions.missions m JOIN establishments.branches b ON b.id = m.branch_id
        WHERE m.id = $1
        """
    private static let tasks = """
        SELECT number, kind::text AS kind, title, is_required FROM missions.tasks
        WHERE mission_id = $1 ORDER BY number
        """
    private static let rewards = """
        SELECT number, establishment_id, title, days FROM missions.rewards
        WHERE mission_id = $1 ORDER BY number
        """
    private static let assignments = """
        SELECT \(AssignmentRecord.columns) FROM missions.assignments a
        WHERE a.mission_id = $1 ORDER BY a.id DESC LIMIT 1000
        """

    /// A mission with its checklist and its latest assignments.
    package struct Whole: Sendable {
        package var mission: MissionRecord
        package var tasks: [TaskRecord]
        package var rewards: [RewardRecord]
        package var assignments: [AssignmentRecord]
    }

    /// Nil when there is none of that id.
    package func mission(_ id: Int64) async throws -> Whole? {
        let rows = try await session.pipeline(
            [Self.one, Self.tasks, Self.assignments, Self.rewards].map {
                Statement($0, [.int64(id)])
            })
        guard let row = rows[0].first else { return nil }
        return Whole(
            mission: try MissionRecord(row), tasks: try rows[1].map(TaskRecord.init),
            rewards: try rows[3].map(RewardRecord.init),
            assignments: try rows[2].map(AssignmentRecord.init))
    }

    private static let assignment = """
        SELECT \(AssignmentRecord.columns) FROM missions.assignments a WHERE a.id = $1
        """

    /// Nil when there is none of that id.
    package func assignment(_ id: Int64) async throws -> AssignmentRecord? {
        try await session.query(Self.assignment, [.int64(id)]).map(AssignmentRecord.init).first
    }

    private static let neglected = """
        SELECT (SELECT count(*) FROM missions.assignments a
                WHERE a.state = 'submitted'
                  AND a.submitted_at < $1::timestamptz - interval '3 days'),
            (SELECT count(*) FROM missions.refused_coupons)
        """

    /// The number of submissions that have waited for a review for over 3 days, and of refused
    /// coupons.
    package func neglected(now: Instant) async throws -> (submissions: Int, coupons: Int) {
        let rows = try await session.query(Self.neglected, [.timestamp(now)])
        return (Int(try rows.int64(0, 0)), Int(try rows.int64(0, 1)))
    }

    private static let shoppers = """
        SELECT \(ShopperRecord.columns) FROM missions.shoppers s
        WHERE ($1::text IS NULL OR s.state = $1::missions.shopper_state) AND s.person_id > $2
        ORDER BY s.person_id LIMIT $3
        """

    /// One page of shoppers, by their ids.
    package func shoppers(
        _ state: ShopperState?, behind: Int64 = 0, limit: Int
    ) async throws -> [ShopperRecord] {
        try await session.query(
            Self.shoppers,
            [.optional(state?.rawValue), .int64(behind), .int64(Int64(limit))]
        ).map(ShopperRecord.init)
    }

    private static let shopper = """
        SELECT \(ShopperRecord.columns) FROM missions.shoppers s WHERE s.person_id = $1
        """
    private static let ofShopper = """
        SELECT \(AssignmentRecord.columns) FROM missions.assignments a
        WHERE a.person_id = $1 ORDER BY a.id DESC LIMIT 100
        """

    /// A shopper with their latest assignments; nil when there is none of that id.
    package func shopper(
        _ id: Int64
    ) async throws -> (shopper: ShopperRecord, assignments: [AssignmentRecord])? {
        let rows = try await session.pipeline(
            [Self.shopper, Self.ofShopper].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        return (try ShopperRecord(row), try rows[1].map(AssignmentRecord.init))
    }
}
