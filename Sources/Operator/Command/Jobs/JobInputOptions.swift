import ErrandJSONText
import Errand
package import ErrandPostgres
import ErrandTerminal

/// The options and formats shared by commands that create jobs.
package enum JobInputOptions {
    package static let allowUnknown = Option.flag(
        "allow-unknown-kind", help: "Accept a kind that no program has declared")

    package static let time = ValueFormat<Instant>(
        "TIME", expected: "an RFC 3339 time such as 2026-11-20T08:00:00Z"
    ) { Instant(finite: $0) }

    package static let level = ValueFormat<Priority>(
        "LEVEL", expected: "critical, high, normal, low, or 0 to 3"
    ) { text in
        Priority.allCases.first { "\($0)" == text || String($0.rawValue) == text }
    }

    /// A text as given, or the content of `@FILE` or, for `@-`, of standard input.
    ///
    /// Stops reading beyond twice the limit of arguments.
    package static func content(_ text: String) throws -> [UInt8] {
        guard text.hasPrefix("@") else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        var reader = try LineReader(path: String(text.dropFirst()))
        while let line = try reader.next() {
            if !bytes.isEmpty { bytes.append(0x0A) }
            bytes += line
            guard bytes.count <= JobClient.argumentLimit * 2 else { break }
        }
        return bytes
    }

    /// Arguments as given: JSON, `@FILE`, or `@-` for standard input.
    package static func arguments(_ text: String, kind: String) throws -> [UInt8] {
        let bytes = try content(text)
        guard bytes.count <= JobClient.argumentLimit else {
            throw JobError.argumentsTooLarge(kind: kind, bytes: bytes.count)
        }
        do {
            try JSONScanner.checkObject(bytes[...])
        } catch {
            throw CommandFailure(
                exit: .usage, message: "the arguments are not a JSON object: \(error)",
                hint: "for example '{\"ms\": 500}'; quote them for the shell")
        }
        return bytes
    }
}
