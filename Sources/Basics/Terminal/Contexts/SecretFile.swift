import FoundationEssentials
import Glibc

/// Variables whose values may stand in files: `NAME_FILE` names one whose text stands for `NAME`.
///
/// So secrets of containers and of systemd (`/run/secrets`, `$CREDENTIALS_DIRECTORY`) reach the
/// program without being in its environment, which others can look at.
package enum SecretFile {
    /// More than any URL needs.
    private static let limit = 65_536

    /// The environment with what the files hold that it names for these variables.
    ///
    /// - Throws: `CommandFailure` (usage) when both a variable and its file are set, or the file
    ///   cannot be read, is empty, or holds more than a line. What it holds is never shown.
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
                    hint: "unset one of them: the file's text stands for \(name)")
            }
            result[name] = try line(of: path, named: pointer)
        }
        return result
    }

    /// The only line of a file, without the blanks around it.
    private static func line(
        of path: String, named pointer: String
    ) throws(CommandFailure) -> String {
        // A secret in the wrong variable must not be shown as a path that does not exist.
        guard !path.contains("://"), !path.contains("password=") else {
            throw .usage(
                "\(pointer): expected the path of a file, not what it holds",
                hint: "put that into a file that only errand may read, and name the file")
        }
        guard unsafe access(path, R_OK) == 0 else {
            throw .usage(
                "\(pointer): cannot read \(path): \(systemError(errno))",
                hint: "it must be there, and readable for the user that runs errand")
        }
        guard let data = FileManager.default.contents(atPath: path), data.count <= limit,
            let text = String(validating: data, as: UTF8.self)
        else {
            throw .usage(
                "\(pointer): \(path) is no file of text", hint: "it must hold the value alone")
        }
        let lines = text.split(whereSeparator: \.isNewline).map(trimmed).filter { !$0.isEmpty }
        guard let value = lines.first, lines.count == 1 else {
            throw .usage(
                "\(pointer): \(path) \(lines.isEmpty ? "is empty" : "has \(lines.count) lines")",
                hint: "it must hold the value alone, in one line")
        }
        return value
    }

    private static func trimmed(_ line: Substring) -> String {
        let front = line.drop(while: \.isWhitespace)
        return String(String(front.reversed().drop(while: \.isWhitespace)).reversed())
    }
}
