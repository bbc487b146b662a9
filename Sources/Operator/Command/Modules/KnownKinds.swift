import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

extension Invocation {
    /// The kinds of this program whose modules the database has.
    func knownKinds(_ session: Session) async throws -> JobKinds {
        try await usableModules(session).listedKinds()
    }

    /// The default options of a kind, from this program or from another program's declaration.
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
                hint: hint + "known kinds: \(all.joined(separator: ", ")); "
                    + "--allow-unknown-kind accepts it")
        }
        return (1, JobOptions())
    }
}
