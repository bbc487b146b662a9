struct FishCompletion {
    let words: CommandWords

    var script: String {
        let name = words.program.name
        var lines = [
            "# fish completion for \(name); made by '\(name) completion fish'.",
            "# \(name) completion fish | source",
            "function __\(name)_place",
            "    set -l place",
            "    set -l skip 0",
            "    for word in (commandline -opc)[2..-1]",
            "        if test $skip = 1",
            "            set skip 0",
            "        else if contains -- $word \(valueWords)",
            "            set skip 1",
            "        else if string match -q -- '-*' $word",
            "            continue",
            "        else if contains -- (string join ' ' $place $word) \(placeWords)",
            "            set -a place $word",
            "        end",
            "    end",
            "    test \"$place\" = \"$argv\"",
            "end",
            "function __\(name)_servers",
            "    set -l option",
            "    for word in (commandline -opc)[2..-1]",
            "        if test -n \"$option\"",
            "            printf '%s\\n' $option $word",
            "            set option",
            "        else if contains -- $word \(servers)",
            "            set option $word",
            "        else if contains -- (string replace -r '=.*' '' -- $word) \(servers)",
            "            printf '%s\\n' $word",
            "        end",
            "    end",
            "end",
            "complete -c \(name) -f",
        ]
        lines += GlobalOptions.all.map { "complete -c \(name) " + option($0.spec) }
        for place in words.places {
            let words = place.joined(separator: " ")
            let start = "complete -c \(name) -n \(shellQuoted("__\(name)_place \(words)")) "
            lines += self.words.next(at: place).map { next in
                start + "-a \(shellQuoted(next.word)) -d \(shellQuoted(next.summary))"
            }
            if let answer = answer(self.words.values(at: place)) { lines.append(start + answer) }
            guard let command = self.words.command(at: place) else { continue }
            lines += command.options.map { start + option($0.spec) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var servers: String { CommandWords.serverOptions.joined(separator: " ") }

    private var placeWords: String {
        words.places.dropFirst().map { shellQuoted($0.joined(separator: " ")) }
            .joined(separator: " ")
    }

    private var valueWords: String {
        words.valueOptions.flatMap { spec in
            ["--\(spec.name)"] + (spec.short.map { ["-\($0)"] } ?? [])
        }.joined(separator: " ")
    }

    private func option(_ spec: OptionSpec) -> String {
        var parts = ["-l \(spec.name)"]
        if let short = spec.short { parts.append("-s \(short)") }
        let help = ProgramName(of: words.program).inserted(in: spec.help)
        parts.append("-d \(shellQuoted(help))")
        if spec.placeholder != nil {
            let values = words.values(of: spec)
            parts.append(values == .file ? "-r" : "-x")
            if let answer = answer(values) { parts.append(answer) }
        }
        return parts.joined(separator: " ")
    }

    private func answer(_ values: CommandWords.Values) -> String? {
        switch values {
        case .anything: nil
        case .file: "-F"
        case .choices(let choices): "-a \(shellQuoted(choices.joined(separator: " ")))"
        case .names(let noun):
            "-a "
                + shellQuoted(
                    "(\(words.listing(noun, servers: "(__\(words.program.name)_servers)")))")
        }
    }
}
