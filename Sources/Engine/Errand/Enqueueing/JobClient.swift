package import FoundationEssentials
public import ErrandPostgres
public import ErrandRedis

/// Enqueues jobs, in a transaction of its own or in the caller's.
///
/// ```swift
/// let client = try await JobClient(pool: pool, redis: redis)
/// try await pool.transaction { transaction in
///     try await transaction.query("INSERT INTO orders (id) VALUES ($1)", [.int64(17)])
///     try await client.enqueue(SendReceipt(orderID: 17), in: transaction)
/// }
/// ```
///
/// A job that is enqueued in a transaction exists if and only if that transaction commits. Without
/// a transaction the job is committed when `enqueue` returns. A client is safe to share: create one
/// for the process. It throws ``JobError`` for an invalid request and `PostgresError` if the
/// database did not accept it; an unreachable Redis only delays the start of jobs.
public final class JobClient: Sendable {
    /// The maximum size of a job's arguments: 1 MiB of JSON.
    public static let argumentLimit = 1_048_576

    let pool: Pool
    private let log: Log
    let offers: StagingQueue?
    private let singles: SingleEnqueues
    /// The job whose handler uses this client.
    private let parent: Int64?

    /// Creates a client over a pool of connections.
    ///
    /// - Parameters:
    ///   - pool: connections to the database that has Errand's schema.
    ///   - redis: the workers' Redis. The client stages new jobs there. Without it the feeder
    ///     stages them after a notification from PostgreSQL.
    ///   - log: receives warnings, such as that Redis is unreachable.
    /// - Throws: `PostgresError` if the database is unreachable or has no schema `errand`.
    public convenience init(
        pool: Pool, redis: RedisAddress? = nil, log: Log = .silent
    ) async throws {
        guard let redis else {
            self.init(pool: pool, window: nil, redis: nil, log: log)
            return
        }
        let instance = try await pool.withSession {
            try await $0.query(Statements.instance).text(0, 0)
        }
        let window = ReadyWindow(
            connection: Connection(redis, name: "errand-client"),
            keys: RedisKeys(instance: instance), limit: WorkerOptions.standardWindow)
        self.init(pool: pool, window: window, redis: redis, log: log)
    }

    /// - Parameter writingSingles: writes single jobs; nil for a session of the client's own.
    init(
        pool: Pool, window: ReadyWindow?, redis: RedisAddress?, log: Log,
        writingSingles: SingleEnqueues.Writing? = nil
    ) {
        self.pool = pool
        self.log = log
        offers = window.map { StagingQueue(window: $0, log: log) }
        singles = SingleEnqueues(
            pool: pool, redis: redis, offers: offers, writing: writingSingles)
        parent = nil
    }

    /// Creates a client for a handler: it records the handler's job as the parent of new jobs.
    init(_ other: JobClient, parent: Int64) {
        pool = other.pool
        log = other.log
        offers = other.offers
        singles = other.singles
        self.parent = parent
    }

    /// Enqueues one job and commits it.
    ///
    /// Concurrent calls share a commit.
    /// - Throws: ``JobError`` for an invalid request; `PostgresError` if the write failed.
    @discardableResult
    public func enqueue<Work: Job>(
        _ job: Work, _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> Enqueued {
        // Jobs of one shape share a statement, so their origins are separate parameters.
        let shape = try shape(Work.self, options, isSingle: options.unique == nil)
        let args = try JobCoding.encode([job])[0]
        return try await enqueue(args, at: options.at.map(Instant.init(date:)), shape: shape)
    }

    /// Enqueues many jobs of one kind in one statement and commits them.
    @discardableResult
    public func enqueue<Work: Job>(
        _ jobs: [Work], _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> [Enqueued] {
        let shape = try shape(Work.self, options)
        return try await enqueue(
            try await JobCoding.encodeMany(jobs), at: options.at.map(Instant.init(date:)),
            shape: shape)
    }

    /// Enqueues one job inside the caller's transaction.
    @discardableResult
    public func enqueue<Work: Job>(
        _ job: Work, _ options: EnqueueOptions = EnqueueOptions(), in transaction: Transaction
    ) async throws -> Enqueued {
        try await enqueue([job], options, in: transaction)[0]
    }

    /// Enqueues many jobs of one kind inside the caller's transaction.
    @discardableResult
    public func enqueue<Work: Job>(
        _ jobs: [Work], _ options: EnqueueOptions = EnqueueOptions(), in transaction: Transaction
    ) async throws -> [Enqueued] {
        let shape = try shape(Work.self, options)
        let args = try await JobCoding.encodeMany(jobs)
        guard !args.isEmpty else { return [] }
        let runAt = options.at.map(Instant.init(date:))
        // The wake-up is part of the transaction: it takes effect at commit.
        let rows = try await transaction.pipeline([
            EnqueueStatement.make(args, at: runAt, shape: shape),
            Statement(Statements.wake, [.text(shape.lane.name), .optional(runAt)]),
        ])
        return try EnqueueStatement.read(rows[0])
    }

    /// Enqueues jobs of one kind inside the caller's transaction, each with its own start time.
    package func enqueue<Work: Job>(
        _ jobs: [(job: Work, at: Date)], in transaction: Transaction
    ) async throws {
        guard !jobs.isEmpty else { return }
        let shape = try shape(Work.self, EnqueueOptions())
        let args = try await JobCoding.encodeMany(jobs.map(\.job))
        // Notify the feeder of the due jobs, and of the earliest of the others.
        let now = Date.now
        let times = jobs.map(\.at)
        let hints = Set([times.min(), times.filter { $0 > now }.min()].compactMap(\.self))
        _ = try await transaction.pipeline(
            [
                EnqueueStatement.make(
                    args, times: jobs.map { Instant(date: $0.at) }, shape: shape)
            ]
                + hints.map { hint in
                    Statement(
                        Statements.wake,
                        [
                            .text(shape.lane.name),
                            .timestamp(Instant(date: hint)),
                        ])
                })
    }

    /// Enqueues jobs of one shape whose arguments are JSON.
    ///
    /// - Parameter audit: returns the audit line for the created jobs; nil for no line.
    package func enqueue(
        _ args: [[UInt8]], at runAt: Instant?, shape: EnqueueShape,
        audit: (@Sendable ([Enqueued]) -> AuditLine?)? = nil
    ) async throws -> [Enqueued] {
        guard !args.isEmpty else { return [] }
        let statement = EnqueueStatement.make(args, at: runAt, shape: shape)
        let made =
            if let audit {
                try await pool.transaction { transaction in
                    let made = try EnqueueStatement.read(await transaction.pipeline([statement])[0])
                    if let line = audit(made) {
                        _ = try await transaction.pipeline([line.statement])
                    }
                    return made
                }
            } else {
                try await pool.withSession {
                    try EnqueueStatement.read(await $0.query(statement))
                }
            }
        offer(made, at: runAt, shape: shape)
        return made
    }

    private func enqueue(
        _ args: [UInt8], at runAt: Instant?, shape: EnqueueShape
    ) async throws -> Enqueued {
        guard shape.unique == nil else {
            // Each unique key has its own lock: one job must not wait for the lock of another.
            return try await enqueue([args], at: runAt, shape: shape)[0]
        }
        return try await singles.enqueue(args, at: runAt, shape: shape, parent: parent)
    }

    /// Copies any number of jobs into PostgreSQL in one transaction, then notifies the feeder.
    ///
    /// - Parameters:
    ///   - next: returns the next rows in the form of ``BulkRows``, or nil at the end. Its argument
    ///     is the due time of rows that are due now.
    ///   - audit: returns the audit line for a number of jobs above zero; nil for no line.
    /// - Returns: the number of copied jobs.
    package func copy(
        lanes: @Sendable () -> Set<Lane>, audit: (@Sendable (Int) -> AuditLine)? = nil,
        next: @escaping @Sendable (Instant) throws -> [UInt8]?
    ) async throws -> Int {
        let count = try await pool.withSession { session in
            try await session.transaction { session in
                // A row must not be older than the lock under which it is written: see errand.jobs.
                _ = try session.query("LOCK TABLE errand.jobs IN ROW EXCLUSIVE MODE")
                let now = try session.query("SELECT clock_timestamp()").timestamp(0, 0)
                // PostgreSQL refuses a COPY without a header, so one without rows has one, too.
                var first = try next(now)
                guard first != nil else { return 0 }
                let count = try session.copyIn(Statements.copy) {
                    defer { first = nil }
                    return try first ?? next(now)
                }
                var statements = Set(lanes().map(\.queue)).sorted().map {
                    Statement(Statements.addQueue, [.text($0)])
                }
                if let line = audit?(count) { statements.append(line.statement) }
                _ = try session.pipeline(statements)
                return count
            }
        }
        for lane in lanes() { offers?.ask(for: lane.name) }
        return count
    }

    /// Waits until all enqueued jobs have been staged or announced to the feeder.
    public func flush() async {
        await offers?.flush()
    }

    private func offer(_ made: [Enqueued], at runAt: Instant?, shape: EnqueueShape) {
        guard let offers else { return }
        let due = made.compactMap { $0.staged(asked: runAt, priority: shape.priority) }
        offers.offer(due, to: shape.lane)
        // The feeder knows when the others are due.
        if runAt != nil, due.count < made.count { offers.ask(for: shape.lane.name + Lane.later) }
    }

    private func shape<Work: Job>(
        _ type: Work.Type, _ options: EnqueueOptions, isSingle: Bool = false
    ) throws -> EnqueueShape {
        var options = options
        if let parent, !isSingle { options.origin = JobOrigin(parent: parent) }
        return try EnqueueShape(
            kind: Work.kind, version: Work.argsVersion, defaults: Work.options, options: options)
    }
}

/// The statement for jobs of one shape, and the decoding of its result.
enum EnqueueStatement {
    static func make(_ args: [[UInt8]], at runAt: Instant?, shape: EnqueueShape) -> Statement {
        make(args, times: runAt.map { [Instant?](repeating: $0, count: args.count) }, shape: shape)
    }

    /// - Parameter parents: the parents of the jobs (``JobOrigin``) if they differ; not for a shape
    ///   with a unique key.
    static func make(
        _ args: [[UInt8]], times: [Instant?]?, shape: EnqueueShape, parents: [Int64?]? = nil
    ) -> Statement {
        var parameters = shape.parameters
        parameters += [
            .jsonArray(args), times.map(Parameter.timestampArray) ?? .null,
            parents.map(Parameter.nullableInt64Array) ?? .null,
        ]
        guard let unique = shape.unique else {
            parameters += [Parameter](repeating: .null, count: 5)
            return Statement(Statements.enqueue, parameters)
        }
        parameters.append(.text(unique.key))
        switch unique.scope {
        case .whileWaiting: parameters += [.text("waiting"), .null]
        case .whileUnfinished: parameters += [.text("unfinished"), .null]
        case .within(let period):
            parameters += [.text("waiting"), .double(Double(period.milliseconds) / 1000)]
        }
        switch unique.onDuplicate {
        case .skip: parameters += [.text("skip"), .null]
        case .replace: parameters += [.text("replace"), .null]
        case .replaceIfNewer(let field): parameters += [.text("replace"), .text(field)]
        }
        return Statement(Statements.enqueue, parameters)
    }

    static func read(_ rows: Rows) throws -> [Enqueued] {
        var made: [Enqueued] = []
        made.reserveCapacity(rows.count)
        for row in 0..<rows.count {
            let result: Enqueued.Result =
                rows.isNull(row, 2)
                ? .inserted : Enqueued.Result(rawValue: try rows.text(row, 2)) ?? .inserted
            let runAt = result == .inserted ? try rows.timestamp(row, 1) : nil
            made.append(Enqueued(id: try rows.int64(row, 0), result: result, runAt: runAt))
        }
        return made
    }
}
