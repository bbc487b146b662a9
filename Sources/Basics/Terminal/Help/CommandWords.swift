/// What the scripts for shells and the manual need to know of the commands, from their
/// declarations.
struct CommandWords {
    /// An option that takes a value, or an argument, and what it may be.
    enum Values: Equatable {
        case anything
        case file
        case choices([String])
        /// What `errand NOUN ls --output name` prints.
        case names(noun: String)
    }

    let program: Program

    /// The paths of all commands and of what leads to them, the program itself (empty) first.
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

    /// The words that may come next at a place, with what each does.
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

    /// The options at a place: those of its command, or those of every command.
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
        // A queue's name is a queue's name, whichever command asks for it.
        let name = option.name
        if let noun = [name, String(name.dropLast(name.hasSuffix("s") ? 1 : 0))].first(
            where: hasNames)
        {
            return .names(noun: noun)
        }
        return option.placeholder == "FILE" ? .file : .anything
    }

    /// What may stand as the first argument at a place.
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

    /// The options that say which servers are meant.
    static let serverOptions = [
        GlobalOptions.context.spec, GlobalOptions.databaseURL.spec, GlobalOptions.redisURL.spec,
    ].map { "--\($0.name)" }

    /// The command that prints the names; a shell waits for it, but not for long.
    ///
    /// - Parameter servers: words of the shell for those of ``serverOptions`` that its line has.
    func listing(_ noun: String, servers: String) -> String {
        let hasLimit = command(at: [noun, "ls"])?.options.contains { $0.spec.name == "limit" }
        return "\(program.name) \(noun) ls --output name --quiet --command-timeout 2s"
            + (hasLimit == true ? " --limit 200" : "") + " \(servers) 2>/dev/null"
    }

    // MARK: Examples

    /// The words of the program's own call within a shell's line, with quotes taken away; nil
    /// when the line does not call it.
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
    /// What is wrong with the declarations: commands without an example, examples that do not
    /// call their command as it is declared.
    package var flaws: [String] {
        let reader = CommandWords(program: self)
        let screen = Screen(output: -1, error: -1, input: -1, environment: [:])
        return commands.flatMap { command -> [String] in
            guard !command.examples.isEmpty else { return ["'\(command.name)' has no example"] }
            return command.examples.compactMap { example in
                guard let words = reader.words(ofExample: example.line) else {
                    return "'\(example.line)' does not call \(name)"
                }
                do throws(CommandFailure) {
                    guard case .run(let call) = try plan(words, environment: [:], screen: screen)
                    else { return "'\(example.line)' asks for help" }
                    let isOther = call.command.path != command.path
                    return isOther ? "'\(example.line)' calls '\(call.command.name)'" : nil
                } catch {
                    return "'\(example.line)': \(error.message)"
                }
            }
        }
    }
}
