package import ErrandJSONText
public import FoundationEssentials

/// One value of a record, which has a text form and a JSON form.
public enum Cell: Equatable, Sendable {
    /// A dash in a table, null in JSON.
    case missing
    case text(String)
    /// A text that a table colors, such as a state.
    case marked(String, Style)
    case int(Int)
    /// An identifier: a number without thousands separators, so that it can be pasted.
    case id(Int)
    case number(Double, decimals: Int)
    /// An estimated number: short and marked in a table, in full in JSON.
    case estimate(Int)
    case flag(Bool)
    case time(Date)
    /// A time next to a local one, always shown in UTC.
    case universalTime(Date)
    /// The age in a table, the time itself in JSON.
    case age(Date, now: Date)
    /// A duration; in seconds in JSON.
    case duration(Duration)
    case bytes(Int)
    case list([String])
    /// Nested records, such as the errors of a job's attempts.
    case records([Record])
    /// Serialized JSON.
    case json([UInt8])
    /// A long value: `short` in a table, the whole value everywhere else.
    indirect case brief(_ short: Cell, of: Cell)

    /// The cell for a value that may be missing.
    public static func optional<Value>(
        _ value: Value?, _ cell: (Value) -> Cell
    ) -> Cell {
        value.map(cell) ?? .missing
    }

    /// The text in a table, with times in UTC.
    public var text: String { text(.utc) }

    /// The text in a table.
    package func text(_ times: TimeFormat) -> String {
        switch self {
        case .missing: "-"
        case .text(let value), .marked(let value, _): value
        case .int(let value): HumanFormat.count(value)
        case .id(let value): String(value)
        case .number(let value, let decimals): HumanFormat.number(value, decimals: decimals)
        case .estimate(let value): HumanFormat.estimate(value)
        case .flag(let value): value ? "yes" : "no"
        case .time(let value): times.text(value)
        case .universalTime(let value): HumanFormat.time(value)
        case .age(let value, let now): HumanFormat.age(of: value, now: now)
        case .duration(let value): HumanFormat.duration(value)
        case .bytes(let value): HumanFormat.bytes(value)
        case .list(let values): values.isEmpty ? "-" : values.joined(separator: ", ")
        case .records(let records): HumanFormat.count(records.count)
        case .json(let bytes): String(decoding: bytes, as: UTF8.self)
        case .brief(let short, _): short.text(times)
        }
    }

    /// The whole value of a ``brief(_:of:)`` cell.
    var inFull: Cell {
        guard case .brief(_, let whole) = self else { return self }
        return whole
    }

    /// The JSON value.
    package var json: JSONValue {
        switch self {
        case .missing: .null
        case .text(let value), .marked(let value, _): .text(value)
        case .int(let value), .id(let value), .bytes(let value), .estimate(let value): .int(value)
        case .number(let value, _): .double(value)
        case .flag(let value): .bool(value)
        case .time(let value), .universalTime(let value), .age(let value, _):
            .text(HumanFormat.timestamp(value))
        case .duration(let value): .double(value / .seconds(1))
        case .list(let values): .array(values.map(JSONValue.text))
        case .records(let records): .array(records.map(\.json))
        case .json(let bytes): .raw(bytes)
        case .brief(_, let whole): whole.json
        }
    }

    var style: Style? {
        switch self {
        case .marked(_, let style): style
        case .brief(let short, _): short.style
        default: nil
        }
    }

    var nestedRecords: [Record] {
        guard case .records(let records) = self else { return [] }
        return records
    }

    var isText: Bool {
        switch self {
        case .missing, .text, .marked, .list, .json: true
        case .brief(let short, _): short.isText
        default: false
        }
    }

    var isNumeric: Bool {
        switch self {
        case .int, .id, .number, .estimate, .duration, .bytes, .records: true
        case .brief(let short, _): short.isNumeric
        default: false
        }
    }
}

/// Named values in a fixed order: a row of a table, or an object in JSON.
public struct Record: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// One name and value.
    public struct Field: Equatable, Sendable {
        /// The name, in lower case with underscores; also the default title of its column.
        public var name: String
        /// The field's value.
        public var cell: Cell
    }

    /// The fields, in the order in which they are printed.
    public var fields: [Field]
    /// The identifying field, which `--output name` prints: the first, unless set.
    public var nameField: String?

    /// Fields in the order written.
    public init(dictionaryLiteral elements: (String, Cell)...) {
        fields = elements.map { Field(name: $0.0, cell: $0.1) }
    }

    /// Fields in the order given.
    public init(_ elements: [(String, Cell)]) {
        fields = elements.map { Field(name: $0.0, cell: $0.1) }
    }

    /// The value of a field; missing if there is none.
    public subscript(_ name: String) -> Cell {
        fields.first { $0.name == name }?.cell ?? .missing
    }

    /// Adds a field at the end.
    public mutating func append(_ name: String, _ cell: Cell) {
        fields.append(Field(name: name, cell: cell))
    }

    /// The same record with all values in full.
    var inFull: Record {
        var record = self
        for index in record.fields.indices {
            record.fields[index].cell = record.fields[index].cell.inFull
        }
        return record
    }

    /// The same record with another identifying field.
    public func named(by field: String) -> Record {
        var record = self
        record.nameField = field
        return record
    }

    /// The value of the identifying field; nil if it is missing.
    public var pasteable: String? {
        let cell = nameField.map { self[$0] } ?? fields.first?.cell ?? .missing
        return cell == .missing ? nil : CSV.text(of: cell.json)
    }

    /// The record as a JSON object.
    package var json: JSONValue {
        .object(fields.map { JSONValue.Member($0.name, $0.cell.json) })
    }
}
