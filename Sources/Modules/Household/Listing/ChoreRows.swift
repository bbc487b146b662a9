package import ErrandPostgres

/// A chore as operators see it.
package struct ChoreRecord: Sendable {
    /// One who takes turns.
    package struct Turn: Sendable {
        package var person: Int64
        /// Had since the beginning, or as if they had been there since then.
        package var turns: Int
        /// How many turns they are behind the others.
        package var owed: Int
        package var isAway: Bool
    }

    package var id: Int64
    package var title: String
    /// RRULE of RFC 5545; nil: once.
    package var rule: String?
    package var mode: String
    package var afterDays: Int?
    /// Nil: without a day, it is open until somebody does it.
    package var startsOn: String?
    /// By the clocks of the group; nil: by the end of the day.
    package var atTime: String?
    package var nextOn: String?
    package var nextAt: Instant?
    /// Why it does not come any more.
    package var fault: String?
    /// Occurrences so far.
    package var taken: Int
    /// The turn that is to be done: its id, `due` or `overdue`, whose, and from when it is late.
    package var turn: Int64?
    package var state: String?
    package var assignee: Int64?
    package var dueOn: String?
    package var dueAt: Instant?
    /// Who has it next is the first.
    package var rotation: [Turn]

    static let columns = """
        c.id, c.title, c.rule, c.mode, c.after_days, c.starts_on::text AS starts_on,
        to_char(c.at_time, 'HH24:MI') AS at_time, c.next_on::text AS next_on, c.next_at, c.fault,
        c.taken, o.id AS turn_id, o.state::text AS state, o.assignee_id,
        o.due_on::text AS due_on, o.due_at, r.persons, r.turns, r.owed, r.away
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        title = try row.text("title")
        rule = try row.optionalText("rule")
        mode = try row.text("mode")
        afterDays = try row.optionalInt16("after_days").map(Int.init)
        startsOn = try row.optionalText("starts_on")
        atTime = try row.optionalText("at_time")
        nextOn = try row.optionalText("next_on")
        nextAt = try row.optionalTimestamp("next_at")
        fault = try row.optionalText("fault")
        taken = Int(try row.int32("taken"))
        turn = try row.optionalInt64("turn_id")
        state = try row.optionalText("state")
        assignee = try row.optionalInt64("assignee_id")
        dueOn = try row.optionalText("due_on")
        dueAt = try row.optionalTimestamp("due_at")
        let (turns, owed) = (try row.int64Array("turns"), try row.int64Array("owed"))
        let away = Set(try row.int64Array("away"))
        rotation = zip(try row.int64Array("persons"), zip(turns, owed)).map { person, counts in
            Turn(
                person: person, turns: Int(counts.0), owed: Int(counts.1),
                isAway: away.contains(person))
        }
    }
}

/// What one person has done of a group's chores in one period.
package struct ChoreStatistics: Sendable {
    /// By what periods are cut.
    package enum Period: String, Sendable, CaseIterable {
        case day, week, month, year
    }

    /// The first day of the period, as `2026-11-01`; weeks begin on Monday.
    package var beginsOn: String
    package var person: Int64
    /// Turns that were theirs in the end.
    package var assigned: Int
    package var done: Int
    /// Of those done, after they were due.
    package var late: Int
    /// Of those done, instead of somebody else.
    package var forOthers: Int
    package var skipped: Int
    package var missed: Int

    init(_ row: Row) throws {
        func count(_ name: String) throws -> Int { Int(try row.int64(name)) }
        beginsOn = try row.text("begins_on")
        person = try row.int64("person_id")
        assigned = try count("assigned")
        done = try count("done")
        late = try count("late")
        forOthers = try count("for_others")
        skipped = try count("skipped")
        missed = try count("missed")
    }
}

/// The chores of a group, and who did them.
package struct ChoreRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    // Of who has left, no turns are kept.
    private static let listing = """
        SELECT \(ChoreRecord.columns)
        FROM household.chores c
        LEFT JOIN LATERAL (
            SELECT t.id, t.state, t.assignee_id, t.due_on, t.due_at FROM household.occurrences t
            WHERE t.chore_id = c.id AND t.state IN ('due', 'overdue') LIMIT 1) o ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(f.person_id ORDER BY f.place), '{}') AS persons,
                coalesce(array_agg(f.turns::bigint ORDER BY f.place), '{}') AS turns,
                coalesce(array_agg(f.owed::bigint ORDER BY f.place), '{}') AS owed,
                coalesce(array_agg(f.person_id) FILTER (WHERE f.is_away), '{}') AS away
            FROM household.rotation_of(c.id) WITH ORDINALITY
                AS f (person_id, turns, owed, is_away, place)) r
        WHERE c.group_id = $1 AND NOT c.is_removed AND c.id > $2
          AND (NOT $3 OR c.fault IS NOT NULL)
        ORDER BY c.id LIMIT $4
        """

    /// One page of the chores of a group, by their ids.
    package func page(
        of group: Int64, faultyOnly: Bool, behind: Int64, limit: Int
    ) async throws -> [ChoreRecord] {
        try await session.query(
            Self.listing,
            [.int64(group), .int64(behind), .bool(faultyOnly), .int64(Int64(limit))]
        ).map(ChoreRecord.init)
    }

    private static let statistics = """
        SELECT s.begins_on::text AS begins_on, s.person_id, s.assigned, s.done, s.late,
            s.for_others, s.skipped, s.missed
        FROM household.stats_of($1, $2::text::date, $3::text::date, $4) s
        """

    /// What each has done of a group's chores, from a day (as `2026-11-01`) until another, which
    /// is not among them; 0 for periods in which who lives there had no turn.
    package func statistics(
        of group: Int64, from: String, until: String, by period: ChoreStatistics.Period
    ) async throws -> [ChoreStatistics] {
        try await session.query(
            Self.statistics,
            [.int64(group), .text(from), .text(until), .text(period.rawValue)]
        ).map(ChoreStatistics.init)
    }
}
