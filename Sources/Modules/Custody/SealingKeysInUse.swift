import ErrandCommand
import ErrandKeys
import ErrandPostgres
import ErrandSealing

extension [any Module] {
    /// The names of the keys that the sealed values of these modules need, in order.
    func sealingKeysInUse(_ session: Session) async throws -> [String] {
        let columns = compactMap { $0 as? any SealingModule }.flatMap(\.sealedColumns)
        let counts = try await Resealing(session: session).counts(of: columns)
        return Set(counts.compactMap(\.key)).sorted()
    }
}
