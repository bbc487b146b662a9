package import ErrandAdministration
import Errand
import ErrandTerminal

/// How sensitive arguments are shown, by those who may see them.
package enum RevealOptions {
    private static let reveal = Option.flag(
        "reveal", help: "Show what is sensitive too; who does so is recorded ('audit ls')")
    private static let reason = Option<String?>.text(
        "reason", help: "With --reveal: why, for the record")

    package static let all: [any DeclaredOption] = [reveal, reason]

    /// What looks at jobs: with --reveal, at all of them, after this was recorded.
    package static func inspector(
        _ invocation: Invocation, subject: String, _ filter: JobFilter? = nil
    ) async throws -> Inspector {
        let inspector = Inspector(session: try invocation.session())
        return try await revealing(invocation, inspector, subject: subject, filter)
    }

    /// Whether what is hidden of something else than jobs may be shown, after this was recorded.
    package static func isGranted(_ invocation: Invocation, subject: String) async throws -> Bool {
        _ = try await inspector(invocation, subject: subject)
        return invocation[reveal]
    }

    /// The same with an inspector at hand.
    package static func revealing(
        _ invocation: Invocation, _ inspector: Inspector, subject: String,
        _ filter: JobFilter? = nil
    ) async throws -> Inspector {
        guard invocation[reveal] else {
            guard invocation[reason] == nil else {
                throw CommandFailure(
                    exit: .usage, message: "--reason goes with --reveal",
                    hint: "only what is revealed is recorded, and needs a reason")
            }
            return inspector
        }
        return try await inspector.revealing(
            Inspector.Reveal(
                by: invocation.operatorName, reason: invocation[reason],
                command: invocation.command.name, subject: subject, filter: filter))
    }
}
