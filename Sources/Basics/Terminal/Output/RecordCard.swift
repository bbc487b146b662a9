/// One record as lines of name and value.
package struct RecordCard {
    private let record: Record
    private let times: TimeFormat

    /// A card of all fields.
    package init(_ record: Record, times: TimeFormat = .utc) {
        self.record = record.inFull
        self.times = times
    }

    /// The lines; nested records follow their name as a table.
    package func lines(paint: Paint) -> [String] {
        let names = record.fields.map { $0.name.split(separator: "_").joined(separator: " ") }
        let width = names.map { DisplayWidth.of($0) }.max() ?? 0
        return zip(names, record.fields).flatMap { name, field in
            let nested = field.cell.nestedRecords
            if nested.isEmpty {
                return lines(name, field.cell, width: width, paint: paint)
            }
            let table = Table(nested, times: times).lines(width: nil, paint: paint)
            return [paint(name, .bold)] + table.map { "  " + $0 }
        }
    }

    /// A card shows values in full, including line breaks.
    private func lines(
        _ name: String, _ cell: Cell, width: Int, paint: Paint
    ) -> [String] {
        let text = DisplayWidth.harmless(cell.text(times), keepingLines: true)
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let style = cell.style
        let blank = String(repeating: " ", count: width)
        return parts.enumerated().map { index, part in
            let start = index == 0 ? paint(DisplayWidth.padded(name, to: width), .bold) : blank
            return start + "  " + (style.map { paint(part, $0) } ?? part)
        }
    }
}
