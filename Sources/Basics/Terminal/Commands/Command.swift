/// One thing that the program can do: how it is called, explained and run.
public struct Command: Sendable {
    /// An invocation worth showing in help.
    public struct Example: Equatable, Sendable {
        /// The command line, with the program's name.
        public var line: String
        /// What the line does.
        public var meaning: String

        /// A command line and what it does.
        public init(_ line: String, _ meaning: String) {
            self.line = line
            self.meaning = meaning
        }
    }

    /// The words that call it: `["job", "ls"]`, or `["migrate"]`.
    public let path: [String]
    /// What it does to what others see.
    public let effect: Effect
    /// One line, a sentence without a full stop.
    public let summary: String
    /// Longer explanation; paragraphs are separated by a blank line and wrapped by help.
    public let discussion: String
    /// Invocations worth showing.
    public let examples: [Example]
    /// The options that it takes.
    public let options: [any DeclaredOption]
    /// The arguments that it takes, in order.
    public let arguments: [any DeclaredArgument]
    /// What runs it.
    public let run: @Sendable (Invocation) async throws -> ExitCode

    /// A command, called by the words of its path.
    ///
    /// Its effect has no default: whether a new command may run read-only is to be decided.
    public init(
        _ path: String..., effect: Effect, summary: String, discussion: String = "",
        examples: [Example] = [],
        options: [any DeclaredOption] = [], arguments: [any DeclaredArgument] = [],
        run: @escaping @Sendable (Invocation) async throws -> ExitCode
    ) {
        self.path = path
        self.effect = effect
        self.summary = summary
        self.discussion = discussion
        self.examples = examples
        self.options = options
        self.arguments = arguments
        self.run = run
        assert(hasDistinctOptions, "'\(name)' declares an option or a letter twice")
        assert(
            arguments.dropLast().allSatisfy { !$0.spec.isVariadic },
            "'\(name)' has arguments after one that takes all")
    }

    private init(
        _ other: Command, run: @escaping @Sendable (Invocation) async throws -> ExitCode
    ) {
        path = other.path
        effect = other.effect
        summary = other.summary
        discussion = other.discussion
        examples = other.examples
        options = other.options
        arguments = other.arguments
        self.run = run
    }

    /// The same command, run by `body`, which is given what ran it before.
    package func mapped(
        _ body:
            @escaping @Sendable (
                Invocation, @Sendable (Invocation) async throws -> ExitCode
            ) async throws -> ExitCode
    ) -> Command {
        let run = run
        return Command(self) { try await body($0, run) }
    }

    private var hasDistinctOptions: Bool {
        let names = allOptions.map(\.spec.name)
        let letters = allOptions.compactMap(\.spec.short)
        return Set(names).count == names.count && Set(letters).count == letters.count
    }

    /// The path as typed, such as `job ls`.
    public var name: String { path.joined(separator: " ") }

    /// The command's own options, then those that every command has.
    public var allOptions: [any DeclaredOption] { options + without(GlobalOptions.all) }

    /// As ``allOptions``, without those that mean nothing to it.
    var shownOptions: [any DeclaredOption] {
        options + without(GlobalOptions.shown(for: effect))
    }

    private func without(_ globals: [any DeclaredOption]) -> [any DeclaredOption] {
        let own = Set(options.map(\.spec.name))
        return globals.filter { !own.contains($0.spec.name) }
    }

    func usage(program: String) -> String {
        var words = [program] + path
        words += options.filter(\.spec.isRequired).map { option in
            "--\(option.spec.name) \(option.spec.placeholder ?? "")"
        }
        words.append("[options]")
        words += arguments.map(\.spec.usage)
        return words.joined(separator: " ")
    }
}
