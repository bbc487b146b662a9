package import Errand
package import ErrandPostgres

/// The numbers of one kind.
package struct KindRecord: Sendable {
    package var name: String
    /// The version of its arguments, if the kind is declared or has waiting jobs.
    package var version: Int?
    package var queue: String?
    package var maxAttempts: Int?
    /// Whether a program has declared it.
    package var isDeclared = false
    /// Whether logins of apps may enqueue it.
    package var isForApps = false
    /// The number of live workers that know it.
    package var workers = 0
    package var waiting = 0
    package var running = 0
    package var isEstimate = false
    /// Within the requested time: completed jobs, failed attempts, dead and cancelled jobs.
    package var completed = 0
    package var failed = 0
    package var dead = 0
    package var cancelled = 0
    /// The times from due to start, and from start to end.
    package var waits = DurationHistogram()
    package var runs = DurationHistogram()

    /// Creates a record without numbers.
    package init(name: String) { self.name = name }

    init(_ row: Row) throws {
        name = try row.text("kind")
        version = try row.optionalInt32("version").map(Int.init)
        queue = try row.optionalText("queue")
        maxAttempts = try row.optionalInt32("max_attempts").map(Int.init)
        isDeclared = try row.bool("is_declared")
        isForApps = try row.bool("for_apps")
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

    /// The fraction of attempts that failed; nil if none ended.
    package var failureRate: Double? {
        let attempts = completed + failed
        return attempts > 0 ? Double(failed) / Double(attempts) : nil
    }
}

/// A schedule that enqueues jobs of a kind.
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
    /// The number of jobs to count per kind and queue.
    private static let kindCountLimit: Int64 = 1_000

    /// All kinds that are declared, have waiting jobs or ran recently; or only the named one.
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

    /// The names of all kinds that are declared or have waiting jobs.
    package func kindNames() async throws -> [String] {
        try await session.query(Statements.kindNames).map { try $0.text(0) }
    }

    /// The schedules that enqueue jobs of a kind.
    package func schedules(of kind: String) async throws -> [KindSchedule] {
        try await session.query(Statements.schedulesOfKind, [.text(kind)]).map(KindSchedule.init)
    }
}
