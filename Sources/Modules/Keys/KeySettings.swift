import ErrandCommand
package import ErrandCrypto
import ErrandSealing
package import ErrandTerminal

/// The keys that seal secrets in the database, from the environment.
package enum KeySettings {
    package static let variable = "ERRAND_KEYS_FILE"

    /// Returns the keys in the file that `ERRAND_KEYS_FILE` names; nil if it is not set.
    ///
    /// - Throws: `CommandFailure` (usage) that names the line, without its content.
    package static func keys(_ environment: [String: String]) throws(CommandFailure) -> SealingKeys?
    {
        guard let path = try Variables(all: environment).path(variable) else { return nil }
        do throws(KeyFileError) { return try KeyFile.read(path) } catch {
            throw CommandFailure(
                exit: .usage, message: "\(variable): \(words(error, path))",
                hint: "one key per line: NAME BASE64; 'errand key new' creates one")
        }
    }

    /// Returns the keys, or throws if there are none.
    package static func needed(_ environment: [String: String]) throws(CommandFailure)
        -> SealingKeys
    {
        if let keys = try keys(environment) { return keys }
        throw CommandFailure(
            exit: .usage, message: "no keys are set up: \(variable) is not set",
            hint: "set it to the path of the key file; 'errand key new' creates a key")
    }

    private static func words(_ error: KeyFileError, _ path: String) -> String {
        switch error {
        case .badLine, .empty: "\(path): \(error)"
        case .unreadable, .notAFile, .openToAll, .tooLong: "\(error)"
        }
    }
}
