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
        findings.add(
            .warning, of: "inquiries",
            "people who wait too long for an answer", late.waiting,
            remedy: "errand inquiry ls --waiting")
        if !late.notAlerted.isEmpty {
            let threads =
                late.notAlerted.prefix(10).map { String($0) }.joined(separator: ", ")
                + (late.notAlerted.count > 10 ? ", …" : "")
            let cause =
                late.takesAlerts
                ? "no worker sweeps them"
                : "no endpoint of the owner operator takes inquiry.waiting"
            findings.append(
                Finding(
                    check: "inquiries", severity: .warning,
                    message: "of these, threads of which nobody was alerted, as \(cause): "
                        + threads,
                    remedy: late.takesAlerts
                        ? "errand work --queues \(SweepInquiries.options.queue)"
                        : "errand webhook add --help"))
        }
        findings.add(
            .warning, of: "inquiries",
            "threads that were closed without an answer in the last 7 days", late.unanswered,
            remedy: "errand inquiry ls")
        return findings
    }
}
