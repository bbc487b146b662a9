/// One record as lines of name and value.
struct RecordCard {
    private let record: Record

    init(_ record: Record) {
        self.record = record
    }

    /// The lines; nested records stand below their name as a table of their own.
    func lines(paint: Paint) -> [String] {
        let names = record.fields.map { $0.name.split(separator: "_").joined(separator: " ") }
        let width = names.map { DisplayWidth.of($0) }.max() ?? 0
        var lines: [String] = []
        for (place, name) in names.enumerated() {
            lines += Self.lines(record.fields[place].cell, name: name, width: width, paint: paint)
        }
        return lines
    }

    private static func lines(
        _ cell: Cell, name: String, width: Int, paint: Paint
    ) -> [String] {
        if case .records(let records) = cell, !records.isEmpty {
            return [paint(name, .bold)]
                + Table(records).lines(width: nil, paint: paint).map { "  " + $0 }
        }
        // A card is for reading in full, so a text of several lines keeps them.
        let text = DisplayWidth.harmless(cell.text, keepingLines: true)
        var label = paint(DisplayWidth.padded(name, to: width), .bold)
        var lines: [String] = []
        for part in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var shown = String(part)
            if let style = cell.style { shown = paint(shown, style) }
            lines.append(label + "  " + shown)
            label = String(repeating: " ", count: width)
        }
        return lines
    }
}
