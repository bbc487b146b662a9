package import Errand
package import ErrandPostgres
package import ErrandRedis

/// What may be amiss with the engine beyond its numbers; nil where something could not be read.
package struct EngineHealth: Sendable {
    /// Due jobs that no live worker of their queue can run.
    package struct UnknownLane: Sendable {
        package var lane: Lane
        /// Up to ``countLimit`` of each priority.
        package var jobs: Int
        package var oldest: Instant?
        /// Versions of its arguments that are known there.
        package var versions: [Int]
    }

    /// A worker whose lease is over.
    package struct SilentWorker: Sendable {
        package var id: Int64
        package var host: String
        package var pid: Int
        package var lease: Duration
        package var silence: Duration
        /// Of the jobs that it reported last, those that it still holds.
        package var held: [Int64]
    }

    /// A claim in the name of a worker that is in the list no more.
    package struct OrphanedJob: Sendable {
        package var id: Int64
        package var kind: String
        package var queue: String
        package var worker: Int64
        package var since: Instant?
    }

    /// A job whose workers died while they held it.
    package struct KillingJob: Sendable {
        package var id: Int64
        package var kind: String
        package var queue: String
        package var kills: Int
        /// It is a dead letter, and kills no more.
        package var isDead: Bool
    }

    /// A bulk operation that nobody runs, though it is not done.
    package struct Interrupted: Sendable {
        package var id: Int64
        package var action: String
        package var operatorName: String
        package var done: Int
        package var total: Int
    }

    package var unknownLanes: [UnknownLane]?
    package var silentWorkers: [SilentWorker]?
    package var orphanedJobs: [OrphanedJob]?
    package var killingJobs: [KillingJob]?
    /// The most frequent one of the last hour.
    package var deadGroup: DeadGroup?
    package var interrupted: [Interrupted]?
    /// Live workers by their version.
    package var versions: [(version: String, workers: Int)]?
    package var missingPartitions: [MissingPartition]?
    /// Finished jobs of those days, which lie where all others do; counted up to 10,000.
    package var strayFinishedJobs: Int?
    /// Queues with a limit.
    package var limits: [String: QueueLimit]?
    package var tables: [DatabaseBloat.Table]?
    /// What else than a transaction keeps dead rows from being cleaned.
    package var pins: [DatabaseBloat.Pin]?
    /// What could not be read.
    package var unread: [String] = []

    package static let countLimit = 1_000
    /// Jobs at the front of a lane that are looked at.
    private static let front: Int32 = 100
    /// What the rescuer writes into the errors of a job that outlived its worker.
    private static let killed = Parameter.text("% \(Rescuer.heldWhenDead);%")
    /// Partitions are always to be there for so many days; a leader prepares more.
    private static let daysAhead = 3

    init() {}

    /// One part of it, read apart from the others: what fails leaves the rest.
    private struct Part {
        var name: String
        var statement: Statement
        var read: (inout EngineHealth, Rows) throws -> Void
    }

    private static var parts: [Part] {
        [
            Part(
                name: "kinds",
                statement: Statement(Statements.unknownLanes, [.int32(Int32(countLimit))])
            ) { $0.unknownLanes = try $1.map(UnknownLane.init) },
            Part(name: "workers", statement: Statement(Statements.silentHolders)) {
                $0.silentWorkers = try $1.map(SilentWorker.init)
            },
            Part(
                name: "claims",
                statement: Statement(Statements.stuckJobs, [.int32(front), killed])
            ) { health, rows in
                for row in rows where try row.optionalBool("is_silent") == true {
                    health.hold(try row.int64("id"), by: try row.int64("claimed_by"))
                }
                health.orphanedJobs = try rows.compactMap(OrphanedJob.init)
                health.killingJobs = try rows.compactMap { try KillingJob($0, isDead: false) }
            },
            Part(name: "dead letters", statement: Statement(Statements.deadGroupLastHour)) {
                $0.deadGroup = try $1.first.map { try DeadGroup($0, reveals: false) }
            },
            Part(
                name: "dead letters", statement: Statement(Statements.deadWithWorkers, [killed])
            ) {
                $0.killingJobs =
                    ($0.killingJobs ?? [])
                    + (try $1.compactMap { try KillingJob($0, isDead: true) })
            },
            Part(
                name: "operations",
                statement: Statement(Statements.interruptedOperations, [.null, .int64(1_000)])
            ) { $0.interrupted = try $1.map(Interrupted.init) },
            Part(name: "workers", statement: Statement(Statements.workerVersions)) {
                $0.versions = try $1.map {
                    (try $0.text("version"), Int(try $0.int64("workers")))
                }
            },
            Part(
                name: "partitions",
                statement: Statement(Statements.missingPartitions, [.int32(Int32(daysAhead))])
            ) {
                $0.missingPartitions = try $1.map {
                    MissingPartition(name: try $0.text("name"), day: try $0.text("day"))
                }
            },
            Part(name: "limits", statement: Statement(Statements.limits, [.null])) {
                let limits = try $1.map(QueueLimit.init)
                $0.limits = Dictionary(limits.map { ($0.queue, $0) }) { $1 }
            },
            Part(name: "bloat", statement: Statement(Statements.tableBloat)) {
                $0.tables = try $1.map(DatabaseBloat.Table.init)
            },
            Part(name: "bloat", statement: Statement(Statements.pins, [.double(0)])) {
                $0.pins = try $1.compactMap(DatabaseBloat.Pin.init)
                    .filter { $0.kind != .transaction }
            },
        ]
    }

    /// Notes a job of a silent worker, which may have died before it could report it.
    private mutating func hold(_ job: Int64, by worker: Int64) {
        guard let place = silentWorkers?.firstIndex(where: { $0.id == worker }),
            silentWorkers?[place].held.contains(job) == false
        else { return }
        silentWorkers?[place].held.append(job)
    }

    static func read(_ session: Session) async throws -> EngineHealth {
        var health = EngineHealth()
        for part in parts {
            do {
                try part.read(&health, try await session.query(part.statement))
            } catch let error as PostgresError {
                guard error.isOfServer else { throw error }
                if !health.unread.contains(part.name) { health.unread.append(part.name) }
            }
        }
        if let days = health.missingPartitions?.map(\.day), !days.isEmpty {
            health.strayFinishedJobs = try? await Int(
                session.query(Statements.strayFinishedJobs, [.textArray(days)]).int64(0, 0))
        }
        return health
    }
}

extension EngineHealth.UnknownLane {
    init(_ row: Row) throws {
        lane = Lane(
            queue: try row.text("queue"), kind: try row.text("kind"),
            version: Int(try row.int16("args_version")))
        jobs = Int(try row.int64("jobs"))
        oldest = try row.optionalTimestamp("oldest")
        versions = try row.int64Array("versions").map(Int.init)
    }
}

extension EngineHealth.SilentWorker {
    init(_ row: Row) throws {
        id = try row.int64("id")
        host = try row.text("host")
        pid = Int(try row.int32("pid"))
        lease = .seconds(try row.double("lease"))
        silence = .seconds(try row.double("silent"))
        held = try row.int64Array("held")
    }
}

extension EngineHealth.OrphanedJob {
    init?(_ row: Row) throws {
        guard try row.bool("is_orphan") else { return nil }
        id = try row.int64("id")
        kind = try row.text("kind")
        queue = try row.text("queue")
        worker = try row.int64("claimed_by")
        since = try row.optionalTimestamp("claimed_at")
    }
}

extension EngineHealth.KillingJob {
    init?(_ row: Row, isDead: Bool) throws {
        kills = Int(try row.int64("kills"))
        guard kills > 0 else { return nil }
        id = try row.int64("id")
        kind = try row.text("kind")
        queue = try row.text("queue")
        self.isDead = isDead
    }
}

extension EngineHealth.Interrupted {
    init(_ row: Row) throws {
        id = try row.int64("id")
        action = try row.text("action")
        operatorName = try row.text("operator")
        done = Int(try row.int64("done"))
        total = Int(try row.int64("total"))
    }
}

extension Inspector {
    /// Whether Redis holds nothing of what was staged before, and the feeder does not mend it.
    ///
    /// Takes more than a second when it seems so: a feeder notices within one.
    package func hasLostStaging(_ address: RedisAddress) async throws -> Bool {
        let instance = try await session.query(Statements.instance).text(0, 0)
        let look = WindowLook(address, instance: instance)
        guard try await !look.isFed() else { return false }
        try await Task.sleep(for: .milliseconds(1_500))
        return try await !look.isFed()
    }

    /// What may be amiss with the engine; every look at it is short, however much waits.
    ///
    /// - Throws: `PostgresError` when the database cannot be reached; what only cannot be read
    ///   is missing.
    package func health() async throws -> EngineHealth { try await EngineHealth.read(session) }
}
