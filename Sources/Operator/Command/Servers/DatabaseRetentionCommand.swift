import ErrandAdministration
import ErrandPostgres
import ErrandTerminal

/// `errand db retention`.
enum DatabaseRetentionCommand {
    static let all = [retention]

    private static let retention = Command(
        "db", "retention", effect: .read,
        summary: "Show what is kept for how long",
        discussion: """
            Lists the tables of the engine with their rule, and the size that they have reached; \
            rows are estimates. The feeder applies the rules every ten minutes. The retention of \
            a job is that of its kind ('errand kind show') unless it was enqueued with its own.
            """,
        examples: [.init("errand db retention", "see what grows, and what ends its growth")]
    ) { invocation in
        let rules = try await Inspector(session: try invocation.session()).retention()
        try invocation.output.list(
            rules.map { rule in
                Record([
                    ("table", .text(rule.table)), ("holds", .text(rule.holds)),
                    ("kept", .text(rule.kept)), ("rows", .int(rule.rows)),
                    ("size", .bytes(rule.size)),
                ])
            },
            columns: [
                Column("table"), Column("rows"), Column("size"), Column("kept"), Column("holds"),
            ])
        return .done
    }
}
