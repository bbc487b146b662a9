package import Errand
import ErrandDurableFiles
package import ErrandPostgres

/// Adds the reports that are due in their time zones, each with its job, and removes the folders of
/// reports that were deleted.
package struct OpenReports: Job {
    package static let kind = "reports.open"
    package static let options = JobOptions(
        queue: "reports", priority: .normal, maxAttempts: 5,
        backoff: Backoff(base: 10, ceiling: 300), timeout: .seconds(900),
        retention: .seconds(7 * 86_400))

    package init() {}

    /// Every quarter of an hour: time zones differ by quarters.
    ///
    /// What was missed is caught up by the next run, whichever it is.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "1,16,31,46 * * * *", run: OpenReports(),
            catchUp: .latest(within: .seconds(3_600)),
            overlap: .skip)
    }

    /// Reports per transaction.
    private static let batch: Int32 = 1_000

    static func run(_ context: JobContext, in root: String?) async throws {
        let now = Instant(date: context.now)
        var opened = 0
        while true {
            try Task.checkCancellation()
            let count = try await open(in: context.database, client: context.client, now: now)
            opened += count
            if count < Int(batch) { break }
        }
        if opened > 0 { context.log.with("reports", opened).info("reports are due") }
        if let root {
            try await removeFolders(below: root, in: context.database, log: context.log)
        }
    }

    private static let openDue = "SELECT reports.open_due($1, $2)"

    /// Adds one batch with its jobs; returns their number.
    package static func open(
        in database: Pool, client: JobClient, now: Instant
    ) async throws -> Int {
        try await database.transaction { transaction in
            let ids = try await transaction.query(openDue, [.timestamp(now), .int32(batch)])
                .map { try $0.int64(0) }
            try await client.enqueue(ids.map { MakeReport(reportID: $0) }, in: transaction)
            return ids.count
        }
    }

    private static let oldFolders = """
        SELECT folder FROM reports.old_folders WHERE folder > $1 ORDER BY folder LIMIT 1000
        """
    private static let removed = "DELETE FROM reports.old_folders WHERE folder = ANY ($1)"

    /// Removes the folders of reports that the retention has deleted.
    ///
    /// One that cannot be removed, as it has another file, is logged, and tried again by the next
    /// run.
    package static func removeFolders(
        below root: String, in database: Pool, log: Log
    ) async throws {
        var after = ""
        while true {
            let start = after
            let folders = try await database.withSession {
                try await $0.query(oldFolders, [.text(start)])
            }.map { try $0.text(0) }
            guard let last = folders.last else { return }
            after = last
            var gone: [String] = []
            for folder in folders {
                do {
                    try ReportFolder.discard(root: root, folder: folder)
                    gone.append(folder)
                } catch let error as FileError {
                    log.with("folder", folder).warning("an old report stays: \(error)")
                }
            }
            let done = gone
            try await database.withSession {
                _ = try await $0.query(removed, [.textArray(done)])
            }
        }
    }
}
