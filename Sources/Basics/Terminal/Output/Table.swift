/// How a table shows one field of its records.
public struct Column: Equatable, Sendable {
    /// Which side the values stand on.
    public enum Alignment: Sendable {
        case left
        case right
    }

    /// The field's name in the records.
    public var name: String
    /// What stands above it.
    public var title: String
    /// Numbers to the right and the rest to the left, unless set.
    public var alignment: Alignment?
    /// How wide it may be; nil for as wide as its values.
    public var maxWidth: Int?
    /// Whether its values may be cut when the terminal is too narrow.
    public var isFlexible: Bool

    /// A column for the field of that name, titled after it.
    public init(
        _ name: String, title: String? = nil, alignment: Alignment? = nil, maxWidth: Int? = nil,
        isFlexible: Bool = false
    ) {
        self.name = name
        self.title = title ?? name.uppercased().split(separator: "_").joined(separator: " ")
        self.alignment = alignment
        self.maxWidth = maxWidth
        self.isFlexible = isFlexible
    }
}

/// Records as aligned columns.
package struct Table: Sendable {
    private struct Value {
        var text: String
        var style: Style?
    }

    private static let gap = 2
    private static let narrowest = 8

    private let columns: [Column]
    private let alignments: [Column.Alignment]
    private let rows: [[Value]]
    /// Which columns hold texts, and nothing that would mean something else in part.
    private let isText: [Bool]

    /// A table of the records' fields.
    ///
    /// The columns say which fields, in which order; they are all of the first record's unless
    /// given, and then the last text among them is the one that may be cut.
    package init(
        _ records: [Record], columns: [Column]? = nil, times: TimeFormat = .utc
    ) {
        let columns = columns ?? Self.columns(of: records)
        self.columns = columns
        rows = records.map { record in
            columns.map { column in
                let cell = record[column.name]
                let text = DisplayWidth.harmless(cell.text(times))
                return Value(
                    text: column.maxWidth.map { DisplayWidth.truncated(text, to: $0) } ?? text,
                    style: cell.style)
            }
        }
        isText = columns.map { column in
            !records.isEmpty && records.allSatisfy { $0[column.name].isText }
        }
        alignments = columns.map { column in
            let isNumeric = records.contains { $0[column.name].isNumeric }
            return column.alignment ?? (isNumeric ? .right : .left)
        }
    }

    static func columns(of records: [Record]) -> [Column] {
        guard let first = records.first else { return [] }
        let lastText = first.fields.lastIndex { field in
            switch field.cell {
            case .text, .list, .json: true
            default: false
            }
        }
        return first.fields.enumerated().map { index, field in
            Column(field.name, isFlexible: index == lastText)
        }
    }

    /// The lines of the table, its header first.
    ///
    /// Flexible columns are cut first, then other texts; a number, a time or an id is never shown
    /// in part: lines are longer than the width (nil for no limit) when that is not enough.
    package func lines(width: Int?, paint: Paint, hasHeader: Bool = true) -> [String] {
        guard !columns.isEmpty else { return [] }
        let widths = widths(within: width, hasHeader: hasHeader)
        guard hasHeader else { return rows.map { line($0, widths, paint: paint) } }
        let header = columns.map { Value(text: $0.title, style: nil) }
        let headerLine = line(header, widths, paint: Paint(isColored: false))
        return [paint(headerLine, .bold)] + rows.map { line($0, widths, paint: paint) }
    }

    private func widths(within limit: Int?, hasHeader: Bool) -> [Int] {
        var widths = columns.map { hasHeader ? DisplayWidth.of($0.title) : 0 }
        for row in rows {
            for (index, value) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(value.text))
            }
        }
        guard let limit else { return widths }
        shrink(&widths, columns.indices.filter { columns[$0].isFlexible }, within: limit)
        // Better a name in part than lines that wrap; the first column is what gets pasted.
        shrink(&widths, columns.indices.dropFirst().filter { isText[$0] }, within: limit)
        return widths
    }

    /// Narrows some columns until the table fits, or they are as narrow as they may be.
    private func shrink(_ widths: inout [Int], _ flexible: [Int], within limit: Int) {
        var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - limit
        // The widest gives way first, down to the next widest; then both give way together.
        while excess > 0, let widest = flexible.max(by: { widths[$0] < widths[$1] }) {
            let next = flexible.map { widths[$0] }.filter { $0 < widths[widest] }.max() ?? 0
            let floor = max(next, Self.narrowest)
            guard widths[widest] > Self.narrowest else { break }
            let equals = flexible.filter { widths[$0] == widths[widest] }
            let step = max(1, min(widths[widest] - floor, excess / equals.count))
            for index in equals where excess > 0 {
                widths[index] -= step
                excess -= step
            }
        }
    }

    private func line(_ values: [Value], _ widths: [Int], paint: Paint) -> String {
        var line = ""
        for (index, value) in values.enumerated() {
            let text = DisplayWidth.truncated(value.text, to: widths[index])
            let blank = String(repeating: " ", count: widths[index] - DisplayWidth.of(text))
            let painted = value.style.map { paint(text, $0) } ?? text
            let isLast = index == values.count - 1
            switch alignments[index] {
            case .right: line += blank + painted
            case .left: line += isLast ? painted : painted + blank
            }
            if !isLast { line += String(repeating: " ", count: Self.gap) }
        }
        return line
    }
}
