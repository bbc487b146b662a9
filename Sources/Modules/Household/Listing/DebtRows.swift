package import ErrandPostgres

/// That somebody owes somebody in a group; of the simplified ones, what one would pay the other.
package struct DebtRecord: Sendable {
    package var group: Int64
    package var debtor: Int64
    package var creditor: Int64
    /// In minor units, above zero.
    package var amount: Int64
    package var currency: String

    init(_ row: Row) throws {
        group = try row.int64("group_id")
        debtor = try row.int64("debtor_id")
        creditor = try row.int64("creditor_id")
        amount = try row.int64("amount")
        currency = try row.text("currency")
    }
}

/// The notices about balances of the groups in a zone: the next month end, and the last one.
package struct MonthEndRecord: Sendable {
    package var zone: String
    package var groups: Int
    /// The next last day of a month, as `2026-11-30`, and the time of its notices; nil while
    /// unplanned.
    package var next: String?
    package var nextAt: Instant?
    package var last: String?
    package var lastAt: Instant?
    /// When all groups of the zone had been notified of the last one.
    package var sendDecidedAt: Instant?
    /// The number of groups that are not yet notified of the last one.
    package var untold: Int

    init(_ row: Row) throws {
        zone = try row.text("time_zone")
        groups = Int(try row.int64("groups"))
        next = try row.optionalText("next_on")
        nextAt = try row.optionalTimestamp("next_at")
        last = try row.optionalText("last_on")
        lastAt = try row.optionalTimestamp("last_at")
        sendDecidedAt = try row.optionalTimestamp("notified_at")
        untold = Int(try row.int64("untold"))
    }
}

/// Reads debts and the times of their notices.
package struct DebtRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let balances = """
        SELECT d.group_id, d.debtor_id, d.creditor_id, d.amount, d.currency
        FROM household.balances(ARRAY[$1]) d ORDER BY d.amount DESC, d.debtor_id, d.creditor_id
        """
    private static let simplified = """
        SELECT g.id AS group_id, s.from_id AS debtor_id, s.to_id AS creditor_id, s.amount,
            g.currency
        FROM household.groups g CROSS JOIN LATERAL household.simplified(g.id) s
        WHERE g.id = $1 ORDER BY s.amount DESC, s.from_id, s.to_id
        """

    /// All pairs of a group where somebody owes, or few payments that come to the same.
    package func balances(of group: Int64, isSimplified: Bool) async throws -> [DebtRecord] {
        try await session.query(isSimplified ? Self.simplified : Self.balances, [.int64(group)])
            .map(DebtRecord.init)
    }

    private static let owed = """
        SELECT d.group_id, d.other_id AS debtor_id, $1 AS creditor_id, d.amount, d.currency
        FROM household.debts($1) d
        WHERE d.amount > 0 AND ($2::bigint IS NULL OR d.other_id = $2)
        ORDER BY d.other_id, d.group_id
        """

    /// What is owed to a person in all groups where they ever lived, by one debtor or by all.
    package func owed(to person: Int64, by debtor: Int64? = nil) async throws -> [DebtRecord] {
        try await session.query(Self.owed, [.int64(person), .optional(debtor)])
            .map(DebtRecord.init)
    }

    private static let monthEnds = """
        SELECT z.time_zone, n.on_day::text AS next_on, n.at AS next_at, l.on_day::text AS last_on,
            l.at AS last_at, l.notified_at,
            (SELECT count(*) FROM household.groups g WHERE g.time_zone = z.time_zone) AS groups,
            CASE WHEN l.at IS NULL OR l.notified_at IS NOT NULL THEN 0 ELSE (
                SELECT count(*) FROM household.groups g
                WHERE g.time_zone = z.time_zone AND g.balances_notified_on < l.on_day
                  AND g.created_at <= l.at) END AS untold
        FROM household.zones_to_plan('infinity') z
        LEFT JOIN LATERAL (SELECT e.on_day, e.at FROM household.month_ends e
            WHERE e.time_zone = z.time_zone AND e.at > $1 ORDER BY e.at LIMIT 1) n ON true
        LEFT JOIN LATERAL (SELECT e.on_day, e.at, e.notified_at FROM household.month_ends e
            WHERE e.time_zone = z.time_zone AND e.at <= $1 ORDER BY e.at DESC LIMIT 1) l ON true
        ORDER BY n.at NULLS FIRST, z.time_zone
        """

    /// The month ends of all zones that have groups, as of `now`; those that lack one first.
    package func monthEnds(now: Instant) async throws -> [MonthEndRecord] {
        try await session.query(Self.monthEnds, [.timestamp(now)]).map(MonthEndRecord.init)
    }
}
