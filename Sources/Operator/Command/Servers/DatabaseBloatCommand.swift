import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand db bloat`.
enum DatabaseBloatCommand {
    static let all = [bloat]

    private static let older = Option<Duration>.duration(
        "older", default: .seconds(60), range: .zero ... .seconds(36_500 * 86_400),
        help: "Only what has held back the cleaning for so long")

    private static let bloat = Command(
        "db", "bloat", effect: .looks,
        summary: "Show dead rows, swollen indexes, and what keeps them there",
        discussion: """
            Rows are the server's estimates; what an index should need is an estimate too. What \
            holds back the cleaning (an old transaction, a prepared one, a replication slot, a \
            standby) comes with the SQL that ends it, and bloat with the SQL that mends it, to be \
            pasted into psql. It changes nothing.
            """,
        examples: [.init("errand db bloat", "why does the table of jobs grow")],
        options: [older]
    ) { invocation in
        let bloat = try await Inspector(session: try invocation.session())
            .databaseBloat(pinnedFor: invocation[older])
        var record = Record([("hidden_sessions", .int(bloat.hidden))])
        record.append("pins", .records(bloat.pins.map(Self.record)))
        record.append("tables", .records(bloat.tables.map(Self.record)))
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
            bloat.tables.filter { $0.size > 0 }.map(record),
            columns: [
                Column("table", isFlexible: true), Column("live_rows", title: "LIVE"),
                Column("dead_rows", title: "DEAD"), Column("size"),
                Column("index_size", title: "INDEXES"), Column("vacuumed_at", title: "VACUUMED"),
            ], empty: "no table holds anything yet")
        try output.line()
        try output.list(
            bloat.indexes.map(record),
            columns: [
                Column("index", isFlexible: true), Column("size"),
                Column("expected", title: "SHOULD BE"),
            ])
        guard !bloat.pins.isEmpty else {
            try output.line("\nnothing holds back the cleaning of dead rows")
            return try mends(bloat, output)
        }
        try output.line("\nheld back from being cleaned, the one that holds most first:")
        for pin in bloat.pins {
            let since = pin.since.map {
                " for \(HumanFormat.duration(Instant.now().durationSince($0)))"
            }
            try output.line(
                DisplayWidth.harmless(
                    "\(pin.kind.rawValue) \(pin.name) (\(pin.who ?? "unknown"))\(since ?? "")"
                        + (pin.detail.map { ", \($0)" } ?? "")))
            try output.line("  " + DisplayWidth.harmless(mend(pin)))
        }
        try mends(bloat, output)
    }

    private static func mends(_ bloat: DatabaseBloat, _ output: Output) throws {
        let lines =
            bloat.tables.compactMap { mend($0) } + bloat.indexes.compactMap { mend($0) }
        guard !lines.isEmpty else { return }
        try output.line(
            bloat.pins.isEmpty
                ? "\nto mend it:" : "\nto mend it, once nothing holds back the cleaning:")
        for line in lines { try output.line("  " + DisplayWidth.harmless(line)) }
    }

    // MARK: What mends it

    private static func mend(_ pin: DatabaseBloat.Pin) -> String {
        switch pin.kind {
        case .transaction: "SELECT pg_terminate_backend(\(pin.name));"
        case .prepared: "ROLLBACK PREPARED \(quoted(pin.name));  -- or COMMIT PREPARED"
        case .slot:
            "SELECT pg_drop_replication_slot(\(quoted(pin.name)));  -- if nobody needs it any more"
        case .standby:
            "-- on that standby end its long query, or set hot_standby_feedback = off"
        }
    }

    private static func mend(_ table: DatabaseBloat.Table) -> String? {
        table.isBloated ? "VACUUM (ANALYZE) errand.\(table.name);" : nil
    }

    private static func mend(_ index: DatabaseBloat.Index) -> String? {
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
            ("detail", .optional(pin.detail) { .text($0) }), ("remedy", .text(mend(pin))),
        ])
    }

    private static func record(_ table: DatabaseBloat.Table) -> Record {
        let now = Instant.now().date
        return Record([
            ("table", .text(table.name)), ("live_rows", .int(table.live)),
            ("dead_rows", .int(table.dead)),
            ("size", .bytes(table.size)), ("index_size", .bytes(table.indexSize)),
            ("vacuumed_at", .optional(table.vacuumed) { .age($0.date, now: now) }),
            ("remedy", .optional(mend(table)) { .text($0) }),
        ])
    }

    private static func record(_ index: DatabaseBloat.Index) -> Record {
        Record([
            ("index", .text(index.name)), ("table", .text(index.table)),
            ("size", .bytes(index.size)), ("expected", .bytes(index.expected)),
            ("remedy", .optional(mend(index)) { .text($0) }),
        ])
    }
}
