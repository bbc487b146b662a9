import Errand
import ErrandPostgres
import ErrandTerminal

/// What several commands take that make jobs.
enum JobWords {
    static let allowUnknown = Option.flag(
        "allow-unknown-kind", help: "Also a kind that no program has declared yet")

    static let time = ValueFormat<Instant>(
        "TIME", expected: "an RFC 3339 time such as 2026-11-20T08:00:00Z"
    ) { Instant(finite: $0) }

    static let level = ValueFormat<Priority>(
        "LEVEL", expected: "critical, high, normal, low, or 0 to 3"
    ) { text in
        Priority.allCases.first { "\($0)" == text || String($0.rawValue) == text }
    }

    /// A text as given, or what is in `@FILE` or, for `@-`, standard input, as far as one may want
    /// it.
    static func content(_ text: String) throws -> [UInt8] {
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
    static func arguments(_ text: String, kind: String) throws -> [UInt8] {
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

extension Kinds {
    /// What a kind asks for: as this program knows it, or as another has declared it.
    static func defaults(
        of kind: String, _ inspector: Inspector, allowsUnknown: Bool
    ) async throws -> (version: Int, options: JobOptions) {
        let known = Kinds.all()
        if let options = known.options(of: kind), let version = known.argsVersion(of: kind) {
            return (version, options)
        }
        if let declared = try await inspector.declaredKind(kind) { return declared }
        guard allowsUnknown else {
            let all = Set(known.names).union(try await inspector.kinds()).sorted()
            let hint = nearest(to: kind, among: all).map { "did you mean \($0)? " } ?? ""
            throw CommandFailure(
                exit: .notFound, message: "no program has declared the kind \(kind)",
                hint: hint + "known are: \(all.joined(separator: ", ")); "
                    + "--allow-unknown-kind takes it nevertheless")
        }
        return (1, JobOptions())
    }
}
