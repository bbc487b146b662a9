package import ErrandCommand
package import ErrandPostgres

/// A module that can have matters to settle before all its data may be destroyed.
///
/// It is here, and not in the module custody, so that modules need not need that one.
package protocol CustodialModule: Module {
    /// Returns what is unsettled now.
    func openMatters(_ session: Session) async throws -> [OpenMatter]
}

/// Something that must be settled before a destruction, unless both operators accept it.
package struct OpenMatter: Sendable, Equatable {
    /// The name by which a plan accepts it, such as `unpaid_balances`.
    package var name: String
    /// What is unsettled.
    package var message: String
    /// The command that shows more.
    package var remedy: String

    /// Creates an open matter.
    package init(name: String, message: String, remedy: String) {
        self.name = name
        self.message = message
        self.remedy = remedy
    }
}
