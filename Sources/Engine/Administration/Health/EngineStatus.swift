package import Errand
package import ErrandPostgres

/// The whole engine at one moment; nil where something could not be read.
package struct EngineStatus: Sendable {
    /// How many workers there are.
    package struct Workers: Sendable {
        package var alive: Int
        package var stopping: Int
        /// Those that have not shown for their lease; the longest silent first.
        package var silent: Int
        package var silentIDs: [Int64]
    }

    /// An open transaction of some client.
    package struct Transaction: Sendable {
        package var pid: Int
        package var application: String
        package var age: Duration
    }

    package var queues: [QueueRecord]?
    package var workers: Workers?
    /// Those leads that somebody holds.
    package var leaders: [LeadRecord]?
    package var schedules: ScheduleHealth?
    /// Dead letters of the last hour, counted up to ``deadLimit``.
    package var deadLastHour: Int?
    package var oldestTransaction: Transaction?
    /// The numbers of the migrations that were applied here.
    package var migrations: MigrationRecords?
    /// Why something is missing.
    package var failure: PostgresError?
    /// What is missing.
    package var unread: [String] = []

    package static let deadLimit = 10_000

    init() {}

    /// One part of it, read apart from the others where they cannot be read together.
    private struct Part {
        var name: String
        var statements: [Statement]
        var read: (inout EngineStatus, [Rows]) throws -> Void
    }

    private static func parts(isExact: Bool) -> [Part] {
        [
            Part(
                name: "migrations", statements: [MigrationRecords.statement]
            ) { status, rows in
                status.migrations = try MigrationRecords(rows[0])
            },
            Part(
                name: "transactions", statements: [Statement(Statements.oldestTransaction)]
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
            Part(name: "leads", statements: [LeadRecord.statement]) { status, rows in
                status.leaders = try LeadRecord.records(rows[0]).filter { $0.backend != nil }
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

    /// Reads all of it in one round trip, or, where the schema is behind, what there is.
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
            return try await readEach(parts, session)
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
        // No database of that name, or one without Errand: there is nothing to show.
        if status.queues == nil, status.migrations == nil, let failure = status.failure {
            throw failure
        }
        return status
    }
}

extension ServerError {
    /// Whether a time limit ended the statement: the next would take as long.
    fileprivate var tookTooLong: Bool { ["57014", "55P03"].contains(sqlState) }
}

extension PostgresError {
    /// Whether the server said so, and can be asked further.
    var isOfServer: Bool {
        if case .server = self { true } else { false }
    }
}

extension EngineStatus.Workers {
    init(_ row: Row) throws {
        alive = Int(try row.int64("alive"))
        stopping = Int(try row.int64("stopping"))
        silent = Int(try row.int64("silent"))
        silentIDs = try row.int64Array("silent_ids")
    }
}

extension EngineStatus.Transaction {
    init(_ row: Row) throws {
        pid = Int(try row.int32("pid"))
        application = try row.text("application")
        age = .seconds(try row.double("seconds"))
    }
}

extension Inspector {
    /// What `errand status` shows.
    ///
    /// - Throws: `PostgresError` when the database cannot be reached; what only cannot be read
    ///   is missing.
    package func status(isExact: Bool = false) async throws -> EngineStatus {
        try await EngineStatus.read(session, isExact: isExact)
    }
}
