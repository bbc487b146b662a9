import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

extension Invocation {
    /// The kinds that this program knows and the database has the modules for.
    func knownKinds(_ session: Session) async throws -> JobKinds {
        try await usableModules(session).listedKinds()
    }

    /// What a kind asks for: as this program knows it, or as another has declared it.
    func kindDefaults(
        of kind: String, _ session: Session, allowsUnknown: Bool
    ) async throws -> (version: Int, options: JobOptions) {
        let known = try await knownKinds(session)
        if let options = known.options(of: kind), let version = known.argsVersion(of: kind) {
            return (version, options)
        }
        let inspector = Inspector(session: session)
        if let declared = try await inspector.declaredKind(kind) { return declared }
        guard allowsUnknown else {
            let all = Set(known.names).union(try await inspector.kinds()).sorted()
            let hint = nearest(to: kind, among: all).map { "did you mean \($0)? " } ?? ""
            throw CommandFailure(
                exit: .notFound, message: "no program has declared the kind \(kind)",
                hint: hint + "known are: \(all.joined(separator: ", ")); "
                    + "--allow-unknown-kind takes it nevertheless")
        }
        return (1, JobOptions())
    }
}
