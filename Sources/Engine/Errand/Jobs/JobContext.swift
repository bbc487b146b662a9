public import FoundationEssentials
public import ErrandPostgres
import Synchronization

/// What a handler knows about the attempt that it makes, and may do in its name.
public struct JobContext: Sendable {
    /// The job's id.
    public let id: Int64
    /// The job's kind.
    public let kind: String
    /// The queue that it came from.
    public let queue: String
    /// Which attempt this is, from 1.
    public let attempt: Int
    /// How many attempts it has.
    public let maxAttempts: Int
    /// When it was due.
    public let dueAt: Date
    /// Which occurrence of a schedule this job is for; nil for a job that no schedule made.
    public let occurrence: ScheduledOccurrence?
    /// When this attempt began: rules should decide by this and not read the clock again.
    public let now: Date
    /// When this attempt is cancelled.
    public let deadline: Date
    /// Says things about this job.
    public let log: Log
    /// The claim's token, for services that accept a fence.
    public let claimToken: Int64
    /// Enqueues further jobs, which remember this one as their parent.
    public var client: JobClient { JobClient(plainClient, parent: id) }

    let plainClient: JobClient
    let engine: Engine
    let keepDays: Int16?
    let startedAt: ContinuousClock.Instant

    /// The same for every attempt of this job, and of no other job: for services that drop what
    /// they have already done.
    public var idempotencyKey: String { "errand-\(engine.instance)-\(id)" }

    /// Connections to the database, for handlers that have none of their own.
    public var database: Pool { engine.database }

    /// Ends the job inside the handler's own transaction: its writes and the job's end happen
    /// together, exactly once, or not at all.
    ///
    /// To be called last in the transaction; the handler then returns normally.
    /// - Throws: ``JobError/claimLost(job:)`` when another worker has the job by now; let it
    ///   roll the transaction back.
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

    /// Does an effect outside the database, unless an earlier attempt is known to have done it.
    ///
    /// That it was done is recorded in PostgreSQL under the claim's fence; its result comes back
    /// from there the next time. Between the effect and the record a crash can still repeat it:
    /// give the service ``idempotencyKey`` too where it takes one.
    /// - Throws: what `effect` throws; ``JobError/claimLost(job:)`` when the job was given to
    ///   another worker meanwhile.
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

    /// Does an effect outside the database that has no result, unless it is known to be done.
    public func once(_ key: String, _ effect: () async throws -> Void) async throws {
        _ = try await once(key) { () -> Bool in
            try await effect()
            return true
        }
    }
}

extension JobBatch {
    /// Ends jobs of the batch as completed inside the handler's own transaction.
    ///
    /// - Parameter done: those whose work is done; the others end by their outcomes.
    /// - Throws: ``JobError/claimLost(job:)`` when one of them was given to another worker; let it
    ///   roll the transaction back.
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

/// What the parts of one running engine share.
final class Engine: Sendable {
    /// For handlers.
    let database: Pool
    /// For what the engine itself asks while a handler may hold sessions of the other.
    let own: Pool
    let instance: String
    private let written = Mutex<Set<Int64>>([])

    init(database: Pool, own: Pool, instance: String) {
        self.database = database
        self.own = own
        self.instance = instance
    }

    func query(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        try await own.withSession { try await $0.query(sql, parameters) }
    }

    /// Remembers that a handler ended its job in its own transaction.
    func markWritten(_ id: Int64) { written.withLock { _ = $0.insert(id) } }

    /// Whether it did; forgets it.
    func takeWritten(_ id: Int64) -> Bool {
        written.withLock { !$0.isEmpty && $0.remove(id) != nil }
    }
}

extension ContinuousClock.Instant {
    /// How long ago this was, in milliseconds.
    var millisecondsSince: Float {
        let (seconds, attoseconds) = (ContinuousClock.now - self).components
        return Float(Double(seconds) * 1000 + Double(attoseconds) * 1e-15)
    }
}
