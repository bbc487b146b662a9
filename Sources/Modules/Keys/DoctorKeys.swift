import ErrandCommand
import ErrandCrypto
import ErrandPostgres
import ErrandSealing
import ErrandTerminal

/// The doctor's checks of sealed values.
enum DoctorKeys {
    static func findings(of context: ModuleContext) async -> [Finding] {
        guard !context.modules.sealedColumns.isEmpty else { return [] }
        let keys: SealingKeys?
        do throws(CommandFailure) { keys = try KeySettings.keys(context.environment) } catch {
            return [
                Finding(
                    check: "keys", severity: .warning, message: error.message,
                    remedy: error.hint ?? "errand key ls")
            ]
        }
        // Other checks report unreadable tables: servers, migrations, rights.
        guard
            let counts = try? await Resealing(session: context.session)
                .counts(of: context.modules.sealedColumns)
        else { return [] }
        let state = KeyState(keys, counts)
        if let failure = state.failure {
            return [
                Finding(
                    check: "keys", severity: .critical, message: failure.message,
                    remedy: "errand key ls" + (failure.hint.map { "  # \($0)" } ?? ""))
            ]
        }
        if state.olderCount > 0 {
            let count = HumanFormat.count(state.olderCount)
            return [
                Finding(
                    check: "keys", severity: .note,
                    message: "\(count) values are sealed with older keys",
                    remedy: "errand key rotate")
            ]
        }
        let found =
            keys.map { "\($0.names[0]) seals; \(HumanFormat.count(state.total)) values are sealed" }
            ?? "no keys are set up here, and nothing is sealed"
        return [Finding(check: "keys", severity: .ok, message: found)]
    }
}
