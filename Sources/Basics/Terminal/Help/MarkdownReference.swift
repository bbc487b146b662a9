/// The reference pages of a program in Markdown, generated from its declarations: `cli.md` lists
/// every command, `settings.md` every environment variable and the flag that overrides it.
package struct MarkdownReference {
    private let program: Program
    private let notes: ManualNotes

    /// The reference of a program.
    package init(of program: Program, notes: ManualNotes) {
        self.program = program
        self.notes = notes
    }

    package var pages: [Manual.Page] {
        [
            Manual.Page(file: "cli.md", text: commandReference),
            Manual.Page(file: "settings.md", text: settingsReference),
        ]
    }

    // MARK: Commands

    private var commandReference: String {
        var page = MarkdownText("Commands of \(program.name)", generatedBy: program.name)
        page.paragraph("\(program.summary).")
        page.paragraph(
            "Call a command as `\(program.name) NOUN VERB [options] [arguments]`. "
                + "`\(program.name) help NOUN VERB` prints the text of this page; "
                + "[settings.md](settings.md) lists the environment variables.")
        page.table(
            ["Noun", "Purpose", "Verbs"],
            program.nouns.map { noun in
                [
                    "[\(noun)](#\(noun))", page.escaped(program.summary(ofNoun: noun)),
                    commands(of: noun).map { $0.path.dropFirst().joined(separator: " ") }
                        .filter { !$0.isEmpty }.joined(separator: ", "),
                ]
            })
        page.heading(2, "Options of every command")
        page.table(["Option", "Meaning"], GlobalOptions.all.map { row(of: $0.spec, in: page) })
        page.heading(2, "Exit status")
        page.table(
            ["Code", "Meaning"],
            notes.exitCodes.map { ["\($0.code.rawValue)", page.escaped($0.meaning)] })
        for noun in program.nouns {
            page.heading(2, noun)
            for command in commands(of: noun) { add(command, to: &page) }
        }
        return page.text
    }

    private func commands(of noun: String) -> [Command] {
        program.commands.filter { $0.path.first == noun }
    }

    private func add(_ command: Command, to page: inout MarkdownText) {
        let named = ProgramName(of: program)
        page.heading(3, "\(program.name) \(command.name)")
        page.paragraph(page.escaped(command.summary) + ".")
        page.code([command.usage(program: program.name)], language: "text")
        for paragraph in HelpText.paragraphs(of: named.inserted(in: command.discussion)) {
            page.paragraph(page.escaped(paragraph))
        }
        if command.effect.isChange { page.paragraph("Refused with `--read-only`.") }
        if !command.arguments.isEmpty {
            page.table(
                ["Argument", "Meaning"],
                command.arguments.map {
                    [page.code($0.spec.usage), page.escaped(named.inserted(in: $0.spec.help))]
                })
        }
        if !command.options.isEmpty {
            page.table(["Option", "Meaning"], command.options.map { row(of: $0.spec, in: page) })
        }
        guard !command.examples.isEmpty else { return }
        page.code(
            command.examples.flatMap { ["# \($0.meaning)", named.inserted(in: $0.line)] },
            language: "sh")
    }

    private func row(of spec: OptionSpec, in page: MarkdownText) -> [String] {
        let short = spec.short.map { "-\($0), " } ?? ""
        let value = spec.placeholder.map { " " + $0 } ?? ""
        let help = ProgramName(of: program).inserted(in: HelpText.right(of: spec))
        return [page.code("\(short)--\(spec.name)\(value)"), page.escaped(help)]
    }

    // MARK: Settings

    private var settingsReference: String {
        var page = MarkdownText("Settings of \(program.name)", generatedBy: program.name)
        page.paragraph(
            "A flag overrides its environment variable, and the variable overrides the context "
                + "in `contexts.json`. An empty variable counts as unset. `\(program.name) doctor` "
                + "prints the settings in use, without secrets.")
        page.heading(2, "Variables that a flag overrides")
        page.table(["Variable", "Flag", "Meaning", "Commands"], flagged.map { $0.row(page) })
        page.heading(2, "Other variables")
        let names = Set(flagged.map(\.variable))
        page.table(
            ["Variable", "Meaning"],
            notes.environment.filter { !names.contains(String($0.name.prefix { $0 != "," })) }
                .map { ["`\($0.name)`", page.escaped($0.meaning)] })
        for module in notes.modules where !module.variables.isEmpty {
            page.heading(2, "Variables of the module \(module.name)")
            page.table(
                ["Variable", "Meaning"],
                module.variables.map { ["`\($0.name)`", page.escaped($0.meaning)] })
        }
        page.heading(2, "Files")
        page.table(
            ["File", "Content"], notes.files.map { ["`\($0.name)`", page.escaped($0.meaning)] })
        return page.text
    }

    /// A variable that sets an option.
    private struct Flagged {
        var variable: String
        var spec: OptionSpec
        var commands: [String]

        func row(_ page: MarkdownText) -> [String] {
            let notes = [
                spec.isRequired ? "required" : nil, spec.defaultText.map { "default: \($0)" },
            ].compactMap(\.self).joined(separator: "; ")
            return [
                page.code(variable),
                page.code("--\(spec.name)\(spec.placeholder.map { " " + $0 } ?? "")"),
                page.escaped(notes.isEmpty ? spec.help : "\(spec.help) (\(notes))"),
                commands.isEmpty ? "all" : commands.map { "`\($0)`" }.joined(separator: ", "),
            ]
        }
    }

    private var flagged: [Flagged] {
        var found: [Flagged] = []
        for option in GlobalOptions.all {
            guard let variable = option.spec.environment else { continue }
            found.append(Flagged(variable: variable, spec: option.spec, commands: []))
        }
        for command in program.commands {
            for option in command.options {
                guard let variable = option.spec.environment else { continue }
                if let index = found.firstIndex(where: { $0.variable == variable }) {
                    found[index].commands.append(command.name)
                } else {
                    found.append(
                        Flagged(variable: variable, spec: option.spec, commands: [command.name]))
                }
            }
        }
        return found
    }
}

/// A builder of a page of Markdown.
struct MarkdownText {
    private(set) var text: String

    init(_ title: String, generatedBy program: String) {
        text = "# \(title)\n\n<!-- Written by '\(program) manual --markdown'; do not edit. -->\n"
    }

    mutating func heading(_ level: Int, _ title: String) {
        text += "\n" + String(repeating: "#", count: level) + " \(title)\n"
    }

    mutating func paragraph(_ words: String) { text += "\n\(words)\n" }

    mutating func code(_ lines: [String], language: String) {
        text += "\n```\(language)\n" + lines.map { $0 + "\n" }.joined() + "```\n"
    }

    /// Adds a table; the cells are Markdown.
    mutating func table(_ head: [String], _ rows: [[String]]) {
        text += "\n| " + head.joined(separator: " | ") + " |\n"
        text += "|" + String(repeating: " --- |", count: head.count) + "\n"
        for row in rows { text += "| " + row.joined(separator: " | ") + " |\n" }
    }

    /// A cell of code; a bar is escaped, because it would end the cell.
    func code(_ plain: String) -> String {
        "`"
            + plain.split(separator: "|", omittingEmptySubsequences: false)
            .joined(separator: "\\|") + "`"
    }

    /// Plain text with Markdown's markup characters escaped.
    func escaped(_ plain: String) -> String {
        var result = ""
        for character in plain {
            if "\\|<*`".contains(character) { result += "\\" }
            result.append(character)
        }
        return result
    }
}
