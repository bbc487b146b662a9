/// One call of a command: its checked values, its environment and its output.
public struct Invocation: Sendable {
    /// The command that was called.
    public let command: Command
    /// The environment, including the variables that the current context adds.
    public let environment: [String: String]
    /// The output, in the requested format.
    public let output: Output
    /// The called program.
    package let program: Program
    /// The named contexts of this user, and the current one.
    package let contexts: ResolvedContexts
    /// The operations to cancel if the command must end early.
    package let interruption = Interruption()
    let optionValues: [String: any Sendable]
    let argumentValues: [String: any Sendable]
    private let given: [String: [GivenText]]
    private let positionals: [String]

    /// The value of an option that the command declares.
    public subscript<Value>(_ option: Option<Value>) -> Value {
        guard let kept = optionValues[option.spec.name] as? Kept<Value> else {
            preconditionFailure("'\(command.name)' reads --\(option.spec.name) undeclared")
        }
        return kept.value
    }

    /// The value of an argument that the command declares.
    public subscript<Value>(_ argument: Argument<Value>) -> Value {
        guard let kept = argumentValues[argument.spec.name] as? Kept<Value> else {
            preconditionFailure("'\(command.name)' reads \(argument.spec.name) undeclared")
        }
        return kept.value
    }

    /// The URL of PostgreSQL.
    ///
    /// - Throws: `CommandFailure` (usage) if neither option, environment nor context sets it.
    package func databaseURL() throws(CommandFailure) -> String {
        try needed(GlobalOptions.databaseURL, "PostgreSQL")
    }

    /// The URL of Redis.
    ///
    /// - Throws: `CommandFailure` (usage) if neither option, environment nor context sets it.
    package func redisURL() throws(CommandFailure) -> String {
        try needed(GlobalOptions.redisURL, "Redis")
    }

    private func needed(
        _ option: Option<String?>, _ server: String
    ) throws(CommandFailure) -> String {
        guard let url = self[option] else {
            throw .usage(
                "the URL of \(server) is missing",
                hint: "pass --\(option.spec.name) URL, or set \(option.spec.environment ?? "")")
        }
        return url
    }

    /// Asks for confirmation of a change; returns if the answer is yes or `--yes` is given.
    ///
    /// - Throws: `CommandFailure` (refused) if the answer is no or there is no terminal.
    public func confirm(_ question: String) throws(CommandFailure) {
        try output.confirm(question, yes: self[GlobalOptions.yes])
    }

    /// The URLs of the environment that override those of the current context.
    package var overriding: [(variable: String, url: String)] {
        [GlobalOptions.databaseURL, GlobalOptions.redisURL].compactMap { option in
            guard let variable = option.spec.environment, given[option.spec.name] == nil,
                let url = contexts.overriding[variable]
            else { return nil }
            return (variable, url)
        }
    }

    /// The source of a server's URL: `option`, `environment` or `context`; nil if it is not set.
    package func source(of option: Option<String?>) -> String? {
        guard self[option] != nil, let variable = option.spec.environment else { return nil }
        if given[option.spec.name] != nil { return "option" }
        return environment[variable] == contexts.given[variable] ? "environment" : "context"
    }

    /// Whether this call changes shared state; a dry run does not.
    var isChange: Bool {
        guard command.effect.isChange else { return false }
        return (optionValues["dry-run"] as? Kept<Bool>)?.value != true
    }

    /// Parses and checks all values before the command runs.
    init(
        of command: Command, scanned: ScannedArguments, environment: [String: String],
        contexts: ResolvedContexts, screen: Screen, program: Program
    ) throws(CommandFailure) {
        var options: [String: any Sendable] = [:]
        for option in command.allOptions {
            var given = scanned.options[option.spec.name] ?? []
            if given.isEmpty, let variable = option.spec.environment,
                let text = environment[variable], !text.isEmpty
            {
                given = [GivenText(source: .environment(variable), text: text)]
            }
            do {
                options[option.spec.name] = try option.kept(given.map(KeptText.init))
            } catch {
                throw error.hinted("usage: " + command.usage(program: program.name))
            }
        }
        self.optionValues = options
        self.given = scanned.options
        self.positionals = scanned.positionals
        self.argumentValues = try Self.arguments(
            of: command, positionals: scanned.positionals, program: program.name)
        self.program = program
        self.contexts = contexts
        self.command = command
        self.environment = environment
        func kept<Value>(_ option: Option<Value>, or fallback: Value) -> Value {
            (options[option.spec.name] as? Kept<Value>)?.value ?? fallback
        }
        var form = Output.Form(kept(GlobalOptions.output, or: .table))
        form.color = kept(GlobalOptions.color, or: .auto)
        form.isQuiet = kept(GlobalOptions.quiet, or: false)
        form.hasHeaders = !kept(GlobalOptions.noHeaders, or: false)
        form.columns = kept(GlobalOptions.columns, or: [])
        form.isStrict = !command.effect.isChange
        form.program = ProgramName(of: program)
        if form.format.isForPeople, !kept(GlobalOptions.utc, or: false) {
            form.times = program.localTimes(environment)
        }
        self.output = Output(screen: screen, form: form, environment: environment)
    }

    /// The given ones of the options, as words of a command line.
    package func words(of options: [any DeclaredOption]) -> [String] {
        options.map(\.spec).flatMap { spec in
            (given[spec.name] ?? []).flatMap { text in
                spec.placeholder == nil ? ["--\(spec.name)"] : ["--\(spec.name)", text.text]
            }
        }
    }

    /// The command line of another page of this call, to be pasted into a shell.
    ///
    /// - Parameters:
    ///   - cursor: the option that selects the page.
    ///   - place: its value.
    package func line(behind cursor: any DeclaredOption, _ place: String) -> String {
        // The URLs of servers are omitted: they may contain passwords.
        let left = [cursor.spec, GlobalOptions.databaseURL.spec, GlobalOptions.redisURL.spec]
        let others = command.allOptions.filter { option in
            !left.contains { $0.name == option.spec.name }
        }
        let words =
            [program.name] + command.path + positionals + words(of: others)
            + ["--\(cursor.spec.name)", place]
        return words.map(shellWord).joined(separator: " ")
    }

    /// Parses words as another command's options and arguments.
    ///
    /// - Throws: `CommandFailure` (usage) for words that the command refuses.
    package func parsing(
        _ words: [String], as command: Command
    ) throws(CommandFailure) -> Invocation {
        let scanner = ArgumentScanner(specs: command.allOptions.map(\.spec), caller: command.name)
        return try Invocation(
            of: command, scanned: scanner.scan(words[...]), environment: environment,
            contexts: contexts, screen: output.screen, program: program)
    }

    private static func arguments(
        of command: Command, positionals: [String], program: String
    ) throws(CommandFailure) -> [String: any Sendable] {
        let usage = "usage: " + command.usage(program: program)
        var values: [String: any Sendable] = [:]
        var rest = positionals[...]
        for argument in command.arguments {
            let spec = argument.spec
            let taken = spec.isVariadic ? rest : rest.prefix(1)
            rest = rest.dropFirst(taken.count)
            guard taken.count >= spec.minimum else {
                let several = spec.minimum > 1 ? "at least \(spec.minimum) " : ""
                throw .usage("'\(command.name)' needs \(several)\(spec.name)", hint: usage)
            }
            let given = taken.map { text in
                KeptText(given: GivenText(source: .argument(spec.name), text: text))
            }
            do {
                values[spec.name] = try argument.kept(given)
            } catch {
                throw error.hinted(usage)
            }
        }
        guard let surplus = rest.first else { return values }
        let expected =
            switch command.arguments.count {
            case 0: "takes no argument"
            case 1: "takes one argument"
            case let count: "takes \(count) arguments"
            }
        throw .usage("'\(command.name)' \(expected); unexpected '\(surplus)'", hint: usage)
    }
}

extension CommandFailure {
    func hinted(_ hint: String) -> CommandFailure {
        guard self.hint == nil else { return self }
        return CommandFailure(exit: exit, message: message, hint: hint)
    }
}
