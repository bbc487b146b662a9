/// A manual page in the man macros of roff.
struct Roff {
    private(set) var text = ""

    /// A page with its title line.
    init(name: String, version: String, program: String) {
        macro("TH", name.uppercased(), "1", "", "\(program) \(version)", "User Commands")
    }

    /// A text with roff's special characters escaped.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            // An unescaped hyphen is not a minus sign: it cannot be pasted into a shell.
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\"": result += "\\(dq"
            case "…": result += "..."
            case "≈": result += "\\(~="
            default: result.append(character)
            }
        }
        // A dot at the beginning of a line begins a request.
        return result.first == "." ? "\\&" + result : result
    }

    mutating func macro(_ name: String, _ words: String...) {
        let quoted = words.map { "\"" + Self.escaped($0) + "\"" }
        text += ([".\(name)"] + quoted).joined(separator: " ") + "\n"
    }

    mutating func section(_ title: String) { macro("SH", title) }

    mutating func line(_ words: String) { text += Self.escaped(words) + "\n" }

    mutating func paragraph(_ words: String) {
        text += ".PP\n"
        line(words)
    }

    /// A term in bold, and its explanation.
    mutating func item(_ term: String, _ meaning: String) {
        text += ".TP\n.B " + Self.escaped(term) + "\n"
        line(meaning)
    }

    /// Preformatted lines.
    mutating func code(_ lines: [String]) {
        text += ".PP\n.RS 4\n.nf\n"
        for one in lines { line(one) }
        text += ".fi\n.RE\n"
    }
}
