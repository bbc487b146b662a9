import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of payouts.
enum DoctorPayouts {
    static func findings(of checkup: Checkup) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let health = try? await PayoutHealth.read(checkup.session, now: .now()),
            health.runs > 0
        else { return [] }
        var findings: [Finding] = []
        func add(_ grade: Finding.Grade, _ found: String, _ remedy: String) {
            findings.append(
                Finding(check: "payouts", grade: grade, found: found, remedy: remedy))
        }
        if let first = health.stuckRuns.first {
            add(
                .warning, "\(first) is being closed for more than an hour",
                "errand work --queues \(CloseQuarter.options.queue)  # and: errand job ls --queue "
                    + CloseQuarter.options.queue)
        }
        if let first = health.unfinishedIssues.first {
            add(
                .warning, "the files of \(first) were begun more than an hour ago and not finished",
                "errand payout issue \(first)  # goes on where it was")
        }
        if let first = health.lateRuns.first {
            add(
                .warning, "\(first) is to be paid within three days, and has no files yet",
                "errand payout show \(first)")
        }
        if health.held > 0 {
            add(
                .note, "payouts that are held: \(HumanFormat.count(health.held))",
                "errand payout ls --state held")
        }
        if health.waiting > 0 {
            add(
                .warning,
                "payouts of issued runs that wait for an issue of their own: "
                    + HumanFormat.count(health.waiting),
                "errand payout ls --state pending  # and: errand payout issue QUARTER --to FOLDER")
        }
        if health.undecided > 0 {
            add(
                .warning,
                "payouts that came back and wait for a decision: "
                    + HumanFormat.count(health.undecided),
                "errand payout ls --state returned  # and: errand payout reissue ID")
        }
        return findings.isEmpty
            ? [Finding(check: "payouts", grade: .ok, found: "\(health.runs) runs, none waits")]
            : findings
    }
}
