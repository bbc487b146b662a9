/// The options and positional arguments of a command line, not yet parsed.
struct ScannedArguments: Equatable, Sendable {
    var options: [String: [GivenText]] = [:]
    var positionals: [String] = []
}

/// Splits a command line into options and positional arguments, in any order.
///
/// The C library's `getopt_long` does the same, but it always accepts unambiguous prefixes of
/// long names: a script that uses `--q` could change its meaning, or break, when a later version
/// adds an option. It also keeps its state in global variables, and its errors do not identify
/// the wrong word.
struct ArgumentScanner {
    let specs: [OptionSpec]
    /// The command before `--help` in a hint, such as `errand job ls`.
    let caller: String

    func scan(_ arguments: ArraySlice<String>) throws(CommandFailure) -> ScannedArguments {
        var scanned = ScannedArguments()
        var rest = arguments
        while let word = rest.popFirst() {
            if word == "--" {
                scanned.positionals += rest
                break
            }
            if word.hasPrefix("--") {
                try takeLong(word, &rest, &scanned)
            } else if Self.isOption(word) {
                try takeShort(word, &rest, &scanned)
            } else {
                scanned.positionals.append(word)
            }
        }
        return scanned
    }

    /// A lone dash means standard input, and a dash before a digit begins a negative number.
    static func isOption(_ word: String) -> Bool {
        guard word.first == "-", let second = word.dropFirst().first else { return false }
        return !(second.isASCII && second.isNumber)
    }

    private func takeLong(
        _ word: String, _ rest: inout ArraySlice<String>, _ scanned: inout ScannedArguments
    ) throws(CommandFailure) {
        let parts = word.dropFirst(2).split(
            separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map(String.init) ?? ""
        guard let spec = specs.first(where: { $0.name == name }) else { throw unknown(name) }
        guard spec.placeholder != nil else {
            if parts.count > 1 { throw .usage("--\(name) takes no value") }
            return try record(spec, "", &scanned)
        }
        if parts.count > 1 { return try record(spec, String(parts[1]), &scanned) }
        try record(spec, try value(of: spec, &rest), &scanned)
    }

    private func takeShort(
        _ word: String, _ rest: inout ArraySlice<String>, _ scanned: inout ScannedArguments
    ) throws(CommandFailure) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let spec = specs.first(where: { $0.short == letter }) else {
                throw .usage(
                    "there is no option '-\(letter)'",
                    hint: "'\(caller) --help' lists the options")
            }
            guard spec.placeholder != nil else {
                try record(spec, "", &scanned)
                continue
            }
            let attached = letters.first == "=" ? letters.dropFirst() : letters
            let text = letters.isEmpty ? try value(of: spec, &rest) : String(attached)
            return try record(spec, text, &scanned)
        }
    }

    private func value(
        of spec: OptionSpec, _ rest: inout ArraySlice<String>
    ) throws(CommandFailure) -> String {
        let placeholder = spec.placeholder ?? "VALUE"
        guard let next = rest.first else {
            throw .usage("--\(spec.name) needs a value: --\(spec.name) \(placeholder)")
        }
        // A forgotten value is more likely than a value that begins with two dashes.
        guard !next.hasPrefix("--") else {
            throw .usage(
                "--\(spec.name) needs a value, and '\(next)' looks like an option",
                hint: "if it is the value, write --\(spec.name)=\(next)")
        }
        rest.removeFirst()
        return next
    }

    private func record(
        _ spec: OptionSpec, _ text: String, _ scanned: inout ScannedArguments
    ) throws(CommandFailure) {
        let isValue = spec.placeholder != nil
        // Using the last one silently could make a bulk change affect unintended jobs.
        if isValue, !spec.isRepeatable, scanned.options[spec.name] != nil {
            throw .usage("--\(spec.name) is given twice")
        }
        scanned.options[spec.name, default: []].append(
            GivenText(source: .option(spec.name), text: text))
    }

    private func unknown(_ name: String) -> CommandFailure {
        let hint =
            nearest(to: name, among: specs.map(\.name)).map { "did you mean '--\($0)'?" }
            ?? "'\(caller) --help' lists the options"
        return .usage("there is no option '--\(name)'", hint: hint)
    }
}
