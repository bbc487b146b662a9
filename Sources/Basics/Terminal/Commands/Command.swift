/// One command of the program: its path, help and implementation.
public struct Command: Sendable {
    /// An example for help.
    public struct Example: Equatable, Sendable {
        /// The command line, with the program's name.
        public var line: String
        /// The purpose of the line.
        public var meaning: String

        /// A command line and its purpose.
        public init(_ line: String, _ meaning: String) {
            self.line = line
            self.meaning = meaning
        }
    }

    /// The words that call it: `["job", "ls"]`, or `["migrate"]`.
    public let path: [String]
    /// The effect on shared state.
    public let effect: Effect
    /// One line, a sentence without a period.
    public let summary: String
    /// A longer explanation; paragraphs are separated by a blank line and wrapped by help.
    public let discussion: String
    /// Examples for help.
    public let examples: [Example]
    /// The command's own options.
    public let options: [any DeclaredOption]
    /// The command's arguments, in order.
    public let arguments: [any DeclaredArgument]
    /// The implementation.
    public let run: @Sendable (Invocation) async throws -> ExitCode

    /// A command, called by the words of its path.
    ///
    /// The effect has no default: each new command must declare it.
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

    /// The same command, run by `body`, which receives the original implementation.
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

    /// The command's own options, then the global ones.
    public var allOptions: [any DeclaredOption] { options + without(GlobalOptions.all) }

    /// ``allOptions`` without those that do not apply to the command.
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
