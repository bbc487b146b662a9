import ErrandCommand
import ErrandPeople
import ErrandPostgres

extension [any Module] {
    /// The open matters of all these modules.
    func openMatters(_ session: Session) async throws -> [OpenMatter] {
        var matters: [OpenMatter] = []
        for module in compactMap({ $0 as? any CustodialModule }) {
            matters += try await module.openMatters(session)
        }
        return matters
    }
}
