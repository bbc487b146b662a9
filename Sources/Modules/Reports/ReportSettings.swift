package import ErrandCommand
import ErrandTerminal

/// Reads `ERRAND_REPORTS_DIR`.
package enum ReportSettings {
    package static let variable = "ERRAND_REPORTS_DIR"

    static let variables: [VariableName] = [
        (
            variable,
            "The folder for reports of establishments, which only errand's user may write into."
        )
    ]

    /// The folder; nil if it is not set.
    ///
    /// - Throws: `CommandFailure` (usage) for a relative path.
    package static func folder(_ environment: [String: String]) throws(CommandFailure) -> String? {
        guard let path = try Variables(all: environment).path(variable) else { return nil }
        guard path.hasPrefix("/"), !path.split(separator: "/").contains("..") else {
            throw CommandFailure(
                exit: .usage, message: "\(variable)=\(path): expected an absolute path",
                hint: "for example /var/lib/errand/reports")
        }
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// The folder.
    static func needed(_ environment: [String: String]) throws(CommandFailure) -> String {
        guard let path = try folder(environment) else {
            throw CommandFailure(
                exit: .usage, message: "no folder for reports: \(variable) is not set",
                hint: "set it to the folder that the workers write into")
        }
        return path
    }
}
