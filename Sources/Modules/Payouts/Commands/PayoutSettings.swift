import ErrandCommand
import ErrandDurableFiles
import FoundationEssentials
import ErrandTerminal

/// Reads the payout profile, the file of `ERRAND_PAYOUTS_FILE`.
enum PayoutSettings {
    static let variable = "ERRAND_PAYOUTS_FILE"

    /// Maximum size of the file in bytes.
    private static let longest = 256 * 1_024

    /// - Throws: `CommandFailure` (usage) that names the wrong key but never its value.
    static func profile(_ environment: [String: String]) throws(CommandFailure) -> IssueProfile {
        guard let path = try Variables(all: environment).path(variable) else {
            throw CommandFailure(
                exit: .usage, message: "no payout profile: \(variable) is not set",
                hint: "set it to the path of a JSON file with the company and its bank accounts")
        }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)), bytes.count <= longest else {
            throw CommandFailure(
                exit: .usage, message: "\(variable): \(path) cannot be read or is too long")
        }
        do { return try IssueProfile(json: Array(bytes)) } catch {
            throw CommandFailure(exit: .usage, message: "\(variable): \(path): \(error)")
        }
    }
}
