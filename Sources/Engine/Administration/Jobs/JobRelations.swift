import Errand
import ErrandPostgres

/// The jobs that a job has enqueued, as far as the search found them.
struct JobRelations {
    struct Child {
        var id: Int64
        var kind: String
        var state: String
        var madeAt: Instant
    }

    var children: [Child] = []
    /// Whether the search stopped because there were too many jobs.
    var isCutOff = false
}

extension Inspector {
    /// The maximum number of jobs to search for the children of one job.
    static let familyLimit: Int64 = 20_000
    /// The maximum number of children in a history.
    private static let shownChildren = 20

    /// The tolerance for clocks and late commits at the start and end of an attempt.
    private static let slack = Duration.seconds(5)

    /// The history of a job with its jobs, effects, and the outcome of its occurrence.
    package func history(of job: JobRecord) async throws -> [JobHistoryEntry] {
        var made: [JobHistoryEntry] = []
        for row in try await session.query(Statements.effects, [.int64(job.id)]) {
            made.append(
                JobHistoryEntry(
                    event: .effect, at: try row.timestamp("done_at"),
                    text: job.redaction.text(try row.text("key"))))
        }
        var last: [JobHistoryEntry] = []
        let family = try await family(of: job)
        for child in family.children.prefix(Self.shownChildren) {
            made.append(
                JobHistoryEntry(
                    event: .child, at: child.madeAt,
                    text: "job \(child.id), \(child.kind), \(child.state)"))
        }
        let rest = family.children.count - Self.shownChildren
        if rest > 0 {
            last.append(JobHistoryEntry(event: .more, text: "it enqueued \(rest) more jobs"))
        }
        if family.isCutOff {
            last.append(
                JobHistoryEntry(
                    event: .more,
                    text: "only the first \(Self.familyLimit) jobs created while it ran were "
                        + "searched: it may have enqueued more"))
        }
        if let occurrence = job.occurrence {
            let row = try await session.query(
                Statements.occurrenceEnd,
                [.text(occurrence.schedule), .timestamp(Instant(date: occurrence.due))]
            ).first
            // An occurrence that has not ended adds no entry.
            if let row, try row.text("outcome") != "enqueued" {
                last.append(
                    JobHistoryEntry(
                        event: .occurrence, at: try row.optionalTimestamp("ended_at"),
                        text: try row.text("outcome")))
            }
        }
        var history = job.history
        for entry in made.sorted(by: { ($0.at ?? .infinity) < ($1.at ?? .infinity) }) {
            let place = history.firstIndex { later in
                guard later.event != .forgotten, let at = later.at, let own = entry.at else {
                    return false
                }
                return at > own
            }
            history.insert(entry, at: place ?? history.count)
        }
        return history + last
    }

    /// The jobs that a job's handler has enqueued.
    ///
    /// There is no index on the parent: searches the jobs created while it ran, using the order of
    /// ids.
    func family(of job: JobRecord) async throws -> JobRelations {
        guard let start = job.firstStart else { return JobRelations() }
        let end = job.finishedAt.map { $0.adding(Self.slack) }
        let last = try await session.query(
            Statements.lastID([.live, .finished]), prepare: false
        ).int64(0, 0)
        let from = try await firstID(
            from: start.adding(.zero - Self.slack), after: job.id, upTo: last)
        var to = last
        if let end { to = try await firstID(from: end, after: from - 1, upTo: last) }
        let rows = try await session.query(
            Statements.family,
            [.int64(job.id), .int64(from), .int64(to), .int64(Self.familyLimit)])
        var family = JobRelations()
        for row in rows {
            family.isCutOff = try row.bool("is_cut_off")
            guard let id = try row.optionalInt64("id") else { continue }
            family.children.append(
                JobRelations.Child(
                    id: id, kind: try row.text("kind"), state: try row.text("state"),
                    madeAt: try row.timestamp("created_at")))
        }
        return family
    }

    /// The lowest id after another of a job created at a time or later, by binary search.
    private func firstID(
        from time: Instant, after id: Int64, upTo last: Int64
    ) async throws -> Int64 {
        var (low, high) = (id + 1, max(last, id) + 1)
        while low < high {
            let middle = low + (high - low) / 2
            let row = try await session.query(Statements.nextJob, [.int64(middle)]).first
            if let row, try row.timestamp("created_at") < time {
                low = max(try row.int64("id"), middle) + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

extension Statements {
    /// The job with the lowest id from $1 on.
    fileprivate static let nextJob = """
        SELECT id, created_at FROM (
            (SELECT id, created_at FROM errand.jobs WHERE id >= $1 ORDER BY id LIMIT 1)
            UNION ALL
            (SELECT id, created_at FROM errand.finished_jobs WHERE id >= $1 ORDER BY id LIMIT 1)
        ) AS found ORDER BY id LIMIT 1
        """

    /// The jobs that job $1 enqueued, among the ids from $2 to $3, at most $4 per table.
    ///
    /// Returns at least one row, which shows whether the search was cut off.
    fileprivate static let family = """
        WITH live AS MATERIALIZED (
            SELECT id, kind, errand.live_state(claimed_by, attempt, run_at, now()) AS state,
                created_at, options -> 'origin' -> 'parent' AS parent
            FROM errand.jobs WHERE id BETWEEN $2 AND $3 ORDER BY id LIMIT $4
        ), finished AS MATERIALIZED (
            SELECT id, kind, outcome::text AS state, created_at,
                options -> 'origin' -> 'parent' AS parent
            FROM errand.finished_jobs WHERE id BETWEEN $2 AND $3 ORDER BY id LIMIT $4
        ), counted AS (
            SELECT (SELECT count(*) FROM live) >= $4
                OR (SELECT count(*) FROM finished) >= $4 AS is_cut_off
        )
        SELECT counted.is_cut_off, child.id, child.kind, child.state, child.created_at
        FROM counted LEFT JOIN (
            SELECT * FROM live UNION ALL SELECT * FROM finished
        ) AS child ON child.parent = to_jsonb($1::bigint)
        ORDER BY child.id
        """

    /// The recorded effects of a job.
    fileprivate static let effects = """
        SELECT key, done_at FROM errand.once_effects WHERE job_id = $1
        ORDER BY done_at, key LIMIT 100
        """

    /// The outcome of an occurrence.
    fileprivate static let occurrenceEnd = """
        SELECT o.outcome::text AS outcome, o.ended_at
        FROM errand.schedule_occurrences o JOIN errand.schedules s ON s.id = o.schedule_id
        WHERE s.name = $1 AND o.due_at = $2
        """
}
