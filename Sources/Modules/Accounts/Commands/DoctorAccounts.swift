import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of accounts.
enum DoctorAccounts {
    /// Fewer can be transactions that have not committed yet.
    private static let fewRolledBack = 10

    static func findings(of context: ModuleContext) async -> [Finding] {
        let rows = AccountRows(session: context.session)
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let late = try? await rows.late(now: .now()),
            let rolledBack = try? await rows.rolledBack()
        else { return [] }
        var findings: [Finding] = []
        if late > 0 {
            findings.append(
                Finding(
                    check: "accounts", severity: .warning,
                    message: "codes and links requested over a minute ago and not sent: "
                        + HumanFormat.count(late),
                    remedy: "errand work --queues \(SendCode.options.queue),mail"))
        }
        if rolledBack >= Self.fewRolledBack {
            findings.append(
                Finding(
                    check: "accounts", severity: .warning,
                    message: "a program rolls back the wrong codes that people enter: of "
                        + "\(HumanFormat.count(rolledBack)) codes in the last minutes. It must "
                        + "commit each accounts.check_code",
                    remedy: "errand account codes"))
        }
        return findings
    }
}
