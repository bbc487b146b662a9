package import Errand
package import ErrandPostgres

/// The state of the engine at one moment; nil where something could not be read.
package struct EngineStatus: Sendable {
    /// The numbers of workers by state.
    package struct Workers: Sendable {
        package var alive: Int
        package var stopping: Int
        /// Workers whose lease has expired; their ids begin with the oldest heartbeat.
        package var unresponsive: Int
        package var unresponsiveIDs: [Int64]
    }

    /// An open transaction of a client.
    package struct Transaction: Sendable {
        package var pid: Int
        package var application: String
        package var age: Duration
    }

    package var queues: [QueueRecord]?
    package var workers: Workers?
    /// The leaders; roles that no process holds are left out.
    package var leaders: [LeaderRecord]?
    package var schedules: ScheduleHealth?
    /// Dead letters of the last hour, counted up to ``deadLimit``.
    package var deadLastHour: Int?
    package var oldestTransaction: Transaction?
    /// The migrations that the database records.
    package var migrations: MigrationRecords?
    /// The first error that prevented reading a part.
    package var failure: PostgresError?
    /// The parts that could not be read.
    package var unread: [String] = []

    package static let deadLimit = 10_000

    init() {}

    /// A part of the status, read separately if reading all parts together fails.
    private struct Part {
        var name: String
        var statements: [Statement]
        var read: (inout EngineStatus, [Rows]) throws -> Void
    }

    private static func parts(isExact: Bool, _ source: SessionSource = .all) -> [Part] {
        [
            Part(
                name: "migrations", statements: [MigrationRecords.statement]
            ) { status, rows in
                status.migrations = try MigrationRecords(rows[0])
            },
            Part(
                name: "transactions", statements: [Statement(Statements.oldestTransaction(source))]
            ) { status, rows in
                status.oldestTransaction = try rows[0].first.map(Transaction.init)
            },
            Part(
                name: "queues", statements: QueueReading.statements(isExact: isExact)
            ) { status, rows in
                status.queues = try QueueReading.queues(rows)
            },
            Part(name: "workers", statements: [Statement(Statements.workerCounts)]) {
                status, rows in
                status.workers = try Workers(rows[0][0])
            },
            Part(name: "leaders", statements: [LeaderRecord.statement]) { status, rows in
                status.leaders = try LeaderRecord.records(rows[0]).filter { $0.backend != nil }
            },
            Part(
                name: "dead letters", statements: [Statement(Statements.deadLastHour)]
            ) { status, rows in
                status.deadLastHour = Int(try rows[0].int64(0, 0))
            },
            Part(name: "schedules", statements: [ScheduleHealth.statement]) { status, rows in
                status.schedules = try ScheduleHealth(rows[0][0])
            },
        ]
    }

    /// Reads the status in one round trip; with an outdated schema, reads each part separately.
    static func read(_ session: Session, isExact: Bool) async throws -> EngineStatus {
        let parts = parts(isExact: isExact)
        var status = EngineStatus()
        do {
            var answers = try await session.pipeline(parts.flatMap(\.statements))[...]
            for part in parts {
                try part.read(&status, Array(answers.prefix(part.statements.count)))
                answers = answers.dropFirst(part.statements.count)
            }
            return status
        } catch PostgresError.server(let error) where !error.tookTooLong {
            return try await readEach(Self.parts(isExact: isExact, .visible), session)
        }
    }

    private static func readEach(_ parts: [Part], _ session: Session) async throws -> EngineStatus {
        var status = EngineStatus()
        for part in parts {
            do {
                try part.read(&status, try await session.pipeline(part.statements))
            } catch let error as PostgresError {
                guard error.isOfServer else { throw error }
                status.failure = status.failure ?? error
                status.unread.append(part.name)
            }
        }
        // The database does not exist, or has no schema of Errand: there is nothing to show.
        if status.queues == nil, status.migrations == nil, let failure = status.failure {
            throw failure
        }
        return status
    }
}

extension ServerError {
    /// Whether a timeout cancelled the statement: the next one would take as long.
    fileprivate var tookTooLong: Bool { ["57014", "55P03"].contains(sqlState) }
}

extension PostgresError {
    /// Whether the server reported the error and the session remains usable.
    var isOfServer: Bool {
        if case .server = self { true } else { false }
    }
}

extension EngineStatus.Workers {
    init(_ row: Row) throws {
        alive = Int(try row.int64("alive"))
        stopping = Int(try row.int64("stopping"))
        unresponsive = Int(try row.int64("unresponsive"))
        unresponsiveIDs = try row.int64Array("unresponsive_ids")
    }
}

extension EngineStatus.Transaction {
    init(_ row: Row) throws {
        pid = Int(try row.int32("pid"))
        application = try row.text("application")
        age = try row.seconds("seconds")
    }
}

extension Inspector {
    /// The state of the engine, for `errand status`.
    ///
    /// - Throws: `PostgresError` if the database is not reachable; parts that cannot be read are
    ///   nil.
    package func status(isExact: Bool = false) async throws -> EngineStatus {
        try await EngineStatus.read(session, isExact: isExact)
    }
}
