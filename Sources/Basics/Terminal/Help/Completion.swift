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

/// A text as a shell needs it: as it is, if it has nothing that shells care about.
package func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte) || "_-+.,:/@%=".utf8.contains(byte)
    }
    return isPlain && !text.isEmpty ? text : shellQuoted(text)
}

/// What the scripts for bash and zsh share: tables as case statements.
///
/// What may be typed is printed one to a line: it is data, and no shell may take it for a program.
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
                    ? nil : (pattern(place), lines(next))
            })
    }

    var options: String {
        table(
            words.places.map { place in
                let names = words.options(at: place).map { "--\($0.name)" }
                return (pattern(place), lines(names))
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

    private func lines(_ texts: [String]) -> String {
        "printf '%s\\n' \(texts.map(shellQuoted).joined(separator: " "))"
    }

    private func answer(_ values: CommandWords.Values) -> String? {
        switch values {
        case .anything: nil
        case .file: "echo :files"
        case .choices(let choices): lines(choices)
        case .names(let noun): words.listing(noun, servers: "\"${servers[@]}\"")
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
                local line="${COMP_LINE:0:${COMP_POINT:-0}}" pattern quoted
                local -a servers=()
                COMPREPLY=()
                # From the line: bash takes URLs apart at their colons.
                for word in \(CommandWords.serverOptions.joined(separator: " ")); do
                    pattern="'([^']*)'|\\"([^\\"]*)\\"|([^[:space:]'\\"]+)"
                    pattern="[[:space:]]$word[=[:space:]]+($pattern)[[:space:]]"
                    if [[ $line =~ $pattern ]]; then
                        servers+=("$word" "${BASH_REMATCH[2]}${BASH_REMATCH[3]}${BASH_REMATCH[4]}")
                    fi
                done
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
                    answers="$(_\(name)_next "$place"; _\(name)_argument_values "$place")"
                fi
                if [[ $answers == :files ]]; then
                    compopt -o filenames 2>/dev/null
                    while IFS= read -r word; do
                        COMPREPLY+=("$word")
                    done < <(compgen -f -- "$current")
                    return
                fi
                # Not compgen -W, which would run what it finds in a name.
                while IFS= read -r word; do
                    printf -v quoted %q "$word"
                    if [[ -n $word && ($word == "$current"* || $quoted == "$current"*) ]]; then
                        COMPREPLY+=("$quoted")
                    fi
                done <<< "$answers"
            }
            complete -F _\(name) \(name)

            """
    }
}

struct ZshCompletion {
    let words: CommandWords

    private var servers: String { CommandWords.serverOptions.joined(separator: "|") }

    var script: String {
        let name = words.program.name
        return """
            #compdef \(name)
            # zsh completion for \(name); made by '\(name) completion zsh'.
            # \(name) completion zsh > "${fpath[1]}/_\(name)"
            \(CaseTables(words: words).functions)
            _\(name)() {
                local current="${words[CURRENT]}" place='' option='' word i
                local -a answers servers
                for ((i = 2; i < CURRENT; i++)); do
                    word="${words[i]}"
                    if [[ -n $option ]]; then
                        case "$option" in
                            \(servers)) servers+=("$option" "${(Q)word}") ;;
                        esac
                        option=''
                    elif [[ $word == -* ]]; then
                        case "${word%%=*}" in
                            \(servers)) if [[ $word == *=* ]]; then servers+=("${(Q)word}"); fi ;;
                        esac
                        if _\(name)_takes_value "$word"; then option="$word"; fi
                    elif _\(name)_is_place "${place:+$place }$word"; then
                        place="${place:+$place }$word"
                    fi
                done
                if [[ -n $option ]]; then
                    answers=("${(@f)$(_\(name)_option_values "$option")}")
                elif [[ $current == --*=* ]]; then
                    answers=("${(@f)$(_\(name)_option_values "${current%%=*}")}")
                    compset -P '*='
                elif [[ $current == -* ]]; then
                    answers=("${(@f)$(_\(name)_options "$place")}")
                else
                    answers=(
                        "${(@f)$(_\(name)_next "$place"; _\(name)_argument_values "$place")}"
                    )
                fi
                answers=("${(@)answers:#}")
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
