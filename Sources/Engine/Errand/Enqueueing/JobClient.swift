package import FoundationEssentials
public import ErrandPostgres
public import ErrandRedis
import Synchronization

/// Enqueues jobs.
///
/// A job is there from the commit that made it. Alone (``enqueue(_:_:)``), or inside a transaction
/// of the caller (``enqueue(_:_:in:)``): then it exists if, and only if, the caller's writes do.
public final class JobClient: Sendable {
    /// Arguments may take 1 MiB of JSON.
    public static let argumentLimit = 1_048_576

    let pool: Pool
    private let log: Log
    let offers: Offers?
    private let singles: SingleEnqueues
    private let knownQueues: KnownQueues
    /// The job in whose handler this client is used.
    private let parent: Int64?

    /// A client over a pool of connections.
    ///
    /// - Parameter redis: where the workers' windows are. Without it jobs still start, after
    ///   PostgreSQL has told the feeder.
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

    init(pool: Pool, window: ReadyWindow?, redis: RedisAddress?, log: Log) {
        self.pool = pool
        self.log = log
        offers = window.map { Offers(window: $0, log: log) }
        singles = SingleEnqueues(pool: pool, redis: redis, offers: offers)
        knownQueues = KnownQueues()
        parent = nil
    }

    /// The same client, in the hands of a job's handler: what it enqueues remembers that job.
    init(_ other: JobClient, parent: Int64) {
        pool = other.pool
        log = other.log
        offers = other.offers
        singles = other.singles
        knownQueues = other.knownQueues
        self.parent = parent
    }

    /// Enqueues one job; on return it is committed.
    ///
    /// Calls made at the same time share a commit.
    /// - Throws: ``JobError`` for a request that is wrong, `PostgresError` when it could not be
    ///   written.
    @discardableResult
    public func enqueue<Work: Job>(
        _ job: Work, _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> Enqueued {
        // Jobs of one shape share a statement: where each comes from goes beside it.
        let shape = try shape(Work.self, options, isSingle: options.unique == nil)
        let args = try JobCoding.encode([job])[0]
        return try await enqueue(args, at: options.at.map(Instant.init(date:)), shape: shape)
    }

    /// Enqueues many jobs of one kind in one statement; on return they are committed.
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
        // The queue's row and the wake-up belong to the transaction: they come with its commit.
        let rows = try await transaction.pipeline([
            Statement(Statements.addQueue, [.text(shape.lane.queue)]),
            EnqueueStatement.make(args, at: runAt, shape: shape),
            Statement(Statements.wake, [.text(shape.lane.name), .optional(runAt)]),
        ])
        return try EnqueueStatement.read(rows[1])
    }

    /// Enqueues jobs of one kind inside the caller's transaction, each at a time of its own.
    package func enqueue<Work: Job>(
        _ jobs: [(job: Work, at: Date)], in transaction: Transaction
    ) async throws {
        guard !jobs.isEmpty else { return }
        let shape = try shape(Work.self, EnqueueOptions())
        let args = try await JobCoding.encodeMany(jobs.map(\.job))
        // Those that are due already and the next of the others: of both the feeder is told.
        let now = Date.now
        let times = jobs.map(\.at)
        let hints = Set([times.min(), times.filter { $0 > now }.min()].compactMap(\.self))
        _ = try await transaction.pipeline(
            [
                Statement(Statements.addQueue, [.text(shape.lane.queue)]),
                EnqueueStatement.make(
                    args, times: jobs.map { Instant(date: $0.at) }, shape: shape),
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

    /// Enqueues jobs given as JSON, all of one shape.
    ///
    /// - Parameter audit: the line to write with them, of what was made; nil to write none.
    package func enqueue(
        _ args: [[UInt8]], at runAt: Instant?, shape: EnqueueShape,
        audit: (@Sendable ([Enqueued]) -> AuditLine?)? = nil
    ) async throws -> [Enqueued] {
        guard !args.isEmpty else { return [] }
        try await know(shape.lane.queue)
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
            // Each has a lock of its own to wait for, and must not wait for those of others.
            return try await enqueue([args], at: runAt, shape: shape)[0]
        }
        try await know(shape.lane.queue)
        return try await singles.enqueue(args, at: runAt, shape: shape, parent: parent)
    }

    /// Copies any number of jobs into PostgreSQL in one transaction, then tells the feeder.
    ///
    /// - Parameter next: the next rows in the form of ``BulkRows``, or nil at the end; it is given
    ///   the time that rows due now are to carry.
    /// - Parameter audit: the line to write with so many, which are not none; nil for no line.
    /// - Returns: how many were copied.
    package func copy(
        lanes: @Sendable () -> Set<Lane>, audit: (@Sendable (Int) -> AuditLine)? = nil,
        next: @escaping @Sendable (Instant) throws -> [UInt8]?
    ) async throws -> Int {
        let count = try await pool.withSession { session in
            try await session.transaction { session in
                // No row may be older than the lock under which it is written: see errand.jobs.
                _ = try session.query("LOCK TABLE errand.jobs IN ROW EXCLUSIVE MODE")
                let now = try session.query("SELECT clock_timestamp()").timestamp(0, 0)
                // A COPY without a single byte lacks its header: PostgreSQL takes it for an error.
                var first = try next(now)
                guard first != nil else { return 0 }
                let count = try session.copyIn(Statements.copy) {
                    defer { first = nil }
                    return try first ?? next(now)
                }
                if let line = audit?(count) { _ = try session.pipeline([line.statement]) }
                return count
            }
        }
        for lane in lanes() {
            try await know(lane.queue)
            offers?.ask(for: lane.name)
        }
        return count
    }

    /// Waits until the workers have been told of all that was enqueued.
    public func flush() async {
        await offers?.flush()
    }

    /// Makes sure that a queue is in the list of queues.
    package func know(_ queue: String) async throws {
        guard !knownQueues.names.withLock({ $0.contains(queue) }) else { return }
        _ = try await pool.withSession {
            try await $0.query(Statements.addQueue, [.text(queue)])
        }
        knownQueues.names.withLock { _ = $0.insert(queue) }
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

/// Queues that are known to be in the list of queues.
private final class KnownQueues: Sendable {
    let names = Mutex<Set<String>>(["default"])
}

/// The INSERT for jobs of one shape, and the reading of its answer.
enum EnqueueStatement {
    static func make(_ args: [[UInt8]], at runAt: Instant?, shape: EnqueueShape) -> Statement {
        make(args, times: runAt.map { [Instant?](repeating: $0, count: args.count) }, shape: shape)
    }

    /// - Parameter parents: the jobs whose handlers enqueue them, where they do not all come from
    ///   one (``JobOrigin``); not for a shape with a unique key.
    static func make(
        _ args: [[UInt8]], times: [Instant?]?, shape: EnqueueShape, parents: [Int64?]? = nil
    ) -> Statement {
        var parameters = shape.parameters
        parameters.append(.jsonArray(args))
        if let parents {
            parameters.append(
                .timestampArray(times ?? [Instant?](repeating: nil, count: args.count)))
            parameters.append(.nullableInt64Array(parents))
            return Statement(Statements.enqueueChildren, parameters)
        }
        guard let unique = shape.unique else {
            guard let times else { return Statement(Statements.enqueueNow, parameters) }
            parameters.append(.timestampArray(times))
            return Statement(Statements.enqueue, parameters)
        }
        parameters.append(.timestampArray(times ?? [Instant?](repeating: nil, count: args.count)))
        parameters.append(.textArray([String](repeating: unique.key, count: args.count)))
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
        return Statement(Statements.enqueueUnique, parameters)
    }

    static func read(_ rows: Rows) throws -> [Enqueued] {
        let hasResult = rows.columns.count > 2
        var made: [Enqueued] = []
        made.reserveCapacity(rows.count)
        for row in 0..<rows.count {
            let result: Enqueued.Result =
                hasResult
                ? Enqueued.Result(rawValue: try rows.text(row, 2)) ?? .inserted : .inserted
            let runAt = result == .inserted ? try rows.timestamp(row, 1) : nil
            made.append(Enqueued(id: try rows.int64(row, 0), result: result, runAt: runAt))
        }
        return made
    }
}
