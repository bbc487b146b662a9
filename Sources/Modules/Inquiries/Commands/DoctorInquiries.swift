import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of inquiries.
enum DoctorInquiries {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let late = try? await ThreadRows(session: context.session).late(now: .now())
        else { return [] }
        var findings: [Finding] = []
        func warn(_ message: String, _ count: Int, remedy: String) {
            guard count > 0 else { return }
            findings.append(
                Finding(
                    check: "inquiries", severity: .warning,
                    message: message + ": " + HumanFormat.count(count), remedy: remedy))
        }
        warn(
            "people who wait too long for an answer", late.waiting,
            remedy: "errand inquiry ls --waiting")
        warn(
            "of these, threads of which nobody was alerted: no worker sweeps them", late.unswept,
            remedy: "errand work --queues \(SweepInquiries.options.queue)")
        warn(
            "threads that were closed without an answer in the last 7 days", late.unanswered,
            remedy: "errand inquiry ls")
        return findings
    }
}
