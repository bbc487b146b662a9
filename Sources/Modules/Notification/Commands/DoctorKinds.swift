import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's check of declared kinds of notice.
enum DoctorKinds {
    /// The number of kinds that a message names.
    private static let named = 5

    /// The kinds that no program has declared for 30 days; the workers renew theirs.
    private static let undeclared = """
        SELECT k.kind FROM notification.kinds k
        WHERE k.declared_at < clock_timestamp() - interval '30 days' ORDER BY k.kind
        """

    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard
            let kinds = try? await context.session.query(undeclared).map({ try $0.text(0) }),
            !kinds.isEmpty
        else { return [] }
        let names = kinds.prefix(named).joined(separator: ", ")
        return [
            Finding(
                check: "notices", severity: .note,
                message: "no program has declared "
                    + (kinds.count == 1
                        ? "a kind of notice" : "\(HumanFormat.count(kinds.count)) kinds of notice")
                    + " for 30 days: \(names)\(kinds.count > named ? ", …" : "")",
                remedy: "errand notification kinds"
                    + "  # lists those of this program; delete the others from notification.kinds")
        ]
    }
}
