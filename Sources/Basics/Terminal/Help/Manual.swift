/// The parts of a manual that are not in the declarations of commands.
package struct ManualNotes: Sendable {
    /// Environment variables and their meanings.
    package var environment: [(name: String, meaning: String)] = []
    /// The variables that the modules read, in addition to ``environment``.
    package var modules: [(name: String, variables: [(name: String, meaning: String)])] = []
    package var files: [(name: String, meaning: String)] = []
    package var exitCodes: [(code: ExitCode, meaning: String)] = []

    /// Empty notes.
    package init() {}
}

/// The manual pages of a program: one of its own, and one for each noun.
package struct Manual {
    /// One page and its file name.
    package struct Page: Sendable {
        package var file: String
        package var text: String
    }

    private let program: Program
    private let notes: ManualNotes

    /// The manual of a program.
    package init(of program: Program, notes: ManualNotes) {
        self.program = program
        self.notes = notes
    }

    package var pages: [Page] { [overview] + program.nouns.map(page) }

    private func file(_ name: String) -> String { name + ".1" }

    private var overview: Page {
        let name = program.name
        var roff = Roff(name: name, version: program.version, program: name)
        roff.section("NAME")
        roff.line("\(name) - \(program.summary)")
        roff.section("SYNOPSIS")
        roff.line("\(name) COMMAND [options] [arguments]")
        roff.section("DESCRIPTION")
        for noun in program.nouns {
            let verbs = program.commands.filter { $0.path.first == noun && $0.path.count > 1 }
                .map { $0.path.dropFirst().joined(separator: " ") }
            let list = verbs.isEmpty ? "" : " (\(verbs.joined(separator: ", ")))"
            roff.item(noun, "\(program.summary(ofNoun: noun))\(list); see \(name)-\(noun)(1).")
        }
        add(options: GlobalOptions.all.map(\.spec), to: &roff)
        addEnd(to: &roff, isFull: true)
        let examples = program.nouns.compactMap { noun in
            program.commands.first { $0.path.first == noun }?.examples.first
        }
        add(examples, to: &roff)
        roff.section("SEE ALSO")
        roff.line(program.nouns.map { "\(name)-\($0)(1)" }.joined(separator: ", "))
        return Page(file: file(name), text: roff.text)
    }

    private func page(_ noun: String) -> Page {
        let name = "\(program.name)-\(noun)"
        let commands = program.commands.filter { $0.path.first == noun }
        var roff = Roff(name: name, version: program.version, program: program.name)
        roff.section("NAME")
        roff.line("\(name) - \(program.summary(ofNoun: noun))")
        roff.section("SYNOPSIS")
        roff.code(commands.map { $0.usage(program: program.name) })
        roff.section("COMMANDS")
        for command in commands { add(command, to: &roff) }
        addEnd(to: &roff, isFull: false)
        add(commands.flatMap(\.examples), to: &roff)
        roff.section("SEE ALSO")
        roff.line("\(program.name)(1), which lists the options of every command")
        return Page(file: file(name), text: roff.text)
    }

    private func add(_ command: Command, to roff: inout Roff) {
        roff.macro("SS", "\(program.name) \(command.name)")
        roff.line(command.summary + ".")
        for paragraph in HelpText.paragraphs(
            of: ProgramName(of: program).inserted(in: command.discussion))
        { roff.paragraph(paragraph) }
        if command.effect.isChange { roff.paragraph("Refused with --read-only.") }
        let named = ProgramName(of: program)
        for argument in command.arguments {
            roff.item(argument.spec.usage, named.inserted(in: argument.spec.help))
        }
        for option in command.options { add(option.spec, to: &roff) }
    }

    private func add(_ spec: OptionSpec, to roff: inout Roff) {
        let short = spec.short.map { "-\($0), " } ?? ""
        let value = spec.placeholder.map { " " + $0 } ?? ""
        roff.item(
            "\(short)--\(spec.name)\(value)",
            ProgramName(of: program).inserted(in: HelpText.right(of: spec)))
    }

    private func add(options: [OptionSpec], to roff: inout Roff) {
        roff.section("OPTIONS OF EVERY COMMAND")
        for spec in options { add(spec, to: &roff) }
    }

    private func addEnd(to roff: inout Roff, isFull: Bool) {
        roff.section("EXIT STATUS")
        for note in notes.exitCodes { roff.item(String(note.code.rawValue), note.meaning) }
        if isFull {
            roff.section("ENVIRONMENT")
            for note in notes.environment + notes.modules.flatMap(\.variables) {
                roff.item(note.name, note.meaning)
            }
            roff.section("FILES")
            for note in notes.files { roff.item(note.name, note.meaning) }
        }
    }

    private func add(_ examples: [Command.Example], to roff: inout Roff) {
        guard !examples.isEmpty else { return }
        roff.section("EXAMPLES")
        for example in examples {
            roff.paragraph(
                example.meaning.prefix(1).uppercased() + example.meaning.dropFirst() + ":")
            roff.code([ProgramName(of: program).inserted(in: example.line)])
        }
    }
}
