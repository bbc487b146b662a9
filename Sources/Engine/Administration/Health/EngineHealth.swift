package import Errand
package import ErrandPostgres
package import ErrandRedis

/// Possible problems of the engine beyond its status; nil where something could not be read.
package struct EngineHealth: Sendable {
    /// A lane with due jobs that no live worker of its queue can run.
    package struct UnknownLane: Sendable {
        package var lane: Lane
        /// Up to ``countLimit`` of each priority.
        package var jobs: Int
        package var oldest: Instant?
        /// The versions of the kind's arguments that workers of the queue know.
        package var versions: [Int]
    }

    /// A worker whose lease has expired.
    package struct UnresponsiveWorker: Sendable {
        package var id: Int64
        package var host: String
        package var pid: Int
        package var lease: Duration
        package var silence: Duration
        /// The jobs of its last report that it still holds.
        package var held: [Int64]
    }

    /// A job claimed by a worker that is no longer registered.
    package struct OrphanedJob: Sendable {
        package var id: Int64
        package var kind: String
        package var queue: String
        package var worker: Int64
        package var since: Instant?
    }

    /// A job that was running when one or more of its workers died.
    package struct KillingJob: Sendable {
        package var id: Int64
        package var kind: String
        package var queue: String
        package var kills: Int
        /// Whether it is a dead letter by now.
        package var isDead: Bool
    }

    /// An unfinished bulk operation that no process runs.
    package struct Interrupted: Sendable {
        package var id: Int64
        package var action: String
        package var operatorName: String
        package var done: Int
        package var total: Int
    }

    package var unknownLanes: [UnknownLane]?
    package var unresponsiveWorkers: [UnresponsiveWorker]?
    package var orphanedJobs: [OrphanedJob]?
    package var killingJobs: [KillingJob]?
    /// The most frequent group of dead letters of the last hour.
    package var deadGroup: DeadGroup?
    package var interrupted: [Interrupted]?
    /// Who holds the lock of migrations, if anybody does.
    package var migrationLock: Migrator.LockHolder?
    /// How full the server's queue of notifications is, from 0 to 1.
    package var notificationQueueUsage: Double?
    /// Live workers by their version.
    package var versions: [(version: String, workers: Int)]?
    /// A live worker whose clock differs from the database's by ``clockTolerance`` or more.
    package struct WrongClock: Sendable {
        package var worker: Int64
        package var host: String
        /// How far it is ahead.
        package var ahead: Duration
    }

    package var wrongClocks: [WrongClock]?
    /// The difference from which jobs start early or late and leases seem to have expired.
    package static let clockTolerance = Duration.seconds(5)
    package var missingPartitions: [MissingPartition]?
    /// Finished jobs of those days in the default partition; counted up to 10,000.
    package var strayFinishedJobs: Int?
    /// Queues with a limit.
    package var limits: [String: QueueLimit]?
    package var tables: [DatabaseBloat.Table]?
    /// What holds back vacuum, other than transactions.
    package var pins: [DatabaseBloat.Pin]?
    /// The parts that could not be read.
    package var unread: [String] = []

    package static let countLimit = 1_000
    /// The number of jobs to check at the front of a lane.
    private static let front: Int32 = 100
    /// The pattern of the error that the rescuer writes for a job whose worker died.
    private static let killed = Parameter.text("% \(Rescuer.heldWhenDead);%")
    /// The number of days that need partitions; the feeder prepares more.
    private static let daysAhead = 3

    init() {}

    /// A part that is read separately: if it fails, the others are still read.
    private struct Part {
        var name: String
        var statement: Statement
        var read: (inout EngineHealth, Rows) throws -> Void
    }

    private static func parts(_ source: SessionSource) -> [Part] {
        [
            Part(
                name: "kinds",
                statement: Statement(Statements.unknownLanes, [.int32(Int32(countLimit))])
            ) { $0.unknownLanes = try $1.map(UnknownLane.init) },
            Part(name: "workers", statement: Statement(Statements.unresponsiveHolders)) {
                $0.unresponsiveWorkers = try $1.map(UnresponsiveWorker.init)
            },
            Part(
                name: "claims",
                statement: Statement(Statements.stuckJobs, [.int32(front), killed])
            ) { health, rows in
                for row in rows where try row.optionalBool("is_unresponsive") == true {
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
            Part(name: "migrations", statement: Migrator.lockHolder) {
                $0.migrationLock = try $1.first.map(Migrator.LockHolder.init)
            },
            Part(name: "notifications", statement: Statement(Statements.notificationQueue)) {
                $0.notificationQueueUsage = try $1.first?.double("usage")
            },
            Part(name: "workers", statement: Statement(Statements.workerVersions)) {
                $0.versions = try $1.map {
                    (try $0.text("version"), Int(try $0.int64("workers")))
                }
            },
            Part(
                name: "clocks",
                statement: Statement(
                    Statements.wrongClocks, [.double(Self.clockTolerance / .seconds(1))])
            ) { $0.wrongClocks = try $1.map(WrongClock.init) },
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
            Part(name: "bloat", statement: Statement(Statements.pins(source), [.double(0)])) {
                $0.pins = try $1.compactMap(DatabaseBloat.Pin.init)
                    .filter { $0.kind != .transaction }
            },
        ]
    }

    /// Adds a job to an unresponsive worker, which may have died before it reported the job.
    private mutating func hold(_ job: Int64, by worker: Int64) {
        guard let place = unresponsiveWorkers?.firstIndex(where: { $0.id == worker }),
            unresponsiveWorkers?[place].held.contains(job) == false
        else { return }
        unresponsiveWorkers?[place].held.append(job)
    }

    static func read(_ session: Session) async throws -> EngineHealth {
        var health = EngineHealth()
        for (part, visible) in zip(parts(.all), parts(.visible)) {
            do {
                do {
                    try part.read(&health, try await session.query(part.statement))
                } catch PostgresError.server(let error)
                    where SessionSource.refusals.contains(error.sqlState)
                    && visible.statement.sql != part.statement.sql
                {
                    try visible.read(&health, try await session.query(visible.statement))
                }
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

extension EngineHealth.UnresponsiveWorker {
    init(_ row: Row) throws {
        id = try row.int64("id")
        host = try row.text("host")
        pid = Int(try row.int32("pid"))
        lease = try row.seconds("lease")
        silence = try row.seconds("silence")
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
    /// Whether Redis has lost the staged jobs and the feeder does not stage them again.
    ///
    /// Waits more than a second before it returns true: a feeder notices within one.
    package func hasLostStaging(_ address: RedisAddress) async throws -> Bool {
        let instance = try await session.query(Statements.instance).text(0, 0)
        let probe = WindowProbe(address, instance: instance)
        guard try await !probe.hasStaging() else { return false }
        try await Task.sleep(for: .milliseconds(1_500))
        return try await !probe.hasStaging()
    }

    /// Possible problems of the engine; every query is short, however large the backlog.
    ///
    /// - Throws: `PostgresError` if the database is not reachable; parts that cannot be read are
    ///   nil.
    package func health() async throws -> EngineHealth { try await EngineHealth.read(session) }
}

extension EngineHealth.WrongClock {
    init(_ row: Row) throws {
        worker = try row.int64("id")
        host = try row.text("host")
        ahead = try row.seconds("ahead")
    }
}
