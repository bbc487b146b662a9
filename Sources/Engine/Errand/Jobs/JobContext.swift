public import FoundationEssentials
public import ErrandPostgres
import Synchronization

/// The attempt that a handler runs: facts about the job, and operations on its behalf.
///
/// ```swift
/// kinds.handle(PayInvoice.self) { job, context in
///     let receipt = try await context.once("charge") {
///         try await charge(job.invoiceID, idempotencyKey: context.idempotencyKey)
///     }
///     try await context.database.transaction { transaction in
///         try await transaction.query(
///             "UPDATE invoices SET receipt = $1 WHERE id = $2",
///             [.text(receipt), .int64(job.invoiceID)])
///         try await context.complete(in: transaction)
///     }
/// }
/// ```
///
/// ``complete(in:)`` makes the handler's writes and the completion of the job one commit, so the
/// writes happen exactly once. `once` records an effect outside the database and skips it
/// in later attempts. Both throw ``JobError/claimLost(job:)`` if another worker has the job.
public struct JobContext: Sendable {
    /// The job's id.
    public let id: Int64
    /// The job's kind.
    public let kind: String
    /// The job's queue.
    public let queue: String
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// The maximum number of attempts.
    public let maxAttempts: Int
    /// The time at which the job was due.
    public let dueAt: Date
    /// The occurrence of the schedule that created this job; nil for other jobs.
    public let occurrence: ScheduledOccurrence?
    /// The start of this attempt.
    ///
    /// Rules should decide by it instead of reading the clock again.
    public let now: Date
    /// The time at which this attempt is cancelled.
    public let deadline: Date
    /// Writes log lines about this job.
    public var log: Log {
        plainLog.ofJob(id, kind: kind, queue: queue, attempt: attempt)
    }
    /// The claim's token, for services that accept a fence.
    public let claimToken: Int64
    /// Enqueues jobs that record this one as their parent.
    public var client: JobClient { JobClient(plainClient, parent: id) }

    let plainLog: Log
    let plainClient: JobClient
    let engine: Engine
    let keepDays: Int16?
    let startedAt: ContinuousClock.Instant

    /// A key that is the same for every attempt of this job and different for every other job, for
    /// services that accept idempotency keys.
    public var idempotencyKey: String { "errand-\(engine.instance)-\(id)" }

    /// Connections to Errand's database, shared by the handlers of this worker.
    public var database: Pool { engine.database }

    /// Completes the job inside the handler's transaction: its writes and the completion commit
    /// together, exactly once, or not at all.
    ///
    /// Call it last in the transaction, then return normally.
    /// - Throws: ``JobError/claimLost(job:)`` if another worker has the job. Let the error roll the
    ///   transaction back.
    public func complete(in transaction: Transaction) async throws {
        let rows = try await transaction.query(
            Statements.complete,
            [
                .int64Array([id]), .int64Array([claimToken]),
                .floatArray([startedAt.millisecondsSince]),
                .nullableInt16Array([keepDays]),
            ])
        guard try rows.int64(0, 0) == 1 else { throw JobError.claimLost(job: id) }
        engine.markWritten(id)
    }

    /// Runs an effect outside the database unless an earlier attempt has recorded it.
    ///
    /// The result is recorded in PostgreSQL under the claim's fence; later attempts return the
    /// recorded result. A crash between the effect and the record can repeat the effect, so pass
    /// ``idempotencyKey`` to services that accept one.
    /// - Throws: the error of `effect`; ``JobError/claimLost(job:)`` if another worker has the job.
    public func once<Value: Codable & Sendable>(
        _ key: String, _ effect: () async throws -> Value
    ) async throws -> Value {
        let known = try await engine.query(Statements.readOnce, [.int64(id), .text(key)])
        if known.count == 1 {
            return try JobCoding.decoder.decode(
                [Value].self, from: Data(known.json(0, 0)))[0]
        }
        let value = try await effect()
        let result = Array(try JobCoding.encoder.encode([value]))
        let written = try await engine.query(
            Statements.recordOnce, [.int64(id), .int64(claimToken), .text(key), .json(result)])
        guard written.affected == 1 else { throw JobError.claimLost(job: id) }
        return value
    }

    /// Runs an effect without a result unless an earlier attempt has recorded it.
    public func once(_ key: String, _ effect: () async throws -> Void) async throws {
        _ = try await once(key) { () -> Bool in
            try await effect()
            return true
        }
    }
}

extension JobBatch {
    /// Completes jobs of the batch inside the handler's transaction.
    ///
    /// - Parameters:
    ///   - done: the jobs to complete; the others end by their outcomes.
    ///   - transaction: the transaction with the handler's writes.
    /// - Throws: ``JobError/claimLost(job:)`` if another worker has one of them. Let the error roll
    ///   the transaction back.
    public func complete(_ done: [Item], in transaction: Transaction) async throws {
        guard let engine = done.first?.context.engine else { return }
        let sorted = done.map(\.context).sorted { $0.id < $1.id }
        let rows = try await transaction.query(
            Statements.complete,
            [
                .int64Array(sorted.map(\.id)), .int64Array(sorted.map(\.claimToken)),
                .floatArray(sorted.map(\.startedAt.millisecondsSince)),
                .nullableInt16Array(sorted.map(\.keepDays)),
            ])
        guard try rows.int64(0, 0) == Int64(sorted.count) else {
            throw JobError.claimLost(job: sorted[0].id)
        }
        for context in sorted { engine.markWritten(context.id) }
    }
}

/// State that the parts of one running worker share.
final class Engine: Sendable {
    /// The handlers' connections.
    let database: Pool
    /// The pool of `database`, of which handlers leave one session for the engine's own statements.
    let own: Pool
    /// The worker's reserved session, for when no other is free.
    let reserved: Session
    let instance: String
    private let written = Mutex<Set<Int64>>([])

    init(database: Pool, own: Pool, reserved: Session, instance: String) {
        self.database = database
        self.own = own
        self.reserved = reserved
        self.instance = instance
    }

    func query(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        try await pipeline([Statement(sql, parameters)])[0]
    }

    /// Runs statements that wait for no lock of other jobs.
    ///
    /// Handlers that hold a session may wait for them, so they do not wait for a session of the
    /// pool, which may itself wait for these handlers.
    func pipeline(_ statements: [Statement]) async throws -> [Rows] {
        guard !own.isExhausted else { return try await reserved.pipeline(statements) }
        do { return try await own.withSession { try await $0.pipeline(statements) } } catch {
            guard let error = error as? PostgresError, error.isOfFullServer else { throw error }
            return try await reserved.pipeline(statements)
        }
    }

    /// Records that a handler completed its job in its own transaction.
    func markWritten(_ id: Int64) { written.withLock { _ = $0.insert(id) } }

    /// Returns whether the handler completed the job itself, and removes the record.
    func takeWritten(_ id: Int64) -> Bool {
        written.withLock { !$0.isEmpty && $0.remove(id) != nil }
    }
}

extension ContinuousClock.Instant {
    /// The time since this instant, in milliseconds.
    var millisecondsSince: Float {
        let (seconds, attoseconds) = (ContinuousClock.now - self).components
        return Float(Double(seconds) * 1000 + Double(attoseconds) * 1e-15)
    }
}
