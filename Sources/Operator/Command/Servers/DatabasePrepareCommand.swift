import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand db prepare`.
enum DatabasePrepareCommand {
    static let all = [prepare]

    private static let days = Option<Int>.integer(
        "days", default: 12, range: 1...3_700, help: "Days to prepare, from today on")
    private static let reason = Option<String?>.text("reason", help: "Why, for the record")

    private static let prepare = Command(
        "db", "prepare", effect: .changes,
        summary: "Make the partitions of finished jobs that are missing",
        discussion: """
            Finished jobs lie in a partition for each day that they are kept until. The worker \
            that leads makes those of the days to come; what is missing all the same is made \
            here, and finished jobs of such a day that lie in finished_jobs_other are moved into \
            it, day by day. Nothing is done where nothing is missing.

            Needs a role that owns the tables. It waits for locks no longer than three seconds: \
            when it exits 8, run it again.
            """,
        examples: [
            .init("errand db prepare", "what the doctor found missing"),
            .init("errand db prepare --days 40", "before workers stand still for long"),
        ],
        options: [days, reason]
    ) { invocation in
        // Many finished jobs may have to move.
        let inspector = Inspector(session: try invocation.patientSession())
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
            empty: "nothing to do: all partitions are prepared")
        return .done
    }
}
