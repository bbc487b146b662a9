package import Errand
import ErrandDurableFiles
import ErrandPostgres

/// Makes one report, and notifies its contacts if it is new or revised.
package struct MakeReport: Job {
    package static let kind = "reports.make"
    package static let options = JobOptions(
        queue: "reports", priority: .normal, maxAttempts: 60,
        backoff: Backoff(base: 30, ceiling: 3_600), timeout: .seconds(1_800),
        retention: .seconds(7 * 86_400))

    package var reportID: Int64

    package init(reportID: Int64) { self.reportID = reportID }

    enum CodingKeys: String, CodingKey {
        case reportID = "report_id"
    }

    static func run(_ job: MakeReport, _ context: JobContext, in root: String) async throws {
        let maker = ReportMaker(root: root)
        try await context.database.transaction { transaction in
            // A report that was deleted meanwhile needs no files.
            do {
                _ = try await maker.make(
                    job.reportID, now: Instant(date: context.now), in: transaction)
            } catch ReportError.notFound {
            } catch ReportError.refused(let words, _) {
                // Another attempt cannot make it either.
                context.log.with("report", Int(job.reportID)).warning("\(words)")
            }
            try await context.complete(in: transaction)
        }
    }
}
