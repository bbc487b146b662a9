package import ErrandCommand
package import ErrandSealing

/// A module that keeps sealed values.
package protocol SealingModule: Module {
    /// The columns that hold them.
    var sealedColumns: [SealedColumn] { get }
}

extension [any Module] {
    /// The columns of all these modules that hold sealed values.
    var sealedColumns: [SealedColumn] {
        compactMap { $0 as? any SealingModule }.flatMap(\.sealedColumns)
    }
}
