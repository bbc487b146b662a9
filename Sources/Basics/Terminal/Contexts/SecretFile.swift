import ErrandPrivateFiles

/// Variables whose values may be in files: `NAME_FILE` is the path of a file with the value of
/// `NAME`.
///
/// Secrets of containers and of systemd (`/run/secrets`, `$CREDENTIALS_DIRECTORY`) reach the
/// program this way without being in its environment, which others can read.
package enum SecretFile {
    /// The maximum size of a file, in bytes.
    private static let limit = 65_536

    /// The environment with the values of these variables read from their files.
    ///
    /// - Throws: `CommandFailure` (usage) if both a variable and its file are set, or the file
    ///   cannot be read, is open to all users, is empty, or has more than one line. Its content is
    ///   never shown.
    package static func resolved(
        _ names: [String], in environment: [String: String]
    ) throws(CommandFailure) -> [String: String] {
        var result = environment
        for name in names {
            let pointer = name + "_FILE"
            guard let path = environment[pointer], !path.isEmpty else { continue }
            guard environment[name, default: ""].isEmpty else {
                throw .usage(
                    "\(name) and \(pointer) are both set",
                    hint: "unset one of them: the file contains the value of \(name)")
            }
            result[name] = try line(of: path, named: pointer)
        }
        return result
    }

    /// The only line of a file, without surrounding blanks.
    private static func line(
        of path: String, named pointer: String
    ) throws(CommandFailure) -> String {
        // A secret in the wrong variable must not be shown as a path that does not exist.
        guard !path.contains("://"), !path.contains("password=") else {
            throw .usage(
                "\(pointer): expected the path of a file, not its content",
                hint: "write the value to a file that only errand can read, and give its path")
        }
        let bytes: [UInt8]
        do throws(PrivateFileError) {
            bytes = try PrivateFile.read(path, limit: limit)
        } catch {
            switch error {
            case .unreadable(let code):
                throw .usage(
                    "\(pointer): cannot read \(path): \(systemError(code))",
                    hint: "the file must exist, and the user that runs errand must be able to read "
                        + "it")
            case .openToAll:
                throw .usage(
                    "\(pointer): \(PrivateFile.openToAll(path))", hint: PrivateFile.remedy(path))
            case .notAFile, .tooLong: throw notText(path, pointer)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw notText(path, pointer)
        }
        let lines = text.split(whereSeparator: \.isNewline).map(trimmed).filter { !$0.isEmpty }
        guard let value = lines.first, lines.count == 1 else {
            throw .usage(
                "\(pointer): \(path) \(lines.isEmpty ? "is empty" : "has \(lines.count) lines")",
                hint: "it must contain only the value, on one line")
        }
        return value
    }

    private static func notText(_ path: String, _ pointer: String) -> CommandFailure {
        .usage(
            "\(pointer): \(path) is not a text file", hint: "it must contain only the value")
    }

    private static func trimmed(_ line: Substring) -> String {
        let front = line.drop(while: \.isWhitespace)
        return String(String(front.reversed().drop(while: \.isWhitespace)).reversed())
    }
}
