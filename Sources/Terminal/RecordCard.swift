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
        for (name, field) in zip(names, record.fields) {
            let label = paint(DisplayWidth.padded(name, to: width), .bold)
            if case .records(let records) = field.cell, !records.isEmpty {
                lines.append(paint(name, .bold))
                lines += Table(records).lines(width: nil, paint: paint).map { "  " + $0 }
                continue
            }
            // A card is for reading in full, so a text of several lines keeps them.
            let text = DisplayWidth.harmless(field.cell.text, keepingLines: true)
            let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
            let style = field.cell.style
            for (index, part) in parts.enumerated() {
                let start = index == 0 ? label : String(repeating: " ", count: width)
                let shown = style.map { paint(String(part), $0) } ?? String(part)
                lines.append(start + "  " + shown)
            }
        }
        return lines
    }
}
