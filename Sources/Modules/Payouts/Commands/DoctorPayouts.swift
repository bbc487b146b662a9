import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of payouts.
enum DoctorPayouts {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report why it cannot be read: servers, migrations, rights.
        guard let health = try? await PayoutHealth.read(context.session, now: .now()),
            health.runs > 0
        else { return [] }
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ found: String, _ remedy: String) {
            findings.append(
                Finding(check: "payouts", severity: severity, message: found, remedy: remedy))
        }
        if let first = health.stuckRuns.first {
            add(
                .warning, "the close of \(first) has been running for more than an hour",
                "errand work --queues \(CloseQuarter.options.queue)  # and: errand job ls --queue "
                    + CloseQuarter.options.queue)
        }
        if let first = health.unfinishedIssues.first {
            add(
                .warning, "the issue of \(first) was interrupted more than an hour ago",
                "errand payout issue \(first)  # resumes the issue")
        }
        if let first = health.lateRuns.first {
            add(
                .warning, "\(first) is due within three days and has no files yet",
                "errand payout show \(first)")
        }
        if health.held > 0 {
            add(
                .note, "held payouts: \(HumanFormat.count(health.held))",
                "errand payout ls --state held")
        }
        if health.waiting > 0 {
            add(
                .warning,
                "pending payouts of issued runs, which need another issue: "
                    + HumanFormat.count(health.waiting),
                "errand payout ls --state pending  # and: errand payout issue QUARTER --to FOLDER")
        }
        if health.undecided > 0 {
            add(
                .warning,
                "returned payouts that need a decision: "
                    + HumanFormat.count(health.undecided),
                "errand payout ls --state returned  # and: errand payout reissue ID")
        }
        if let first = health.firstErased {
            add(
                .note,
                "erased people with a balance, which no run pays: "
                    + "\(HumanFormat.count(health.erased)), such as person \(first)",
                "errand ledger balance --kind person --owner \(first)"
                    + "  # if they gave it up: errand payout forfeit \(first)")
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "payouts", severity: .ok, message: "\(health.runs) runs, no problems")
            ]
            : findings
    }
}
