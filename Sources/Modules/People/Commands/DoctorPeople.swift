import ErrandCommand
import ErrandPostgres

/// The doctor's checks of erasures and retention.
enum DoctorPeople {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let health = try? await PeopleHealth.read(context.session, now: .now()) else {
            return []
        }
        let work = "errand work --queues \(ErasePerson.options.queue)"
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ message: String, _ remedy: String) {
            findings.append(
                Finding(check: "people", severity: severity, message: message, remedy: remedy))
        }
        if health.overdue > 0 {
            add(
                .critical,
                "erasures of people unfinished after 30 days: "
                    + HumanFormat.count(health.overdue), work)
        } else if health.late > 0 {
            add(
                .warning,
                "erasures of people unfinished after 72 hours: " + HumanFormat.count(health.late),
                work)
        }
        if let failure = health.failure {
            add(
                .warning,
                "erasures of people that fail: \(HumanFormat.count(health.failing)), "
                    + "such as in the step \(failure)",
                "errand job ls --queue \(ErasePerson.options.queue)")
        }
        if health.unlisted > 0 {
            add(
                .note,
                "people erased since the list of suppressions was written: "
                    + "\(HumanFormat.count(health.unlisted)); a restored backup would have them "
                    + "again",
                "errand person suppressions --to FILE")
        }
        if let rule = health.failedRule {
            add(.warning, "the rule of retention \(rule) failed", "errand retention ls")
        }
        if let rule = health.idleRule {
            add(
                .warning,
                "rules of retention that have not run for two days: "
                    + "\(HumanFormat.count(health.idle)), such as \(rule)", work)
        }
        return findings.isEmpty
            ? [
                Finding(
                    check: "people", severity: .ok,
                    message: health.open == 0
                        ? "no erasure is open"
                        : "open erasures: \(HumanFormat.count(health.open)), none is late")
            ] : findings
    }
}
