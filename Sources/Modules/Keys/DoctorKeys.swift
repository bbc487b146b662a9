import ErrandCommand
import ErrandCrypto
import ErrandPostgres
import ErrandSealing
import ErrandTerminal

/// What the doctor looks at for the sake of sealed values.
enum DoctorKeys {
    static func findings(of checkup: Checkup) async -> [Finding] {
        guard !checkup.modules.sealedColumns.isEmpty else { return [] }
        let keys: SealingKeys?
        do throws(CommandFailure) { keys = try KeySettings.keys(checkup.environment) } catch {
            return [
                Finding(
                    check: "keys", grade: .warning, found: error.message,
                    remedy: error.hint ?? "errand key ls")
            ]
        }
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard
            let counts = try? await Resealing(session: checkup.session)
                .counts(of: checkup.modules.sealedColumns)
        else { return [] }
        let state = KeyState(keys, counts)
        if let failure = state.failure {
            return [
                Finding(
                    check: "keys", grade: .critical, found: failure.message,
                    remedy: "errand key ls" + (failure.hint.map { "  # \($0)" } ?? ""))
            ]
        }
        if state.olderCount > 0 {
            let count = HumanFormat.count(state.olderCount)
            return [
                Finding(
                    check: "keys", grade: .note,
                    found: "\(count) sealed values are under older keys",
                    remedy: "errand key rotate")
            ]
        }
        let found =
            keys.map { "\($0.names[0]) seals; \(HumanFormat.count(state.total)) values are sealed" }
            ?? "none are set up here, and nothing is sealed"
        return [Finding(check: "keys", grade: .ok, found: found)]
    }
}
