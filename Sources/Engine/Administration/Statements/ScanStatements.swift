import Errand
import ErrandPostgres

/// A batch of rows of a table in the order of ids: their number, the last id, and the matching ids.
///
/// The cost depends on the number of rows searched, not on the number that match.
struct JobWindow {
    var table: JobTable
    /// Only ids above this one.
    var after: Int64?
    /// Only ids below this one.
    var before: Int64?
    /// Only these ids, if no others can match.
    var candidates: [Int64]?
    var rows: Int
    var isOldestFirst: Bool

    func statement(_ filter: JobFilter) throws -> Statement {
        var conditions = JobConditions()
        let passes = JobConditions.joined(try conditions.clauses(filter, table))
        var within: [String] = []
        if let candidates {
            within.append("id = ANY (\(conditions.placeholder(.int64Array(candidates))))")
        } else {
            within += conditions.indexed(filter, table)
        }
        if let after { within.append("id > \(conditions.placeholder(.int64(after)))") }
        if let before { within.append("id < \(conditions.placeholder(.int64(before)))") }
        let limit = conditions.placeholder(.int64(Int64(rows)))
        return Statement(
            """
            SELECT count(*) AS looked, \(isOldestFirst ? "max" : "min")(id) AS reached,
                coalesce(array_agg(id) FILTER (WHERE passes), '{}') AS ids
            FROM (
                SELECT id, \(passes) AS passes FROM \(table.name)
                WHERE \(JobConditions.joined(within))
                ORDER BY id \(isOldestFirst ? "ASC" : "DESC") LIMIT \(limit)
            ) AS seen
            """, conditions.parameters)
    }
}

extension JobConditions {
    /// The conditions that an index serves in the order of ids, so that other rows need not be
    /// searched.
    mutating func indexed(_ filter: JobFilter, _ table: JobTable) -> [String] {
        // Excludes the partition of dead letters by its bounds.
        let living = filter.states.map { !$0.contains(.dead) } ?? false
        let bounds = table == .finished && living ? ["keep_until < '9999-01-01'"] : []
        if let key = filter.key { return bounds + ["unique_key = \(placeholder(.text(key)))"] }
        if table == .dead {
            for (column, value) in [
                ("fingerprint", filter.fingerprint), ("kind", filter.kind),
                ("queue", filter.queue),
            ] {
                if let value { return ["\(column) = \(placeholder(.text(value)))"] }
            }
        }
        if filter.tag != nil { return bounds + ["tags IS NOT NULL"] }
        guard filter.error != nil else { return bounds }
        return bounds
            + [table == .live ? "errors IS NOT NULL" : "(errors IS NOT NULL OR reason IS NOT NULL)"]
    }

    /// The ids of the rows that can match, if an index other than that of ids finds them.
    ///
    /// - Parameter limit: the maximum number to read; if it is reached, there may be more.
    static func candidates(
        _ filter: JobFilter, _ table: JobTable, limit: Int
    ) -> Statement? {
        var conditions = JobConditions()
        let most = Parameter.int64(Int64(limit))
        switch table {
        case .finished: return nil
        case .dead:
            guard filter.newerMs != nil else { return nil }
            let ages = conditions.ages(filter, table)
            let limit = conditions.placeholder(most)
            return Statement(
                """
                SELECT id FROM errand.dead_jobs WHERE \(Self.joined(ages))
                ORDER BY finished_at DESC LIMIT \(limit)
                """, conditions.parameters)
        case .live:
            if filter.key != nil { return nil }
            if filter.worker != nil || filter.states.map(Set.init) == [.running] {
                return Statement(
                    Statements.claimed, [.optional(filter.queue), .optional(filter.kind)])
            }
            switch (filter.queue, filter.kind) {
            case (nil, nil): return nil
            case (let queue?, nil):
                return Statement(Statements.idsOfQueue, [.text(queue), most])
            case (let queue, let kind?):
                return Statement(
                    Statements.idsOfKind, [.optional(queue), .text(kind), most])
            }
        }
    }
}

extension Statements {
    /// The live jobs of queue $1, up to $2, with an index-only scan.
    static let idsOfQueue = """
        SELECT id FROM errand.jobs WHERE queue = $1
        ORDER BY kind, args_version, priority, run_at, id LIMIT $2
        """

    /// The live jobs of kind $2, up to $3, in queue $1 or, if null, in any queue.
    static let idsOfKind = """
        SELECT j.id FROM errand.queues q CROSS JOIN LATERAL (
            SELECT id FROM errand.jobs WHERE queue = q.name AND kind = $2
            ORDER BY args_version, priority, run_at, id LIMIT $3
        ) j
        WHERE $1::text IS NULL OR q.name = $1 LIMIT $3
        """

    /// The claimed jobs of the lanes that match a condition: the CTE `head` has their ids (`held`),
    /// and possibly others.
    ///
    /// There is no index on claims. But workers claim the oldest due jobs, so that claimed jobs are
    /// at the head of their lane, with few unclaimed ones between. The scan of a lane ends after
    /// `free` unclaimed jobs in a row.
    static func heads(where condition: String, free: Int) -> String {
        """
        head AS (
            SELECT queue, kind, args_version, priority, run_at, id - 1 AS id,
                -- Jobs that run for long are before the start of their lane.
                ARRAY(
                    SELECT j.id FROM errand.lane_jobs(place, 0) j
                    WHERE j.claimed_by IS NOT NULL
                ) AS held, true AS goes_on
            FROM lane WHERE \(condition)
            UNION ALL
            SELECT h.queue, h.kind, h.args_version, h.priority, b.run_at, b.id, b.held,
                b.held <> '{}' AND b.looked = \(free)
            FROM head h CROSS JOIN LATERAL (
                SELECT count(*) AS looked, max(run_at) AS run_at,
                    (array_agg(id ORDER BY run_at DESC, id DESC))[1] AS id,
                    coalesce(array_agg(id) FILTER (WHERE claimed_by IS NOT NULL), '{}') AS held
                FROM (
                    SELECT j.id, j.run_at, j.claimed_by FROM errand.jobs j
                    WHERE j.queue = h.queue AND j.kind = h.kind
                      AND j.args_version = h.args_version AND j.priority = h.priority
                      AND (j.run_at, j.id) > (h.run_at, h.id)
                    ORDER BY j.run_at, j.id LIMIT \(free)
                ) w
            ) b
            WHERE h.goes_on AND b.looked > 0
        )
        """
    }

    private static let asked =
        "($1::text IS NULL OR queue = $1) AND ($2::text IS NULL OR kind = $2)"

    /// The claimed jobs of queue $1 and kind $2 (null: any), and those that workers last reported.
    static let claimed = """
        WITH RECURSIVE \(allLanes), \(heads(where: asked, free: 100))
        SELECT unnest(held) AS id FROM head
        UNION SELECT unnest(running) FROM errand.workers
        """

    /// The approximate lowest id of the jobs created within the last $1 seconds.
    ///
    /// Ids grow with time, except within batches.
    ///
    /// A binary search. At each step all of twenty rows must be newer or, with `any`, one of them.
    static func firstID(in table: JobTable, any: Bool) -> String {
        """
        WITH RECURSIVE half AS (
            SELECT (SELECT min(id) FROM \(table.name)) AS low,
                (SELECT max(id) FROM \(table.name)) AS high
            UNION ALL
            SELECT CASE WHEN place.is_newer THEN low ELSE middle + 1 END,
                CASE WHEN place.is_newer THEN middle ELSE high END
            FROM half
            CROSS JOIN LATERAL (SELECT low + (high - low) / 2 AS middle) AS cut
            CROSS JOIN LATERAL (
                SELECT \(any ? "max" : "min")(created_at)
                    > now() - make_interval(secs => $1) AS is_newer
                FROM (
                    SELECT created_at FROM \(table.name) WHERE id >= middle
                    ORDER BY id LIMIT 20
                ) AS few
            ) AS place
            WHERE low < high
        )
        SELECT low FROM half ORDER BY high - low LIMIT 1
        """
    }

    /// Jobs by their ids.
    static func jobs(in table: JobTable) -> String {
        "SELECT \(table.columns) FROM \(table.name) WHERE id = ANY ($1)"
    }
}
