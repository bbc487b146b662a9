package import ErrandCommand
package import ErrandSealing

/// A module with sealed values.
package protocol SealingModule: Module {
    /// The columns of sealed values.
    var sealedColumns: [SealedColumn] { get }
}

extension [any Module] {
    /// The columns of sealed values of all these modules.
    var sealedColumns: [SealedColumn] {
        compactMap { $0 as? any SealingModule }.flatMap(\.sealedColumns)
    }
}
