import ErrandCommand
import ErrandDurableFiles
import FoundationEssentials
import ErrandTerminal

/// Who pays, as the file says that `ERRAND_PAYOUTS_FILE` names.
enum PayoutSettings {
    static let variable = "ERRAND_PAYOUTS_FILE"

    /// More than any such file has.
    private static let longest = 256 * 1_024

    /// - Throws: `CommandFailure` (usage) that names what is wrong, and repeats no value.
    static func profile(_ environment: [String: String]) throws(CommandFailure) -> IssueProfile {
        guard let path = try Variables(all: environment).path(variable) else {
            throw CommandFailure(
                exit: .usage, message: "who pays is not set up: \(variable) is not set",
                hint: "let it name a file of JSON; the README shows one")
        }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)), bytes.count <= longest else {
            throw CommandFailure(
                exit: .usage, message: "\(variable): \(path) cannot be read, or is too long")
        }
        do { return try IssueProfile(json: Array(bytes)) } catch {
            throw CommandFailure(exit: .usage, message: "\(variable): \(path): \(error)")
        }
    }
}
