package import ErrandAdministration
import Errand
import ErrandTerminal

/// The options that show sensitive arguments, and record who did so.
package enum RevealOptions {
    private static let reveal = Option.flag(
        "reveal", help: "Show sensitive values; the audit log records it ('audit ls')")
    private static let reason = Option<String?>.text(
        "reason", help: "With --reveal: the reason, for the audit log")

    package static let all: [any DeclaredOption] = [reveal, reason]

    /// An inspector; with --reveal it shows sensitive values, which is recorded first.
    package static func inspector(
        _ invocation: Invocation, subject: String, _ filter: JobFilter? = nil
    ) async throws -> Inspector {
        let inspector = Inspector(session: try invocation.session())
        return try await revealing(invocation, inspector, subject: subject, filter)
    }

    /// Whether hidden values other than jobs' may be shown; a grant is recorded first.
    package static func isGranted(_ invocation: Invocation, subject: String) async throws -> Bool {
        _ = try await inspector(invocation, subject: subject)
        return invocation[reveal]
    }

    /// The same for an existing inspector.
    package static func revealing(
        _ invocation: Invocation, _ inspector: Inspector, subject: String,
        _ filter: JobFilter? = nil
    ) async throws -> Inspector {
        guard invocation[reveal] else {
            guard invocation[reason] == nil else {
                throw CommandFailure(
                    exit: .usage, message: "--reason requires --reveal",
                    hint: "only a command with --reveal is recorded")
            }
            return inspector
        }
        return try await inspector.revealing(
            Inspector.Reveal(
                by: invocation.operatorName, reason: invocation[reason],
                command: invocation.command.name, subject: subject, filter: filter))
    }
}
