/// Where a command prints, in the form that its user asked for.
package struct Output: Sendable {
    package let screen: Screen
    package let format: OutputFormat
    /// For standard output.
    package let paint: Paint
    package let isQuiet: Bool
    private let errorPaint: Paint

    /// Output in a form; colour is decided for each stream.
    package init(
        screen: Screen, format: OutputFormat, color: ColorChoice = .auto, isQuiet: Bool = false,
        environment: [String: String] = [:]
    ) {
        self.screen = screen
        self.format = format
        self.isQuiet = isQuiet
        paint = Paint(color, isTerminal: screen.outputIsTerminal, environment: environment)
        errorPaint = Paint(color, isTerminal: screen.errorIsTerminal, environment: environment)
    }

    /// Prints records as a table, or as JSON with one object a line.
    ///
    /// The columns say what a table shows, and in which order; JSON has every field. Without any
    /// record a table gives way to the note `empty`.
    package func list(
        _ records: [Record], columns: [Column]? = nil, empty: String? = nil
    ) throws(OutputError) {
        switch format {
        case .json:
            for record in records { try json(record.json) }
        case .table:
            if records.isEmpty, let empty { return note(empty) }
            let width = screen.outputIsTerminal ? screen.width : nil
            for text in Table(records, columns: columns).lines(width: width, paint: paint) {
                try line(text)
            }
        }
    }

    /// Prints one record: a line for each field, or one JSON object.
    package func show(_ record: Record) throws(OutputError) {
        switch format {
        case .json: try json(record.json)
        case .table: for text in RecordCard(record).lines(paint: paint) { try line(text) }
        }
    }

    /// Prints one JSON value on a line, whatever the form.
    package func json(_ value: JSONValue) throws(OutputError) {
        var bytes = value.serialized
        bytes.append(UInt8(ascii: "\n"))
        try screen.write(bytes)
    }

    /// Prints a line of text on standard output.
    package func line(_ text: String = "") throws(OutputError) {
        try screen.write(Array(text.utf8) + [UInt8(ascii: "\n")])
    }

    /// Tells a person something on standard error, unless they want quiet.
    package func note(_ text: String) {
        guard !isQuiet else { return }
        screen.writeError(line: DisplayWidth.harmless(text, keepingLines: true))
    }

    /// Warns on standard error, also when quiet.
    package func warn(_ text: String) {
        let text = DisplayWidth.harmless(text, keepingLines: true)
        screen.writeError(line: errorPaint("warning:", .yellow, .bold) + " " + text)
    }

    /// Sends everything printed so far; needed only before a long wait.
    package func flush() throws(OutputError) {
        try screen.flush()
    }

    /// Asks before a change; returns only if the answer was yes.
    ///
    /// `yes` is the value of the command's `--yes`; true asks nothing.
    /// - Throws: `CommandFailure` (refused) when the answer was no, or nobody is there to ask.
    package func confirm(_ question: String, yes: Bool) throws(CommandFailure) {
        if yes { return }
        guard screen.inputIsTerminal, screen.errorIsTerminal else {
            throw CommandFailure(
                exit: .refused, message: "not confirmed: \(question)",
                hint: "there is no terminal to ask on; pass --yes to go ahead")
        }
        let answer = screen.ask(DisplayWidth.harmless(question) + " [y/N] ")
        guard ["y", "yes"].contains(answer?.lowercased()) else {
            throw CommandFailure(
                exit: .refused, message: "not confirmed, so nothing was changed")
        }
    }

    /// Prints why a command stopped, on standard error.
    func complain(_ failure: CommandFailure, program: String) {
        guard format == .table else {
            var members: JSONValue = [
                "error": .text(failure.message), "code": .text(failure.exit.name),
                "exit": .int(Int(failure.exit.rawValue)),
            ]
            if case .object(var list) = members, let hint = failure.hint {
                list.append(JSONValue.Member("hint", .text(hint)))
                members = .object(list)
            }
            return screen.writeError(line: String(decoding: members.serialized, as: UTF8.self))
        }
        let message = DisplayWidth.harmless(failure.message, keepingLines: true)
        screen.writeError(line: errorPaint("\(program):", .red, .bold) + " " + message)
        guard let hint = failure.hint else { return }
        for text in DisplayWidth.harmless(hint, keepingLines: true).split(separator: "\n") {
            screen.writeError(line: "  " + text)
        }
    }
}
