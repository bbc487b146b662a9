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
            missing, and moves jobs out of finished_jobs_other, where they are without a \
            partition. Without missing partitions it does nothing.

            It needs the role of a worker. It does not wait for locks, because no job could be \
            finished meanwhile: if it exits 8, end what reads the history, or run it again.
            """,
        examples: [
            .init("errand db prepare", "create the partitions that 'errand doctor' reports"),
            .init("errand db prepare --days 40", "before all workers stop for a long time"),
        ],
        options: [days, reason]
    ) { invocation in
        // Moving many finished jobs takes long.
        let inspector = Inspector(session: try invocation.unlimitedSession())
        let moved = try await inspector.refileFinishedJobs()
        if moved > 0 {
            invocation.output.note(
                "moved \(HumanFormat.count(moved)) jobs out of finished_jobs_other")
        }
        var prepared: [PreparedPartition] = []
        for missing in try await inspector.missingPartitions(days: invocation[days]) {
            let made = try await inspector.prepare(
                missing, by: invocation.operatorName, reason: invocation[reason])
            if let made { prepared.append(made) }
        }
        try invocation.output.list(
            prepared.map { made in
                Record([("table", .text(made.table)), ("day", .text(made.day))])
            },
            columns: [Column("table"), Column("day")],
            empty: "nothing to do: no partition is missing")
        return .done
    }
}
