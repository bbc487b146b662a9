/// A manual page in the man macros of roff.
struct Roff {
    private(set) var text = ""

    /// A page with its title line.
    init(name: String, version: String, program: String) {
        macro("TH", name.uppercased(), "1", "", "\(program) \(version)", "User Commands")
    }

    /// A text as roff prints it, letter by letter.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            // A hyphen, unless told otherwise, is no minus: it cannot be pasted.
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
        // A dot at the beginning of a line would be a request.
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

    /// A term, in bold, and what is to be said of it.
    mutating func item(_ term: String, _ meaning: String) {
        text += ".TP\n.B " + Self.escaped(term) + "\n"
        line(meaning)
    }

    /// Lines that are neither filled nor broken.
    mutating func code(_ lines: [String]) {
        text += ".PP\n.RS 4\n.nf\n"
        for one in lines { line(one) }
        text += ".fi\n.RE\n"
    }
}
