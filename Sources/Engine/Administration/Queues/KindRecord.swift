package import Errand
package import ErrandPostgres

/// One kind of job as an operator sees it.
package struct KindRecord: Sendable {
    package var name: String
    /// The version of its arguments, where a program has declared it or it waits.
    package var version: Int?
    package var queue: String?
    package var maxAttempts: Int?
    /// Whether some program has declared it.
    package var isDeclared = false
    /// Live workers that know it.
    package var workers = 0
    package var waiting = 0
    package var running = 0
    package var isEstimate = false
    /// Within the time asked for: jobs that were done, attempts that failed, jobs that died or
    /// were cancelled.
    package var completed = 0
    package var failed = 0
    package var dead = 0
    package var cancelled = 0
    /// From when they were due to their start, and from there to their end.
    package var waits = DurationHistogram()
    package var runs = DurationHistogram()

    /// One of which nothing is known but its name.
    package init(name: String) { self.name = name }

    init(_ row: Row) throws {
        name = try row.text("kind")
        version = try row.optionalInt32("version").map(Int.init)
        queue = try row.optionalText("queue")
        maxAttempts = try row.optionalInt32("max_attempts").map(Int.init)
        isDeclared = try row.bool("is_declared")
        workers = Int(try row.int64("workers"))
        waiting = Int(try row.int64("waiting"))
        running = Int(try row.int64("running"))
        isEstimate = try row.bool("is_estimate")
        completed = Int(try row.int64("completed"))
        failed = Int(try row.int64("failed"))
        dead = Int(try row.int64("dead"))
        cancelled = Int(try row.int64("cancelled"))
        waits = try DurationHistogram(row, "wait_buckets", "wait_counts")
        runs = try DurationHistogram(row, "run_buckets", "run_counts")
    }

    /// The share of attempts that failed; nil when none ended.
    package var failureRate: Double? {
        let attempts = completed + failed
        return attempts > 0 ? Double(failed) / Double(attempts) : nil
    }
}

/// A schedule that makes jobs of a kind.
package struct KindSchedule: Sendable {
    package var name: String
    package var recurrence: String
    package var zone: String
    package var isPaused: Bool
    package var nextAt: Instant?

    init(_ row: Row) throws {
        name = try row.text("name")
        recurrence = try row.text("recurrence")
        zone = try row.text("zone")
        isPaused = try row.bool("is_paused")
        nextAt = try row.optionalTimestamp("next_at")
    }
}

extension Inspector {
    /// A kind in one queue is counted up to this many jobs.
    private static let kindCountLimit: Int64 = 1_000

    /// All kinds that were declared, wait, or were worked lately; or the one of that name.
    package func kindNumbers(
        named name: String? = nil, since length: Duration, isExact: Bool = false
    ) async throws -> [KindRecord] {
        try await session.query(
            Statements.kindNumbers,
            [
                .optional(name), .double(length / .seconds(1)),
                isExact ? .null : .int64(Self.kindCountLimit),
            ]
        ).map(KindRecord.init)
    }

    /// The names of all kinds that were declared or wait.
    package func kindNames() async throws -> [String] {
        try await session.query(Statements.kindNames).map { try $0.text(0) }
    }

    /// The schedules that make jobs of a kind.
    package func schedules(of kind: String) async throws -> [KindSchedule] {
        try await session.query(Statements.schedulesOfKind, [.text(kind)]).map(KindSchedule.init)
    }
}
