/// The tree of commands, for completion scripts and the manual.
struct CommandTree {
    /// The possible values of an option or argument.
    enum Values: Equatable {
        case anything
        case file
        case choices([String])
        /// The names that `errand NOUN ls --output name` prints.
        case names(noun: String)
    }

    let program: Program

    /// The paths of all commands and their prefixes; the empty path is first.
    var places: [[String]] {
        var places: [[String]] = [[]]
        for command in program.commands {
            for length in 1...command.path.count {
                let place = Array(command.path.prefix(length))
                if !places.contains(place) { places.append(place) }
            }
        }
        return places
    }

    func command(at place: [String]) -> Command? {
        program.commands.first { $0.path == place }
    }

    /// The possible next words at a path, with their summaries.
    func next(at place: [String]) -> [(word: String, summary: String)] {
        var words: [(word: String, summary: String)] = []
        for other in places where other.count == place.count + 1 && other.starts(with: place) {
            let word = other[place.count]
            let summary =
                place.isEmpty
                ? program.summary(ofNoun: word) : command(at: other)?.summary ?? ""
            words.append((word, summary))
        }
        return place.isEmpty ? words + [("help", "Explain a command")] : words
    }

    /// The options at a path: those of its command, or the global ones.
    func options(at place: [String]) -> [OptionSpec] {
        (command(at: place)?.shownOptions ?? GlobalOptions.all).map(\.spec)
    }

    /// Every option that takes a value, of any command.
    var valueOptions: [OptionSpec] {
        var seen: Set<String> = []
        let all = program.commands.flatMap(\.allOptions) + GlobalOptions.all
        return all.map(\.spec).filter { $0.placeholder != nil && seen.insert($0.name).inserted }
    }

    func values(of option: OptionSpec) -> Values {
        if !option.choices.isEmpty { return .choices(option.choices) }
        // An option named after a noun, such as --queue, takes a name of that noun.
        let name = option.name
        if let noun = [name, String(name.dropLast(name.hasSuffix("s") ? 1 : 0))].first(
            where: hasNames)
        {
            return .names(noun: noun)
        }
        return option.placeholder == "FILE" ? .file : .anything
    }

    /// The possible values of the first argument at a path.
    func values(at place: [String]) -> Values {
        guard let command = command(at: place), let argument = command.arguments.first?.spec else {
            return .anything
        }
        if !argument.choices.isEmpty { return .choices(argument.choices) }
        if ["FILE", "FOLDER"].contains(argument.name) { return .file }
        if hasNames(argument.name.lowercased()) { return .names(noun: argument.name.lowercased()) }
        guard ["ID", "NAME"].contains(argument.name), let noun = place.first, hasNames(noun) else {
            return .anything
        }
        return .names(noun: noun)
    }

    private func hasNames(_ noun: String) -> Bool { command(at: [noun, "ls"]) != nil }

    /// The options that select the servers.
    static let serverOptions = [
        GlobalOptions.context.spec, GlobalOptions.databaseURL.spec, GlobalOptions.redisURL.spec,
    ].map { "--\($0.name)" }

    /// The command that prints the names, with a short timeout.
    ///
    /// - Parameter servers: shell words for those of ``serverOptions`` that the line contains.
    func listing(_ noun: String, servers: String) -> String {
        let hasLimit = command(at: [noun, "ls"])?.options.contains { $0.spec.name == "limit" }
        return "\(program.name) \(noun) ls --output name --quiet --command-timeout 2s"
            + (hasLimit == true ? " --limit 200" : "") + " \(servers) 2>/dev/null"
    }

    // MARK: Examples

    /// The words of the program's call within a shell line, without quotes; nil if the line does
    /// not call it.
    func words(ofExample line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var rest = line[...]
        while let character = rest.popFirst() {
            switch character {
            case "'", "\"":
                let quoted = rest.prefix { $0 != character }
                word = (word ?? "") + quoted
                rest = rest.dropFirst(quoted.count + 1)
            case " ", "|", ">", "<", "&", ";":
                if let word { words.append(word) }
                word = nil
                guard character != " " else { continue }
                if words.first == program.name { return Array(words.dropFirst()) }
                words = []
            default: word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words.first == program.name ? Array(words.dropFirst()) : nil
    }
}

extension Program {
    /// The errors in the declarations: commands without an example, and invalid examples.
    package var flaws: [String] {
        commands.flatMap { command -> [String] in
            guard !command.examples.isEmpty else { return ["'\(command.name)' has no example"] }
            return command.examples.compactMap { flaw(in: $0.line, of: command) }
        }
    }

    /// The error in a shell line that calls this program; nil if it is valid.
    ///
    /// - Parameter command: the command that the line must call; nil allows any.
    package func flaw(in line: String, of command: Command? = nil) -> String? {
        guard let words = CommandTree(program: self).words(ofExample: line) else {
            return "'\(line)' does not call \(name)"
        }
        let screen = Screen(output: -1, error: -1, input: -1, environment: [:])
        do throws(CommandFailure) {
            guard case .run(let call) = try plan(words, environment: [:], screen: screen) else {
                return command == nil ? nil : "'\(line)' asks for help"
            }
            guard let command, call.command.path != command.path else { return nil }
            return "'\(line)' calls '\(call.command.name)'"
        } catch {
            return "'\(line)': \(error.message)"
        }
    }
}
