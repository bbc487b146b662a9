import Errand
package import ErrandPostgres

/// The state of the database, as the server reports it.
package struct DatabaseStatus: Sendable {
    /// One table, or all partitions of one.
    package struct Table: Sendable {
        package var name: String
        package var parts: Int
        /// An estimate.
        package var rows: Int
        /// In bytes, including indexes.
        package var size: Int
        package var vacuumed: Instant?
        package var analyzed: Instant?
    }

    package struct Transaction: Sendable {
        package var pid: Int
        package var application: String?
        package var role: String?
        package var state: String?
        package var began: Instant
        /// Whether it holds back vacuum.
        package var holdsBack: Bool
        /// Such as `Lock: transactionid`; nil while it works.
        package var waitsFor: String?
    }

    package struct LockWait: Sendable {
        package var pid: Int
        package var application: String?
        package var since: Instant
        package var mode: String
        package var object: String
        package var blockers: [Int32]
    }

    package struct Standby: Sendable {
        package var pid: Int
        package var application: String?
        package var state: String?
        package var lag: Duration?
        /// In bytes of WAL.
        package var behind: Int?
    }

    package struct Slot: Sendable {
        package var name: String
        package var type: String
        package var isActive: Bool
        package var status: String?
        /// Bytes of WAL that the server retains for it.
        package var held: Int?
    }

    package var version: String
    package var started: Instant
    package var name: String
    package var size: Int
    package var isStandby: Bool
    package var connections: Int
    package var maxConnections: Int
    /// The number of sessions of other roles whose activity is not visible.
    package var hidden: Int
    package var synchronousCommit: String
    package var fsync: String
    package var autovacuum: String
    /// The number of days from today on that have a partition; nil if none has.
    package var daysAhead: Int?
    package var tables: [Table] = []
    package var transactions: [Transaction] = []
    package var waits: [LockWait] = []
    package var standbys: [Standby] = []
    package var slots: [Slot] = []

    init(_ row: Row) throws {
        version = try row.text("version")
        started = try row.timestamp("started")
        name = try row.text("database")
        size = Int(try row.int64("size"))
        isStandby = try row.bool("is_standby")
        connections = Int(try row.int64("connections"))
        maxConnections = Int(try row.int32("max_connections"))
        hidden = Int(try row.int64("hidden"))
        synchronousCommit = try row.text("synchronous_commit")
        fsync = try row.text("fsync")
        autovacuum = try row.text("autovacuum")
        daysAhead = try row.optionalInt32("days_ahead").map(Int.init)
    }
}

extension DatabaseStatus.Table {
    init(_ row: Row) throws {
        self.init(
            name: try row.text("name"), parts: Int(try row.int64("parts")),
            rows: Int(try row.int64("rows")), size: Int(try row.int64("size")),
            vacuumed: try row.optionalTimestamp("vacuumed"),
            analyzed: try row.optionalTimestamp("analyzed"))
    }
}

extension DatabaseStatus.Transaction {
    init(_ row: Row) throws {
        self.init(
            pid: Int(try row.int32("pid")), application: try row.optionalText("application_name"),
            role: try row.optionalText("role"), state: try row.optionalText("state"),
            began: try row.timestamp("began"), holdsBack: try row.bool("holds_back"),
            waitsFor: try row.optionalText("waits_for"))
    }
}

extension DatabaseStatus.LockWait {
    init(_ row: Row) throws {
        self.init(
            pid: Int(try row.int32("pid")), application: try row.optionalText("application_name"),
            since: try row.timestamp("since"), mode: try row.text("mode"),
            object: try row.text("object"), blockers: try row.int32Array("blockers"))
    }
}

extension DatabaseStatus.Standby {
    init(_ row: Row) throws {
        self.init(
            pid: Int(try row.int32("pid")), application: try row.optionalText("application_name"),
            state: try row.optionalText("state"),
            lag: try row.optionalSeconds("lag"),
            behind: try row.optionalInt64("behind").map(Int.init))
    }
}

extension DatabaseStatus.Slot {
    init(_ row: Row) throws {
        self.init(
            name: try row.text("name"), type: try row.text("slot_type"),
            isActive: try row.bool("active"), status: try row.optionalText("wal_status"),
            held: try row.optionalInt64("held").map(Int.init))
    }
}

extension Inspector {
    /// The state of the database.
    package func databaseStatus() async throws -> DatabaseStatus {
        let answers = try await ofSessions { source in
            [
                Statement(Statements.databaseServer(source)), Statement(Statements.databaseTables),
                Statement(Statements.oldestTransactions(source)),
                Statement(Statements.lockWaits(source)),
                Statement(Statements.standbyServers(source)),
                Statement(Statements.replicationSlots),
            ]
        }
        guard let first = answers[0].first else { throw PostgresError.decoding("no server row") }
        var status = try DatabaseStatus(first)
        status.tables = try answers[1].map(DatabaseStatus.Table.init)
        status.transactions = try answers[2].map(DatabaseStatus.Transaction.init)
        status.waits = try answers[3].map(DatabaseStatus.LockWait.init)
        status.standbys = try answers[4].map(DatabaseStatus.Standby.init)
        status.slots = try answers[5].map(DatabaseStatus.Slot.init)
        return status
    }

    /// Runs statements about sessions; a role that may not see those of others sees its own.
    func ofSessions(_ statements: (SessionSource) -> [Statement]) async throws -> [Rows] {
        do {
            return try await session.pipeline(statements(.all))
        } catch PostgresError.server(let error)
            where SessionSource.refusals.contains(error.sqlState)
        {
            return try await session.pipeline(statements(.visible))
        }
    }
}
