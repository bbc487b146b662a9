/// A column of a table: one field of its records.
public struct Column: Equatable, Sendable {
    /// The alignment of the values.
    public enum Alignment: Sendable {
        case left
        case right
    }

    /// The field's name in the records.
    public var name: String
    /// The title in the header.
    public var title: String
    /// The alignment; by default numbers are aligned right and other values left.
    public var alignment: Alignment?
    /// The maximum width; nil for no limit.
    public var maxWidth: Int?
    /// Whether its values may be truncated if the terminal is too narrow.
    public var isFlexible: Bool

    /// A column for a field, titled after it by default.
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
    /// Whether each column contains only texts, which may be truncated.
    private let isText: [Bool]

    /// A table of the records' fields.
    ///
    /// The columns select the fields and their order. The default is all fields of the first
    /// record, of which the last text column is flexible.
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
    /// Flexible columns are truncated first, then other texts. Numbers, times and ids are never
    /// truncated, so lines may exceed the width (nil for no limit).
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
        // A truncated name is better than wrapped lines; the first column stays in full for
        // pasting.
        shrink(&widths, columns.indices.dropFirst().filter { isText[$0] }, within: limit)
        return widths
    }

    /// Narrows some columns until the table fits or all have the minimum width.
    private func shrink(_ widths: inout [Int], _ flexible: [Int], within limit: Int) {
        var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - limit
        // The widest column shrinks to the next widest; then both shrink together.
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
