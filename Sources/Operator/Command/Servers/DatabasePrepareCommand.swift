import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand db prepare`.
enum DatabasePrepareCommand {
    static let all = [prepare]

    private static let days = Option<Int>.integer(
        "days", default: 12, range: 1...3_700, help: "Number of days to prepare, from today on")
    private static let reason = Option<String?>.text(
        "reason", help: "The reason, for the audit log")

    private static let prepare = Command(
        "db", "prepare", effect: .write,
        summary: "Create the missing partitions of finished jobs",
        discussion: """
            Finished jobs are partitioned by the day on which retention deletes them. The feeder \
            creates the partitions of the coming days. This command creates those that are \
            missing, and moves their jobs there from finished_jobs_other, day by day. Without \
            missing partitions it does nothing.

            It needs a role that owns the tables. It waits for locks for at most three seconds: \
            if it exits 8, run it again.
            """,
        examples: [
            .init("errand db prepare", "create the partitions that 'errand doctor' reports"),
            .init("errand db prepare --days 40", "before all workers stop for a long time"),
        ],
        options: [days, reason]
    ) { invocation in
        // Moving many finished jobs takes long.
        let inspector = Inspector(session: try invocation.unlimitedSession())
        var prepared: [PreparedPartition] = []
        for missing in try await inspector.missingPartitions(days: invocation[days]) {
            let made = try await inspector.prepare(
                missing, by: invocation.operatorName, reason: invocation[reason])
            if let made { prepared.append(made) }
        }
        try invocation.output.list(
            prepared.map { made in
                Record([
                    ("table", .text(made.table)), ("day", .text(made.day)),
                    ("moved", .int(made.moved)),
                ])
            },
            columns: [Column("table"), Column("day"), Column("moved")],
            empty: "nothing to do: no partition is missing")
        return .done
    }
}
