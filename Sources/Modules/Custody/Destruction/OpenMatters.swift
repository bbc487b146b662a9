import ErrandCommand
import ErrandPeople
import ErrandPostgres

extension Invocation {
    /// The open matters of all modules, and of the key file of this host.
    func openMatters(_ session: Session) async throws -> [OpenMatter] {
        var matters: [OpenMatter] = []
        for module in try await usableModules(session).all {
            guard let module = module as? any CustodialModule else { continue }
            matters += try await module.openMatters(session)
        }
        do {
            if let matter = try await KeyFileDestruction(self, session).openMatter {
                matters.append(matter)
            }
        } catch let error as PostgresError where error.sqlState == "42501" {
            // Inspectors, who can see the state of a plan, may not read sealed values.
        }
        return matters
    }
}
