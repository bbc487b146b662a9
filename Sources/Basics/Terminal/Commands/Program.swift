/// The command-line program: its commands, and how it finds and runs one.
package struct Program: Sendable {
    package let name: String
    package let version: String
    /// One line, without a period.
    package let summary: String
    /// A summary of each noun, for the overview.
    package let nounSummaries: [String: String]
    package let commands: [Command]
    /// Shared state of the commands.
    package let context: any Sendable
    private let describe: @Sendable (any Error) -> CommandFailure?
    /// The format of times for people, from the environment.
    let localTimes: @Sendable ([String: String]) -> TimeFormat

    /// A program.
    ///
    /// `describe` describes the errors of other modules. It returns nil for unknown errors, which
    /// are printed with their own description and exit code 1.
    package init(
        name: String, version: String, summary: String, nounSummaries: [String: String] = [:],
        commands: [Command], context: any Sendable = (),
        localTimes: @escaping @Sendable ([String: String]) -> TimeFormat = { _ in .utc },
        describe: @escaping @Sendable (any Error) -> CommandFailure? = { _ in nil }
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.nounSummaries = nounSummaries
        self.commands = commands
        self.context = context
        self.localTimes = localTimes
        self.describe = describe
    }

    /// Finds, checks and runs the command that the arguments name.
    ///
    /// The arguments do not include the program's name. Errors are printed, never thrown, and
    /// standard output is flushed on return.
    package func run(
        _ arguments: [String], environment: [String: String], screen: Screen
    ) async -> ExitCode {
        var form = Output.Form(Self.guessedFormat(arguments))
        form.program = ProgramName(of: self)
        var output = Output(screen: screen, form: form, environment: environment)
        do {
            let exit: ExitCode
            switch try plan(arguments, environment: environment, screen: screen) {
            case .show(let page):
                try show(page, output)
                exit = .done
            case .run(let invocation):
                output = invocation.output
                for warning in invocation.contexts.warnings { output.warn(warning) }
                exit = try await Execution(invocation: invocation, program: self).run()
            }
            screen.restore()
            try screen.flush()
            return exit
        } catch {
            screen.restore()
            return report(error, output)
        }
    }

    private func report(_ error: any Error, _ output: Output) -> ExitCode {
        guard let failure = failure(of: error) else { return .done }
        output.printFailure(failure, program: name)
        return failure.exit
    }

    /// The failure that describes an error; nil for an error that needs no message.
    func failure(of error: any Error) -> CommandFailure? {
        if let failure = error as? CommandFailure { return failure }
        if let output = error as? OutputError { return output.failure }
        return describe(error) ?? CommandFailure(exit: .failed, message: "\(error)")
    }

    /// The format of errors that occur before the options are parsed.
    private static func guessedFormat(_ arguments: [String]) -> OutputFormat {
        let words = arguments.prefix { $0 != "--" }
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if ["--output=json", "-ojson", "-o=json"].contains(word) { return .json }
            if ["--output", "-o"].contains(word), next == "json" { return .json }
        }
        return .table
    }

    enum Page: Equatable {
        case version
        case overview
        case verbs(noun: String)
        case command(path: [String])
    }

    enum Plan {
        case show(Page)
        case run(Invocation)
    }

    func plan(
        _ arguments: [String], environment: [String: String], screen: Screen
    ) throws(CommandFailure) -> Plan {
        if arguments.first == "--version" { return .show(.version) }
        if arguments.first == "help" {
            return .show(try page(for: arguments.dropFirst().prefix { !$0.hasPrefix("-") }))
        }
        let (path, rest) = try splitPath(arguments)
        let options = arguments.prefix { $0 != "--" }
        if options.contains("--help") || options.contains("-h") {
            return .show(try page(for: path))
        }
        guard let command = commands.first(where: { $0.path == path }) else {
            throw incomplete(path)
        }
        let scanner = ArgumentScanner(
            specs: command.allOptions.map(\.spec), caller: "\(name) \(command.name)")
        let scanned = try scanner.scan(rest)
        let needed = [GlobalOptions.databaseURL, GlobalOptions.redisURL].map(\.spec)
            .filter { scanned.options[$0.name] == nil }.compactMap(\.environment)
        let contexts = try ResolvedContexts(
            asked: scanned.options[GlobalOptions.context.spec.name]?.first?.text,
            environment: SecretFile.resolved(needed, in: environment))
        return .run(
            try Invocation(
                of: command, scanned: scanned, environment: contexts.environment,
                contexts: contexts, screen: screen, program: self))
    }

    /// Separates the words of a command's path from global options before and between them.
    private func splitPath(
        _ arguments: [String]
    ) throws(CommandFailure) -> (path: [String], rest: ArraySlice<String>) {
        let globals = GlobalOptions.all.map(\.spec)
        var path: [String] = []
        var passedOver: [String] = []
        var rest = arguments[...]
        while let word = rest.first, word != "--" {
            if ArgumentScanner.isOption(word) {
                guard let spec = globals.first(where: { Self.names(word, $0) }) else {
                    if commands.contains(where: { $0.path == path }) { break }
                    throw misplaced(word, among: globals)
                }
                let hasValue = word.contains("=") || (!word.hasPrefix("--") && word.count > 2)
                let takesNext = spec.placeholder != nil && !hasValue
                let taken = rest.prefix(takesNext ? 2 : 1)
                passedOver += taken
                rest = rest.dropFirst(taken.count)
                continue
            }
            let longer = path + [word]
            guard commands.contains(where: { $0.path.starts(with: longer) }) else {
                // After a command that has verbs but no arguments, the word is a wrong verb.
                guard let command = commands.first(where: { $0.path == path }),
                    !command.arguments.isEmpty || verbs(after: path).isEmpty
                else { throw unknown(longer) }
                break
            }
            path = longer
            rest = rest.dropFirst()
        }
        return (path, passedOver + rest)
    }

    /// Whether a word such as `--output=json` or `-ojson` gives the option.
    private static func names(_ word: String, _ spec: OptionSpec) -> Bool {
        guard word.hasPrefix("--") else { return spec.short == word.dropFirst().first }
        return word == "--\(spec.name)" || word.hasPrefix("--\(spec.name)=")
    }

    private func misplaced(_ word: String, among globals: [OptionSpec]) -> CommandFailure {
        let option = String(word.prefix { $0 != "=" })
        let meant = nearest(
            to: String(option.drop { $0 == "-" }), among: globals.map(\.name) + ["version"])
        let hint =
            meant.map { "did you mean '--\($0)'?" }
            ?? "options of a command follow the command: '\(name) COMMAND \(option) …'"
        return .usage("there is no option '\(option)' before the command", hint: hint)
    }

    private func page(for path: [String]) throws(CommandFailure) -> Page {
        if path.isEmpty { return .overview }
        if commands.contains(where: { $0.path == path }) { return .command(path: path) }
        guard commands.contains(where: { $0.path.starts(with: path) }), let noun = path.first
        else { throw unknown(path) }
        return .verbs(noun: noun)
    }

    private func show(_ page: Page, _ output: Output) throws {
        let help = HelpText(
            program: self, width: output.screen.outputIsTerminal ? output.screen.width : 80,
            paint: output.paint)
        let lines =
            switch page {
            case .version: ["\(name) \(version)"]
            case .overview: help.overview()
            case .verbs(let noun): help.verbs(of: noun)
            case .command(let path):
                commands.first { $0.path == path }.map(help.explanation) ?? []
            }
        for line in lines { try output.line(line) }
    }

    /// The first words of all commands, in the order of their declaration.
    var nouns: [String] {
        var seen: Set<String> = []
        return commands.compactMap(\.path.first).filter { seen.insert($0).inserted }
    }

    func summary(ofNoun noun: String) -> String {
        nounSummaries[noun] ?? commands.first { $0.path == [noun] }?.summary
            ?? verbs(after: [noun]).joined(separator: ", ")
    }

    private func verbs(after path: [String]) -> [String] {
        commands.filter { $0.path.starts(with: path) && $0.path.count > path.count }
            .map { $0.path[path.count] }
    }

    private func incomplete(_ path: [String]) -> CommandFailure {
        guard !path.isEmpty else {
            return .usage(
                "the command is missing", hint: "'\(name) --help' lists the commands")
        }
        let words = path.joined(separator: " ")
        return .usage(
            "'\(words)' needs a verb: \(verbs(after: path).joined(separator: ", "))",
            hint: "'\(name) \(words) --help' explains them")
    }

    private func unknown(_ path: [String]) -> CommandFailure {
        let known = Array(path.dropLast())
        let words = path.joined(separator: " ")
        let candidates = known.isEmpty ? nouns + ["help"] : verbs(after: known)
        let caller = ([name] + known).joined(separator: " ")
        let hint =
            nearest(to: path.last ?? "", among: candidates).map {
                "did you mean '\(caller) \($0)'?"
            } ?? "'\(caller) --help' lists the commands"
        return .usage("there is no command '\(words)'", hint: hint)
    }
}
