/// The shells that can be told what may be typed.
package enum Shell: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish
}

extension Program {
    /// A script that teaches a shell the commands, options and values, from the declarations.
    package func completion(for shell: Shell) -> String {
        let words = CommandWords(program: self)
        return switch shell {
        case .bash: BashCompletion(words: words).script
        case .zsh: ZshCompletion(words: words).script
        case .fish: FishCompletion(words: words).script
        }
    }
}

/// A text as one word of any shell.
func shellQuoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
        + "'"
}

/// What the scripts for bash and zsh share: tables as case statements.
struct CaseTables {
    let words: CommandWords

    private func table(_ rows: [(pattern: String, result: String)]) -> String {
        rows.map { "        \($0.pattern)) \($0.result) ;;" }.joined(separator: "\n")
    }

    private func pattern(_ place: [String]) -> String {
        shellQuoted(place.joined(separator: " "))
    }

    /// Which words lead on, for the walk along the line.
    var places: String {
        let known = words.places.dropFirst().map(pattern).joined(separator: "|")
        return "        \(known)) return 0 ;;"
    }

    var takingValue: String {
        let specs = words.valueOptions
        let names = specs.map { "--\($0.name)" } + specs.compactMap { $0.short.map { "-\($0)" } }
        return "        \(names.joined(separator: "|"))) return 0 ;;"
    }

    var nextWords: String {
        table(
            words.places.compactMap { place in
                let next = words.next(at: place).map(\.word)
                return next.isEmpty
                    ? nil : (pattern(place), "echo \(shellQuoted(next.joined(separator: " ")))")
            })
    }

    var options: String {
        table(
            words.places.map { place in
                let names = words.options(at: place).map { "--\($0.name)" }
                return (pattern(place), "echo \(shellQuoted(names.joined(separator: " ")))")
            })
    }

    var optionValues: String {
        table(
            words.valueOptions.compactMap { spec in
                guard let answer = answer(words.values(of: spec)) else { return nil }
                let short = spec.short.map { "|-\($0)" } ?? ""
                return ("--\(spec.name)\(short)", answer)
            })
    }

    var argumentValues: String {
        table(
            words.places.compactMap { place in
                answer(words.values(at: place)).map { (pattern(place), $0) }
            })
    }

    private func answer(_ values: CommandWords.Values) -> String? {
        switch values {
        case .anything: nil
        case .file: "echo :files"
        case .choices(let choices): "echo \(shellQuoted(choices.joined(separator: " ")))"
        case .names(let noun): words.listing(noun)
        }
    }

    /// Functions that both shells understand; the names begin with `_errand`.
    var functions: String {
        let name = words.program.name
        return """
            _\(name)_is_place() {
                case "$1" in
            \(places)
                esac
                return 1
            }
            _\(name)_takes_value() {
                case "$1" in
            \(takingValue)
                esac
                return 1
            }
            _\(name)_next() {
                case "$1" in
            \(nextWords)
                esac
            }
            _\(name)_options() {
                case "$1" in
            \(options)
                esac
            }
            _\(name)_option_values() {
                case "$1" in
            \(optionValues)
                esac
            }
            _\(name)_argument_values() {
                case "$1" in
            \(argumentValues)
                esac
            }
            """
    }
}

struct BashCompletion {
    let words: CommandWords

    var script: String {
        let name = words.program.name
        return """
            # bash completion for \(name); made by '\(name) completion bash'.
            # source <(\(name) completion bash)
            \(CaseTables(words: words).functions)
            _\(name)() {
                local current="${COMP_WORDS[COMP_CWORD]}" place='' option='' word i answers
                COMPREPLY=()
                for ((i = 1; i < COMP_CWORD; i++)); do
                    word="${COMP_WORDS[i]}"
                    if [[ -n $option ]]; then
                        # bash takes --name=value apart at the equals sign
                        [[ $word == '=' ]] || option=''
                    elif [[ $word == -* ]]; then
                        if _\(name)_takes_value "$word"; then option="$word"; fi
                    elif _\(name)_is_place "${place:+$place }$word"; then
                        place="${place:+$place }$word"
                    fi
                done
                if [[ $current == '=' ]]; then current=''; fi
                if [[ -n $option ]]; then
                    answers="$(_\(name)_option_values "$option")"
                elif [[ $current == -* ]]; then
                    answers="$(_\(name)_options "$place")"
                else
                    answers="$(_\(name)_next "$place") $(_\(name)_argument_values "$place")"
                fi
                if [[ $answers == *:files* ]]; then
                    COMPREPLY=($(compgen -f -- "$current"))
                    return
                fi
                COMPREPLY=($(compgen -W "$answers" -- "$current"))
            }
            complete -F _\(name) \(name)

            """
    }
}

struct ZshCompletion {
    let words: CommandWords

    var script: String {
        let name = words.program.name
        return """
            #compdef \(name)
            # zsh completion for \(name); made by '\(name) completion zsh'.
            # \(name) completion zsh > "${fpath[1]}/_\(name)"
            \(CaseTables(words: words).functions)
            _\(name)() {
                local current="${words[CURRENT]}" place='' option='' word i
                local -a answers
                for ((i = 2; i < CURRENT; i++)); do
                    word="${words[i]}"
                    if [[ -n $option ]]; then
                        option=''
                    elif [[ $word == -* ]]; then
                        if _\(name)_takes_value "$word"; then option="$word"; fi
                    elif _\(name)_is_place "${place:+$place }$word"; then
                        place="${place:+$place }$word"
                    fi
                done
                if [[ -n $option ]]; then
                    answers=(${=$(_\(name)_option_values "$option")})
                elif [[ $current == --*=* ]]; then
                    answers=(${=$(_\(name)_option_values "${current%%=*}")})
                    compset -P '*='
                elif [[ $current == -* ]]; then
                    answers=(${=$(_\(name)_options "$place")})
                else
                    answers=(${=$(_\(name)_next "$place")} ${=$(_\(name)_argument_values "$place")})
                fi
                if [[ ${answers[1]} == :files ]]; then
                    _files
                else
                    compadd -a answers
                fi
            }
            if [[ ${funcstack[1]} == _\(name) ]]; then
                _\(name) "$@"
            else
                compdef _\(name) \(name)
            fi

            """
    }
}

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
        parts.append("-d \(shellQuoted(spec.help))")
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
        case .names(let noun): "-a \(shellQuoted("(\(words.listing(noun)))"))"
        }
    }
}
