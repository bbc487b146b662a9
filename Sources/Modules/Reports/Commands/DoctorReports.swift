import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of reports.
enum DoctorReports {
    /// The newest reports whose files are read.
    private static let reports = 20

    static func findings(of context: ModuleContext) async -> [Finding] {
        let rows = ReportRows(session: context.session)
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let health = try? await rows.health(now: .now()) else { return [] }
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ found: String, _ remedy: String) {
            findings.append(
                Finding(check: "reports", severity: severity, message: found, remedy: remedy))
        }
        if health.late > 0 {
            add(
                .warning,
                "reports that are late by more than 6 hours: "
                    + HumanFormat.count(Int(health.late)),
                "errand report ls --late  # and: errand work --queues "
                    + "\(MakeReport.options.queue), with \(ReportSettings.variable)")
        }
        if health.silent > 0 {
            add(
                .warning,
                "establishments whose reports notify nobody: "
                    + HumanFormat.count(Int(health.silent)),
                "errand help establishment contacts")
        }
        if health.unset > 0 {
            add(
                .note,
                "establishments with an open survey that get no reports: "
                    + HumanFormat.count(Int(health.unset)), "errand help establishment zone")
        }
        if health.overdue > 0 {
            add(
                .warning,
                "establishments that owe an amount for more than 30 days: "
                    + HumanFormat.count(Int(health.overdue)), "errand help establishment account")
        }
        if let root = try? ReportSettings.folder(context.environment),
            let files = try? await rows.newestFiles(limit: reports)
        {
            let revisions = Dictionary(grouping: files, by: \.folder).values
            // A host without the folder, or another user, sees nothing: no finding.
            let problems = revisions.compactMap {
                try? ReportCommands.problems(of: $0, below: root)
            }.joined()
            if let first = problems.first {
                add(
                    .warning,
                    "files of the newest reports that are missing or have changed: "
                        + "\(problems.count), such as \(first.file)", "errand report verify")
            }
        }
        return findings
    }
}
