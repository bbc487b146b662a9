package import ErrandJSONText
import FoundationEssentials
import Synchronization

/// The output of a command, in the requested format.
public struct Output: Sendable {
    /// The options of output.
    package struct Form: Sendable {
        package var format: OutputFormat
        package var color = ColorChoice.auto
        package var isQuiet = false
        package var hasHeaders = true
        /// The fields to print, in that order; empty for all.
        package var columns: [String] = []
        /// Whether an unknown column is an error; otherwise it is a warning, because the command
        /// has already made changes.
        package var isStrict = true
        /// The format of times for people.
        package var times = TimeFormat.utc
        /// The program's name in suggested commands.
        package var program = ProgramName()

        /// A form with default options.
        package init(_ format: OutputFormat) {
            self.format = format
        }
    }

    /// The state of a CSV output.
    private final class Progress: Sendable {
        let header = Mutex<[String]?>(nil)
        let hasWarned = Mutex(false)
    }

    package let screen: Screen
    package let format: OutputFormat
    /// For standard output.
    package let paint: Paint
    package let isQuiet: Bool
    /// The format of times in texts: local for people, UTC for programs.
    package let times: TimeFormat
    /// The program's name in suggested commands.
    package let program: ProgramName
    private let errorPaint: Paint
    private let hasHeaders: Bool
    private let choice: ColumnChoice
    private let isStrict: Bool
    /// Whether notes, warnings and errors are JSON log lines.
    private let isCollected: Bool
    private let progress = Progress()

    /// Output in a form; color is decided for each stream.
    package init(screen: Screen, form: Form, environment: [String: String] = [:]) {
        self.screen = screen
        format = form.format
        isQuiet = form.isQuiet
        program = form.program
        hasHeaders = form.hasHeaders
        choice = ColumnChoice(names: form.columns)
        isStrict = form.isStrict
        isCollected = LogFormat.isCollected(environment, screen)
        times = form.format.isForPeople ? form.times : .utc
        paint = Paint(form.color, isTerminal: screen.outputIsTerminal, environment: environment)
        errorPaint = Paint(
            form.color, isTerminal: screen.errorIsTerminal, environment: environment)
    }

    /// Whether the format is for people, not for programs.
    public var isForPeople: Bool { format.isForPeople }

    /// Prints records in the requested format.
    ///
    /// The columns select the fields of a table and their order; other formats contain every
    /// field. Without records, the note `empty` replaces the table.
    public func list(
        _ records: [Record], columns: [Column]? = nil, empty: String? = nil
    ) throws {
        if records.isEmpty, isForPeople, let empty { return note(empty) }
        let records = records.map(program.inserted)
        // Without records the fields are unknown.
        let names = records.isEmpty ? nil : ColumnChoice.names(of: records)
        try check(against: names)
        switch format {
        case .json: for record in records { try json(choice.applied(to: record).json) }
        case .csv: try csv(records, names: names ?? [])
        case .name:
            for record in records {
                if let name = record.pasteable { try write(DisplayWidth.harmless(name)) }
            }
        case .table, .wide:
            let isCut = format == .table && screen.outputIsTerminal
            let table = Table(
                format == .wide ? records.map(\.inFull) : records,
                columns: shown(columns, of: records, names: names ?? []), times: times)
            let lines = table.lines(
                width: isCut ? screen.width : nil, paint: paint, hasHeader: hasHeaders)
            for text in lines { try write(text) }
        }
    }

    /// Prints one record: for people one line per field, otherwise like a list of one.
    public func show(_ record: Record) throws {
        guard isForPeople else { return try list([record]) }
        try check(against: record.fields.map(\.name))
        let record = choice.applied(to: program.inserted(in: record))
        for text in RecordCard(record, times: times).lines(paint: paint) { try write(text) }
    }

    /// Prints one record of a stream: for people as the given line.
    public func event(_ record: Record, line text: String) throws {
        if isForPeople { try write(text) } else { try list([record]) }
    }

    private func check(against known: [String]?) throws(CommandFailure) {
        guard format != .name, let known, let mistake = choice.mistake(among: known) else {
            return
        }
        if isStrict { throw mistake }
        let isFirst = progress.hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        if isFirst {
            warn(([mistake.message] + [mistake.hint].compactMap(\.self)).joined(separator: "; "))
        }
    }

    private func shown(
        _ columns: [Column]?, of records: [Record], names: [String]
    ) -> [Column]? {
        let wanted = choice.isEverything ? (format == .wide ? names : nil) : choice.names
        guard let wanted, !(records.isEmpty && choice.isEverything) else { return columns }
        let declared = (columns ?? []) + Table.columns(of: records)
        return wanted.map { name in
            var column = declared.first { $0.name == name } ?? Column(name)
            if format == .wide { column.maxWidth = nil }
            return column
        }
    }

    /// Prints records as CSV.
    ///
    /// The header is printed once, and again when the fields change.
    private func csv(_ records: [Record], names: [String]) throws(OutputError) {
        let names = choice.isEverything ? names : choice.names
        guard !names.isEmpty else { return }
        let before = progress.header.withLock { header in
            defer { header = names }
            return header
        }
        if hasHeaders, before != names {
            if before != nil { try screen.write(CSV.line([])) }
            try screen.write(CSV.line(names.map(CSV.quoted)))
        }
        for record in records {
            try screen.write(
                CSV.line(
                    names.map { name in
                        let field = CSV.field(record[name].json)
                        // On a terminal, tabs and carriage returns are replaced too.
                        return screen.outputIsTerminal
                            ? DisplayWidth.harmless(field, keepingLines: true) : field
                    }))
        }
    }

    /// Prints records as JSON lines, regardless of the requested format, with its columns.
    package func jsonLines(_ records: [Record]) throws {
        if !records.isEmpty { try check(against: ColumnChoice.names(of: records)) }
        for record in records { try json(choice.applied(to: record).json) }
    }

    /// Prints one JSON value on a line, regardless of the requested format and columns.
    package func json(_ value: JSONValue) throws(OutputError) {
        var bytes = value.serialized
        bytes.append(UInt8(ascii: "\n"))
        try screen.write(bytes)
    }

    /// Prints a line of text on standard output.
    public func line(_ text: String = "") throws { try write(program.inserted(in: text)) }

    private func write(_ text: String) throws(OutputError) {
        try screen.write(Array(text.utf8) + [UInt8(ascii: "\n")])
    }

    /// Prints a note on standard error, unless quiet.
    public func note(_ text: String) {
        guard !isQuiet else { return }
        let text = program.inserted(in: text)
        guard !isCollected else { return collect("info", text) }
        screen.writeError(line: DisplayWidth.harmless(text, keepingLines: true))
    }

    /// Prints a warning on standard error, even if quiet.
    public func warn(_ text: String) {
        let text = program.inserted(in: text)
        guard !isCollected else { return collect("warning", text) }
        let harmless = DisplayWidth.harmless(text, keepingLines: true)
        screen.writeError(line: errorPaint("warning:", .yellow, .bold) + " " + harmless)
    }

    /// Flushes standard output; needed only before a long wait.
    package func flush() throws(OutputError) {
        try screen.flush()
    }

    /// Asks for confirmation of a change; returns if the answer is yes.
    ///
    /// `yes` is the value of the command's `--yes`; true skips the question.
    /// - Throws: `CommandFailure` (refused) if the answer is no or there is no terminal.
    package func confirm(_ question: String, yes: Bool) throws(CommandFailure) {
        if yes { return }
        guard screen.inputIsTerminal, screen.errorIsTerminal else {
            throw CommandFailure(
                exit: .refused, message: "not confirmed: \(question)",
                hint: "there is no terminal for the question; pass --yes to confirm")
        }
        let answer = screen.ask(DisplayWidth.harmless(question) + " [y/N] ")
        guard ["y", "yes"].contains(answer?.lowercased()) else {
            throw CommandFailure(
                exit: .refused, message: "not confirmed; nothing was changed")
        }
    }

    /// Asks for the name of a production context before a change.
    func confirm(
        production name: String, command: String, place: String?
    ) throws(CommandFailure) {
        let server = place.map { " (\($0))" } ?? ""
        let question = "'\(command)' makes changes in \(name)\(server), a production context"
        guard screen.inputIsTerminal, screen.errorIsTerminal else {
            throw CommandFailure(
                exit: .refused, message: question,
                hint: "there is no terminal for the question; pass --yes to confirm")
        }
        let answer = screen.ask(
            DisplayWidth.harmless(question) + ".\nType the context's name to continue: ")
        guard answer == name else {
            throw CommandFailure(
                exit: .refused, message: "not confirmed; nothing was changed",
                hint: "the name to type is \(name); --yes skips the question")
        }
    }

    /// Writes a JSON log line to standard error.
    private func collect(_ level: String, _ text: String, _ more: [(String, Cell)] = []) {
        let head: [(String, Cell)] = [
            ("at", .time(Date())), ("level", .text(level)), ("message", .text(text)),
        ]
        screen.writeError(
            line: String(decoding: Record(head + more).json.serialized, as: UTF8.self))
    }

    /// Prints the failure of a command on standard error.
    func printFailure(_ failure: CommandFailure, program name: String) {
        var failure = failure
        failure.message = program.inserted(in: failure.message)
        failure.hint = failure.hint.map(program.inserted)
        guard format != .json else {
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
        guard !isCollected else {
            let hint = failure.hint.map { [("hint", Cell.text($0))] } ?? []
            return collect(
                "error", failure.message,
                hint + [
                    ("code", .text(failure.exit.name)), ("exit", .int(Int(failure.exit.rawValue))),
                ])
        }
        let message = DisplayWidth.harmless(failure.message, keepingLines: true)
        screen.writeError(line: errorPaint("\(name):", .red, .bold) + " " + message)
        guard let hint = failure.hint else { return }
        for text in DisplayWidth.harmless(hint, keepingLines: true).split(separator: "\n") {
            screen.writeError(line: "  " + text)
        }
    }
}
