import ErrandTerminal

extension Invocation {
    /// A word as given or, for `-`, the first line of standard input: command-line arguments are
    /// visible in the process list.
    package func word(_ given: String, asking prompt: String) throws -> String {
        guard given == "-" else { return given }
        if output.screen.inputIsTerminal { output.note("\(prompt), then press Enter") }
        var reader = try LineReader(path: "-")
        return try reader.next().map { String(decoding: $0.prefix(500), as: UTF8.self) } ?? ""
    }
}
