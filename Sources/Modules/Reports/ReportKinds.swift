package import Errand

/// The jobs of reports.
package enum ReportKinds {
    /// Adds the kinds to those of a program, with their schedule.
    ///
    /// - Parameters:
    ///   - folder: that of `ERRAND_REPORTS_DIR`; without one a worker makes no reports.
    ///   - isListing: whether no handler is called.
    package static func add(to kinds: inout JobKinds, folder: String?, isListing: Bool = false) {
        kinds.handle(OpenReports.self) { _, context in
            try await OpenReports.run(context, in: folder)
        }
        if let folder {
            kinds.handle(MakeReport.self) { job, context in
                try await MakeReport.run(job, context, in: folder)
            }
        } else if isListing {
            kinds.handle(MakeReport.self) { _, _ in }
        }
        do { kinds.schedule(try OpenReports.schedule()) } catch { preconditionFailure("\(error)") }
    }
}
