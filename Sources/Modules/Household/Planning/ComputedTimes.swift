import ErrandGregorian
import Errand
import ErrandPostgres
import ErrandRecurrence

/// Instants that the rules of some zones say, for the days of chores and the ends of months.
struct ComputedTimes {
    private let zones: [String: Zone]

    init(_ zones: [String: Zone]) { self.zones = zones }

    /// Groups of one transaction, by their ids.
    private static let batch: Int64 = 1_000

    private static let last = "SELECT coalesce(max(g.id), 0) FROM household.groups g"
    private static let read = """
        SELECT c.id AS chore_id, g.time_zone, extract(epoch FROM c.at_time)::int AS at_time,
            c.next_on - date '1970-01-01' AS next_on, o.id AS turn_id,
            o.due_on - date '1970-01-01' AS due_on, o.due_at
        FROM household.groups g
        JOIN household.chores c ON c.group_id = g.id AND NOT c.is_removed
        LEFT JOIN household.occurrences o ON o.chore_id = c.id AND o.state = 'due'
        WHERE g.id > $1 AND g.id <= $2 AND g.time_zone = ANY ($3)
          AND (c.next_on IS NOT NULL OR o.id IS NOT NULL)
        ORDER BY c.id FOR NO KEY UPDATE OF c
        """
    private static let write = "SELECT household.move_times($1, $2, $3, $4)"

    /// Computes the times of all groups in these zones; how many chores they have.
    func computeAnew(in database: Pool, now: Instant) async throws -> Int {
        try await database.transaction { transaction in
            for name in zones.keys.sorted() {
                guard let zone = zones[name] else { continue }
                try await MonthEnd.plan(zone, now: now, in: transaction)
            }
        }
        let last = try await database.transaction { transaction in
            try await transaction.query(Self.last).int64(0, 0)
        }
        var (count, behind): (Int, Int64) = (0, 0)
        while behind < last {
            let first = behind
            count += try await database.transaction { transaction in
                try await computeSome(behind: first, in: transaction)
            }
            behind += Self.batch
        }
        return count
    }

    private func computeSome(
        behind: Int64, in transaction: Transaction
    ) async throws -> Int {
        let rows = try await transaction.query(
            Self.read,
            [.int64(behind), .int64(behind + Self.batch), .textArray(zones.keys.sorted())])
        guard !rows.isEmpty else { return 0 }
        var chores: (ids: [Int64], at: [Instant?]) = ([], [])
        var turns: (ids: [Int64], due: [Instant?]) = ([], [])
        for row in rows {
            guard let zone = zones[try row.text("time_zone")] else { continue }
            let plan = ChorePlan(
                .once, startsOn: CivilDate(daysSince1970: 0),
                atTime: try row.optionalInt32("at_time").map(Int.init), zone: zone)
            if let day = try row.optionalInt32("next_on") {
                chores.ids.append(try row.int64("chore_id"))
                chores.at.append(plan.begin(of: CivilDate(daysSince1970: Int(day))))
            }
            // What was given late has another time than its day says.
            if let turn = try row.optionalInt64("turn_id"),
                let day = try row.optionalInt32("due_on")
            {
                let due = plan.due(on: CivilDate(daysSince1970: Int(day)))
                let moved = try row.timestamp("due_at").microseconds - due.microseconds
                guard moved.magnitude < 12 * 3_600 * 1_000_000 else { continue }
                turns.ids.append(turn)
                turns.due.append(due)
            }
        }
        _ = try await transaction.query(
            Self.write,
            [
                .int64Array(chores.ids), .timestampArray(chores.at), .int64Array(turns.ids),
                .timestampArray(turns.due),
            ])
        return rows.count
    }
}

extension Zone {
    /// Stands for the rules by which the times of chores are computed: the offsets of its clocks in
    /// the years 2020 to 2069, each with the second from which it holds.
    var rules: String {
        var second = CivilDate(year: 2020, month: 1, day: 1).daysSince1970 * 86_400
        let end = CivilDate(year: 2070, month: 1, day: 1).daysSince1970 * 86_400
        var rules = "\(segment(at: second).offset)"
        while true {
            second = segment(at: second).end
            guard second < end else { return rules }
            rules += " \(second):\(segment(at: second).offset)"
        }
    }
}
