import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand db status`.
enum DatabaseCommands {
    static let all =
        [status] + DatabaseBloatCommand.all + DatabasePrepareCommand.all
        + DatabaseRetentionCommand.all

    private static let status = Command(
        "db", "status", effect: .read,
        summary: "Show the state of the database",
        discussion: """
            Shows its size and tables (rows are estimates), the oldest transactions and whether \
            they hold back vacuum, lock waits, connections, migrations, the partitions prepared \
            ahead, replication, and important settings. Reads only the server's catalogs.
            """,
        examples: [.init("errand db status", "check the state of PostgreSQL")]
    ) { invocation in
        let session = try invocation.session()
        let status = try await Inspector(session: session).databaseStatus()
        let migrations = try await migrations(session, invocation.modules)
        var record = Record([
            ("server_version", .text(status.version)),
            ("started_at", status.started.cell),
            ("role", .text(status.isStandby ? "standby" : "primary")),
            ("database", .text(status.name)), ("size", .bytes(status.size)),
            ("connections", .int(status.connections)),
            ("max_connections", .int(status.maxConnections)),
            ("hidden_sessions", .int(status.hidden)),
            ("applied_migrations", .optional(migrations?.applied) { .int($0) }),
            ("pending_migrations", .optional(migrations?.pending) { .int($0) }),
            ("partition_days_ahead", .optional(status.daysAhead) { .int($0) }),
            ("synchronous_commit", .text(status.synchronousCommit)),
            ("fsync", .text(status.fsync)), ("autovacuum", .text(status.autovacuum)),
        ])
        record.append("tables", .records(status.tables.map(Self.record)))
        record.append("oldest_transactions", .records(status.transactions.map(Self.record)))
        record.append("lock_waits", .records(status.waits.map(Self.record)))
        record.append("standbys", .records(status.standbys.map(Self.record)))
        record.append("replication_slots", .records(status.slots.map(Self.record)))
        try invocation.output.show(record)
        warn(status, migrations, invocation.output)
        return .done
    }

    private static func migrations(
        _ session: Session, _ modules: Modules
    ) async throws -> (applied: Int, pending: Int)? {
        do {
            let files = try await Migrator(session: session, modules: modules.lines).status()
                .filter(\.isInstalled).flatMap(\.files)
            return (files.count { $0.state == .applied }, files.count { $0.state == .pending })
        } catch PostgresError.server(let error) where error.sqlState == "42501" {
            return nil
        }
    }

    /// Prints a note or a warning for each problem.
    private static func warn(
        _ status: DatabaseStatus, _ migrations: (applied: Int, pending: Int)?, _ output: Output
    ) {
        noteHidden(status.hidden, output)
        if migrations == nil {
            output.note("this role may not read errand.migrations: GRANT SELECT on it")
        }
        if let pending = migrations?.pending, pending > 0 {
            output.warn("\(pending) migrations are pending: 'errand migrate' applies them")
        }
        if let days = status.daysAhead, days < 3 {
            output.warn(
                "partitions of finished jobs are prepared for only \(days) days: the feeder "
                    + "creates them, and so does 'errand db prepare'")
        }
        for (name, value, good) in [
            ("fsync", status.fsync, ["on"]), ("autovacuum", status.autovacuum, ["on"]),
            (
                "synchronous_commit", status.synchronousCommit,
                ["on", "local", "remote_write", "remote_apply"]
            ),
        ] where !good.contains(value) {
            output.warn("\(name) is \(value): 'ALTER SYSTEM SET \(name) = on' fixes it")
        }
    }

    static func noteHidden(_ count: Int, _ output: Output) {
        guard count > 0 else { return }
        output.note(
            "the activity of \(count) sessions of other roles is hidden: GRANT pg_read_all_stats "
                + "to the owner of the schema errand, and errand_inspector to this role")
    }

    private static func record(_ table: DatabaseStatus.Table) -> Record {
        let now = Instant.now().date
        return Record([
            ("name", .text(table.name)), ("partitions", .int(table.parts)),
            ("rows", .int(table.rows)), ("size", .bytes(table.size)),
            ("vacuumed_at", .optional(table.vacuumed) { .age($0.date, now: now) }),
            ("analyzed_at", .optional(table.analyzed) { .age($0.date, now: now) }),
        ])
    }

    private static func record(_ transaction: DatabaseStatus.Transaction) -> Record {
        Record([
            ("pid", .id(transaction.pid)),
            ("application", .optional(transaction.application) { .text($0) }),
            ("role", .optional(transaction.role) { .text($0) }),
            ("state", .optional(transaction.state) { .text($0) }),
            ("began_at", .age(transaction.began.date, now: Instant.now().date)),
            ("blocks_vacuum", .flag(transaction.holdsBack)),
            ("waits_for", .optional(transaction.waitsFor) { .text($0) }),
        ])
    }

    private static func record(_ wait: DatabaseStatus.LockWait) -> Record {
        Record([
            ("pid", .id(wait.pid)), ("application", .optional(wait.application) { .text($0) }),
            ("since", .age(wait.since.date, now: Instant.now().date)),
            ("mode", .text(wait.mode)), ("object", .text(wait.object)),
            ("blocked_by", .list(wait.blockers.map(String.init))),
        ])
    }

    private static func record(_ standby: DatabaseStatus.Standby) -> Record {
        Record([
            ("pid", .id(standby.pid)),
            ("application", .optional(standby.application) { .text($0) }),
            ("state", .optional(standby.state) { .text($0) }),
            ("lag", .optional(standby.lag) { .duration($0) }),
            ("behind", .optional(standby.behind) { .bytes($0) }),
        ])
    }

    private static func record(_ slot: DatabaseStatus.Slot) -> Record {
        Record([
            ("name", .text(slot.name)), ("type", .text(slot.type)),
            ("active", .flag(slot.isActive)), ("status", .optional(slot.status) { .text($0) }),
            ("wal_held", .optional(slot.held) { .bytes($0) }),
        ])
    }
}
