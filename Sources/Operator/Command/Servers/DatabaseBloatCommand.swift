import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand db bloat`.
enum DatabaseBloatCommand {
    static let all = [bloat]

    private static let older = Option<Duration>.duration(
        "older", default: .seconds(60), range: .zero ... .seconds(36_500 * 86_400),
        help: "Only what has held back vacuum for this long")

    private static let bloat = Command(
        "db", "bloat", effect: .read,
        summary: "Show dead rows, bloated indexes, and what holds back vacuum",
        discussion: """
            Row counts are the server's estimates; the expected sizes of tables and indexes are \
            estimates too. A table that is larger has room for new rows, which needs no remedy. \
            Vacuum is held back by old transactions, prepared transactions, replication slots and \
            standbys. For each of them, and for bloated tables and indexes, the command prints SQL \
            to paste into psql. It makes no changes.
            """,
        examples: [.init("errand db bloat", "find out why the table of jobs grows")],
        options: [older]
    ) { invocation in
        let bloat = try await Inspector(session: try invocation.session())
            .databaseBloat(pinnedFor: invocation[older])
        var record = Record([("hidden_sessions", .int(bloat.hidden))])
        record.append("pins", .records(bloat.pins.map(Self.record)))
        record.append("tables", .records(bloat.tables.map { Self.record($0, bloat) }))
        record.append("indexes", .records(bloat.indexes.map(Self.record)))
        if !invocation.output.isForPeople {
            try invocation.output.show(record)
        } else {
            try show(bloat, invocation.output)
        }
        DatabaseCommands.noteHidden(bloat.hidden, invocation.output)
        return .done
    }

    private static func show(_ bloat: DatabaseBloat, _ output: Output) throws {
        try output.list(
            bloat.tables.filter { $0.size > 0 }.map { record($0, bloat) },
            columns: [
                Column("table", isFlexible: true), Column("live_rows", title: "LIVE"),
                Column("dead_rows", title: "DEAD"), Column("size"),
                Column("expected", title: "SHOULD BE"),
                Column("index_size", title: "INDEXES"), Column("vacuumed_at", title: "VACUUMED"),
            ], empty: "all tables are empty")
        try output.line()
        try output.list(
            bloat.indexes.map(record),
            columns: [
                Column("index", isFlexible: true), Column("size"),
                Column("expected", title: "SHOULD BE"),
            ])
        guard !bloat.pins.isEmpty else {
            try output.line("\nnothing holds back vacuum")
            return try remedies(bloat, output)
        }
        try output.line("\nholding back vacuum, the oldest first:")
        for pin in bloat.pins {
            let since = pin.since.map {
                " for \(HumanFormat.duration(Instant.now().durationSince($0)))"
            }
            try output.line(
                DisplayWidth.harmless(
                    "\(pin.kind.rawValue) \(pin.name) (\(pin.who ?? "unknown"))\(since ?? "")"
                        + (pin.detail.map { ", \($0)" } ?? "")))
            try output.line("  " + DisplayWidth.harmless(remedy(pin)))
        }
        try remedies(bloat, output)
    }

    private static func remedies(_ bloat: DatabaseBloat, _ output: Output) throws {
        let lines =
            bloat.tables.compactMap { remedy($0, bloat) } + bloat.indexes.compactMap { remedy($0) }
        guard !lines.isEmpty else { return }
        try output.line(
            bloat.pins.isEmpty
                ? "\nto remove bloat:" : "\nto remove bloat, once nothing holds back vacuum:")
        for line in lines { try output.line("  " + DisplayWidth.harmless(line)) }
    }

    // MARK: Remedies

    private static func remedy(_ pin: DatabaseBloat.Pin) -> String {
        switch pin.kind {
        case .transaction: "SELECT pg_terminate_backend(\(pin.name));"
        case .prepared: "ROLLBACK PREPARED \(quoted(pin.name));  -- or COMMIT PREPARED"
        case .slot:
            "SELECT pg_drop_replication_slot(\(quoted(pin.name)));  -- if it is no longer needed"
        case .standby:
            "-- on that standby, end its long query or set hot_standby_feedback = off"
        }
    }

    private static func remedy(_ table: DatabaseBloat.Table, _ bloat: DatabaseBloat) -> String? {
        table.needsVacuum(isHeldBack: !bloat.pins.isEmpty)
            ? "VACUUM (ANALYZE) errand.\(table.name);" : nil
    }

    private static func remedy(_ index: DatabaseBloat.Index) -> String? {
        index.isBloated ? "REINDEX INDEX CONCURRENTLY errand.\(index.name);" : nil
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }

    // MARK: Records

    private static func record(_ pin: DatabaseBloat.Pin) -> Record {
        Record([
            ("what", .text(pin.kind.rawValue)), ("name", .text(pin.name)),
            ("who", .optional(pin.who) { .text($0) }), ("age_transactions", .int(pin.age)),
            ("since", .optional(pin.since) { $0.cell }),
            ("detail", .optional(pin.detail) { .text($0) }), ("remedy", .text(remedy(pin))),
        ])
    }

    private static func record(_ table: DatabaseBloat.Table, _ bloat: DatabaseBloat) -> Record {
        let now = Instant.now().date
        return Record([
            ("table", .text(table.name)), ("live_rows", .int(table.live)),
            ("dead_rows", .int(table.dead)),
            ("size", .bytes(table.size)), ("expected", .bytes(table.expected)),
            ("index_size", .bytes(table.indexSize)),
            ("vacuumed_at", .optional(table.vacuumed) { .age($0.date, now: now) }),
            ("remedy", .optional(remedy(table, bloat)) { .text($0) }),
        ])
    }

    private static func record(_ index: DatabaseBloat.Index) -> Record {
        Record([
            ("index", .text(index.name)), ("table", .text(index.table)),
            ("size", .bytes(index.size)), ("expected", .bytes(index.expected)),
            ("remedy", .optional(remedy(index)) { .text($0) }),
        ])
    }
}
