import Errand
import ErrandCommand
import ErrandKeys
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of surveys.
enum DoctorSurveys {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let health = try? await SurveyHealth.read(context.session, now: .now()),
            health.surveys + health.closed + health.late + health.waiting > 0
        else { return [] }
        let work = "errand work --queues \(PrepareReceiptKeys.options.queue)"
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ message: String, _ remedy: String) {
            findings.append(
                Finding(check: "surveys", severity: severity, message: message, remedy: remedy))
        }
        if health.closed > 0, let first = health.firstClosed {
            add(
                .critical,
                "receipt keys that are sealed, so that receipts are refused: "
                    + "\(HumanFormat.count(health.closed)), such as that of establishment \(first)",
                "\(KeySettings.variable)=FILE \(work)  # its log names damaged keys")
        }
        if health.missing > 0, let first = health.firstMissing {
            add(
                .warning,
                "establishments with a survey and without a receipt key: "
                    + "\(HumanFormat.count(health.missing)), such as \(first)",
                "\(KeySettings.variable)=FILE \(work)")
        }
        if health.late > 0 {
            add(
                .warning,
                "invitations open two hours after their end: \(HumanFormat.count(health.late))",
                "errand survey expire  # then \(work)")
        }
        if health.overdue > 0 {
            add(
                .warning,
                "answers that have waited for a review for a week: "
                    + HumanFormat.count(health.overdue), "errand survey review")
        }
        guard findings.isEmpty else { return findings }
        return [
            Finding(
                check: "surveys", severity: .ok,
                message: "open surveys: \(HumanFormat.count(health.surveys)); answers to review: "
                    + HumanFormat.count(health.waiting))
        ]
    }
}
