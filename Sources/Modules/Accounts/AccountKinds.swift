package import Errand

/// The jobs of the accounts.
///
/// Their arguments hold only ids: addresses, codes and links never leave PostgreSQL but in a mail.
package enum AccountKinds {
    /// Adds the kinds to those of a program.
    package static func add(to kinds: inout JobKinds) {
        kinds.handle(SendCode.self) { job, context in try await SendCode.run(job, context) }
        kinds.handle(SendLink.self) { job, context in try await SendLink.run(job, context) }
    }
}
