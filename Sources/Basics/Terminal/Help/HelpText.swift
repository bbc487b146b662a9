/// The texts that `--help` and `help` print, generated from the declarations.
struct HelpText {
    let program: Program
    let width: Int
    let paint: Paint

    /// The overview of the program.
    func overview() -> [String] {
        var lines = ["\(program.name): \(program.summary)", ""]
        lines.append("usage: \(program.name) COMMAND [options] [arguments]")
        lines += ["", heading("Commands")]
        let nouns = program.nouns
        lines += columns(nouns.map { ("  " + $0, program.summary(ofNoun: $0)) })
        lines += globalOptions()
        lines += [
            "",
            "'\(program.name) help COMMAND' explains a command; "
                + "'\(program.name) --version' prints the version.",
        ]
        return lines
    }

    /// The verbs of a noun.
    func verbs(of noun: String) -> [String] {
        let commands = program.commands.filter { $0.path.first == noun }
        var lines = ["usage: \(program.name) \(noun) VERB [options] [arguments]"]
        lines += ["", heading("Verbs")]
        lines += columns(commands.map { ("  " + $0.name, $0.summary) })
        lines += ["", "'\(program.name) help \(noun) VERB' explains a verb."]
        return lines
    }

    private func usage(of command: Command) -> [String] {
        let text = "usage: " + command.usage(program: program.name)
        guard text.count > width else { return [text] }
        let indent = "       "
        let lines = wrapped(text, to: width - indent.count)
        return lines.prefix(1) + lines.dropFirst().map { indent + $0 }
    }

    /// The help of a command.
    func explanation(of command: Command) -> [String] {
        var lines = [command.summary, ""] + usage(of: command)
        let named = ProgramName(of: program)
        for paragraph in Self.paragraphs(of: named.inserted(in: command.discussion)) {
            lines.append("")
            lines += wrapped(paragraph, to: min(width, 100))
        }
        if !command.arguments.isEmpty {
            lines += ["", heading("Arguments")]
            lines += columns(command.arguments.map { ("  " + $0.spec.usage, $0.spec.help) })
        }
        if !command.options.isEmpty {
            lines += ["", heading("Options")]
            lines += columns(command.options.map { (left(of: $0.spec), Self.right(of: $0.spec)) })
        }
        lines += globalOptions(GlobalOptions.shown(for: command.effect))
        if !command.examples.isEmpty {
            lines += ["", heading("Examples")]
            for example in command.examples {
                lines += ["  # " + example.meaning] + broken(named.inserted(in: example.line))
            }
        }
        let deeper = program.commands.filter { $0.path.starts(with: command.path) }.dropFirst()
        if !deeper.isEmpty {
            lines += ["", heading("See also")]
            lines += columns(deeper.map { ("  \(program.name) \($0.name)", $0.summary) })
        }
        return lines
    }

    private func globalOptions(
        _ options: [any DeclaredOption] = GlobalOptions.all
    ) -> [String] {
        ["", heading("Options of every command")]
            + columns(options.map { (left(of: $0.spec), Self.right(of: $0.spec)) })
    }

    private func heading(_ text: String) -> String { paint(text + ":", .bold) }

    private func left(of spec: OptionSpec) -> String {
        let short = spec.short.map { "-\($0), " } ?? "    "
        return "  \(short)--\(spec.name)" + (spec.placeholder.map { " " + $0 } ?? "")
    }

    static func right(of spec: OptionSpec) -> String {
        var notes: [String] = []
        if spec.isRequired { notes.append("required") }
        if spec.isRepeatable { notes.append("repeatable") }
        if let fallback = spec.defaultText { notes.append("default: \(fallback)") }
        if let variable = spec.environment { notes.append("environment: \(variable)") }
        return notes.isEmpty ? spec.help : spec.help + " (" + notes.joined(separator: "; ") + ")"
    }

    /// Two columns; the right one is wrapped, and begins on the next line if the left is too long.
    private func columns(_ rows: [(left: String, right: String)]) -> [String] {
        let longest = rows.map { DisplayWidth.of($0.left) }.filter { $0 <= 34 }.max() ?? 0
        let indent = String(repeating: " ", count: longest + 2)
        let named = ProgramName(of: program)
        var lines: [String] = []
        for row in rows {
            var texts = wrapped(named.inserted(in: row.right), to: max(30, width - longest - 2))[
                ...]
            if DisplayWidth.of(row.left) > longest {
                lines.append(row.left)
            } else {
                let first = texts.popFirst() ?? ""
                lines.append(DisplayWidth.padded(row.left, to: longest) + "  " + first)
            }
            lines += texts.map { indent + $0 }
        }
        return lines
    }

    /// A command line, broken before options if it is too long.
    private func broken(_ call: String) -> [String] {
        let limit = max(60, width)
        guard DisplayWidth.of(call) + 2 > limit else { return ["  " + call] }
        var lines = [""]
        var rest = call[...]
        while !rest.isEmpty {
            let end = rest.dropFirst().firstRange(of: " --")?.lowerBound ?? rest.endIndex
            let part = String(rest[..<end])
            rest = rest[end...]
            let last = lines.count - 1
            let needed = DisplayWidth.of(lines[last]) + DisplayWidth.of(part) + 2
            if needed + (rest.isEmpty ? 0 : 2) > limit, !lines[last].isEmpty {
                lines[last] += " \\"
                lines.append("   " + part)
            } else {
                lines[last] += part
            }
        }
        return lines.map { "  " + $0 }
    }

    static func paragraphs(of text: String) -> [String] {
        var paragraphs: [String] = []
        var current: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if !line.isEmpty {
                current.append(line)
            } else if !current.isEmpty {
                paragraphs.append(current.joined(separator: " "))
                current = []
            }
        }
        if !current.isEmpty { paragraphs.append(current.joined(separator: " ")) }
        return paragraphs
    }

    private func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var current = ""
        for word in text.split(separator: " ") {
            if !current.isEmpty,
                DisplayWidth.of(current) + 1 + DisplayWidth.of(String(word)) > width
            {
                lines.append(current)
                current = ""
            }
            current += (current.isEmpty ? "" : " ") + word
        }
        if !current.isEmpty { lines.append(current) }
        return lines
    }
}
