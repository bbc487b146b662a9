import ErrandCommand
package import ErrandCrypto
import ErrandSealing
package import ErrandTerminal

/// The keys by which small secrets are sealed in the database, as the environment names them.
package enum KeySettings {
    package static let variable = "ERRAND_KEYS_FILE"

    /// The keys of the file that `ERRAND_KEYS_FILE` names; nil when it names none.
    ///
    /// - Throws: `CommandFailure` (usage) that names the line, and shows nothing of it.
    package static func keys(_ environment: [String: String]) throws(CommandFailure) -> SealingKeys?
    {
        guard let path = try Variables(all: environment).path(variable) else { return nil }
        do throws(KeyFileError) { return try KeyFile.read(path) } catch {
            throw CommandFailure(
                exit: .usage, message: "\(variable): \(words(error, path))",
                hint: "a key a line, NAME BASE64; 'errand key new' makes one")
        }
    }

    /// The same, for what does nothing without keys.
    package static func needed(_ environment: [String: String]) throws(CommandFailure)
        -> SealingKeys
    {
        if let keys = try keys(environment) { return keys }
        throw CommandFailure(
            exit: .usage, message: "no keys are set up: \(variable) is not set",
            hint: "let it name the file of keys; 'errand key new' makes a key")
    }

    private static func words(_ error: KeyFileError, _ path: String) -> String {
        switch error {
        case .badLine, .empty: "\(path): \(error)"
        case .unreadable, .notAFile, .openToAll, .tooLong: "\(error)"
        }
    }
}
