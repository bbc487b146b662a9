import CPostgres

/// What a statement returned: its rows, in PostgreSQL's binary form until they are read.
///
/// Columns are read by position in hot paths, or by name through ``Row``. A value that is null,
/// missing or of another type than asked for is an error, never a guess.
public struct Rows: Sendable, RandomAccessCollection {
    private let result: ResultBox
    /// How many rows there are.
    public let count: Int
    /// How many rows the statement touched, as its command tag says.
    public var affected: Int { result.affected }

    init(_ result: ResultBox) {
        self.result = result
        count = result.rowCount
    }

    /// The first row.
    public var startIndex: Int { 0 }
    /// Past the last row.
    public var endIndex: Int { count }
    /// One row.
    public subscript(_ index: Int) -> Row { Row(rows: self, index: index) }

    /// The columns' names.
    public var columns: [String] { result.columns }

    /// Whether a value is null.
    public func isNull(_ row: Int, _ column: Int) -> Bool { result.isNull(row, column) }

    /// A whole number; narrower columns are widened.
    public func int64(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        switch try result.value(row, column, [20, 21, 23], { Self.integer($0) }) {
        case .some(let value): return value
        case .none: throw result.mismatch(column, "a whole number")
        }
    }

    /// A whole number of at most 32 bits.
    public func int32(_ row: Int, _ column: Int) throws(PostgresError) -> Int32 {
        guard let value = Int32(exactly: try int64(row, column)) else {
            throw result.mismatch(column, "a number of 32 bits")
        }
        return value
    }

    /// A whole number of at most 16 bits.
    public func int16(_ row: Int, _ column: Int) throws(PostgresError) -> Int16 {
        guard let value = Int16(exactly: try int64(row, column)) else {
            throw result.mismatch(column, "a number of 16 bits")
        }
        return value
    }

    /// True or false.
    public func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        try result.value(row, column, [16]) { unsafe $0.first == 1 }
    }

    /// A floating-point number of 32 or 64 bits.
    public func double(_ row: Int, _ column: Int) throws(PostgresError) -> Double {
        let value: Double? = try result.value(row, column, [700, 701]) { bytes in
            guard let bits = Self.integer(bytes) else { return nil }
            return bytes.count == 4
                ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
                : Double(bitPattern: UInt64(bitPattern: bits))
        }
        guard let value else { throw result.mismatch(column, "a number") }
        return value
    }

    /// A text; also an enum's label or any other type that is sent as its text.
    public func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        try result.value(row, column, []) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a `bytea`.
    public func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        try result.value(row, column, [17]) { unsafe [UInt8]($0) }
    }

    /// The text of a `jsonb` or `json`.
    public func json(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        // jsonb comes with the number of its form's version in front.
        let skipped = result.type(column) == 3802 ? 1 : 0
        return try result.value(row, column, [114, 3802]) { unsafe [UInt8]($0.dropFirst(skipped)) }
    }

    /// A moment.
    public func timestamp(_ row: Int, _ column: Int) throws(PostgresError) -> Instant {
        let value = try result.value(row, column, [1184]) { Self.integer($0) }
        guard let value else { throw result.mismatch(column, "a time") }
        return Instant(microseconds: value)
    }

    /// An array of texts without nulls.
    public func textArray(_ row: Int, _ column: Int) throws(PostgresError) -> [String] {
        let values: [String]? = try result.value(row, column, [1009]) { bytes in
            Self.elements(bytes) { unsafe String(decoding: $0, as: UTF8.self) }
        }
        guard let values else { throw result.mismatch(column, "texts without nulls") }
        return values
    }

    /// An array of whole numbers without nulls.
    public func int64Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int64] {
        let values: [Int64]? = try result.value(row, column, [1005, 1007, 1016]) { bytes in
            Self.elements(bytes) { Self.integer($0) }?.compactMap(\.self)
        }
        guard let values else { throw result.mismatch(column, "numbers without nulls") }
        return values
    }

    /// Where a column of that name stands.
    func column(_ name: String) throws(PostgresError) -> Int {
        guard let column = columns.firstIndex(of: name) else {
            throw .decoding(
                "there is no column \(name); there are: \(columns.joined(separator: ", "))")
        }
        return column
    }

    @safe private static func integer(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        var bits: UInt64 = 0
        for place in bytes.indices { bits = bits << 8 | UInt64(unsafe bytes[place]) }
        switch bytes.count {
        case 2: return Int64(Int16(truncatingIfNeeded: bits))
        case 4: return Int64(Int32(truncatingIfNeeded: bits))
        case 8: return Int64(bitPattern: bits)
        default: return nil
        }
    }

    @safe private static func elements<Item>(
        _ bytes: UnsafeRawBufferPointer, _ read: (UnsafeRawBufferPointer) -> Item
    ) -> [Item]? {
        func number(_ place: Int) -> Int? {
            guard place + 4 <= bytes.count else { return nil }
            return unsafe integer(UnsafeRawBufferPointer(rebasing: bytes[place..<place + 4]))
                .map(Int.init)
        }
        guard let dimensions = number(0) else { return nil }
        guard dimensions == 1 else { return dimensions == 0 ? [] : nil }
        guard let count = number(12) else { return nil }
        var elements: [Item] = []
        var place = 20
        for _ in 0..<count {
            guard let size = number(place), size >= 0, place + 4 + size <= bytes.count else {
                return nil
            }
            place += 4
            unsafe elements.append(
                read(UnsafeRawBufferPointer(rebasing: bytes[place..<place + size])))
            place += size
        }
        return elements
    }
}

/// One row, read by column names or positions.
public struct Row: Sendable {
    let rows: Rows
    let index: Int

    /// A whole number.
    public func int64(_ name: String) throws(PostgresError) -> Int64 {
        try rows.int64(index, rows.column(name))
    }
    /// A whole number.
    public func int64(_ column: Int) throws(PostgresError) -> Int64 {
        try rows.int64(index, column)
    }
    /// A whole number, or nil for null.
    public func optionalInt64(_ name: String) throws(PostgresError) -> Int64? {
        let column = try rows.column(name)
        return rows.isNull(index, column) ? nil : try rows.int64(index, column)
    }
    /// A whole number of at most 32 bits.
    public func int32(_ name: String) throws(PostgresError) -> Int32 {
        try rows.int32(index, rows.column(name))
    }
    /// A whole number of at most 32 bits.
    public func int32(_ column: Int) throws(PostgresError) -> Int32 {
        try rows.int32(index, column)
    }
    /// A whole number of at most 16 bits.
    public func int16(_ name: String) throws(PostgresError) -> Int16 {
        try rows.int16(index, rows.column(name))
    }
    /// True or false.
    public func bool(_ name: String) throws(PostgresError) -> Bool {
        try rows.bool(index, rows.column(name))
    }
    /// A floating-point number.
    public func double(_ name: String) throws(PostgresError) -> Double {
        try rows.double(index, rows.column(name))
    }
    /// A floating-point number.
    public func double(_ column: Int) throws(PostgresError) -> Double {
        try rows.double(index, column)
    }
    /// A floating-point number, or nil for null.
    public func optionalDouble(_ name: String) throws(PostgresError) -> Double? {
        let column = try rows.column(name)
        return rows.isNull(index, column) ? nil : try rows.double(index, column)
    }
    /// A text.
    public func text(_ name: String) throws(PostgresError) -> String {
        try rows.text(index, rows.column(name))
    }
    /// A text.
    public func text(_ column: Int) throws(PostgresError) -> String {
        try rows.text(index, column)
    }
    /// A text, or nil for null.
    public func optionalText(_ name: String) throws(PostgresError) -> String? {
        try optionalText(rows.column(name))
    }
    /// A text, or nil for null.
    public func optionalText(_ column: Int) throws(PostgresError) -> String? {
        rows.isNull(index, column) ? nil : try rows.text(index, column)
    }
    /// The text of a JSON value.
    public func json(_ name: String) throws(PostgresError) -> [UInt8] {
        try rows.json(index, rows.column(name))
    }
    /// A moment.
    public func timestamp(_ name: String) throws(PostgresError) -> Instant {
        try rows.timestamp(index, rows.column(name))
    }
    /// A moment, or nil for null.
    public func optionalTimestamp(_ name: String) throws(PostgresError) -> Instant? {
        let column = try rows.column(name)
        return rows.isNull(index, column) ? nil : try rows.timestamp(index, column)
    }
    /// An array of texts.
    public func textArray(_ name: String) throws(PostgresError) -> [String] {
        try rows.textArray(index, rows.column(name))
    }
    /// An array of whole numbers, or nil for null.
    public func optionalInt64Array(_ name: String) throws(PostgresError) -> [Int64]? {
        let column = try rows.column(name)
        return rows.isNull(index, column) ? nil : try rows.int64Array(index, column)
    }
    /// An array of whole numbers.
    public func int64Array(_ name: String) throws(PostgresError) -> [Int64] {
        try rows.int64Array(index, rows.column(name))
    }
}

/// The owner of one `PGresult`.
// Safe to share: libpq never changes a result once it was returned, and nothing here does.
@safe final class ResultBox: @unchecked Sendable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

    deinit { unsafe PQclear(result) }

    /// What kind of answer it is.
    enum Kind {
        case rows, copyIn, pipelineEnd, skipped, failed
    }

    var kind: Kind {
        switch unsafe PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: .rows
        case PGRES_COPY_IN: .copyIn
        case PGRES_PIPELINE_SYNC: .pipelineEnd
        case PGRES_PIPELINE_ABORTED: .skipped
        default: .failed
        }
    }

    var rowCount: Int { Int(unsafe PQntuples(result)) }

    var affected: Int {
        guard let text = unsafe PQcmdTuples(result) else { return 0 }
        return unsafe Int(String(cString: text)) ?? 0
    }

    var columns: [String] {
        (0..<(unsafe PQnfields(result))).map { column in
            guard let name = unsafe PQfname(result, column) else { return "" }
            return unsafe String(cString: name)
        }
    }

    func type(_ column: Int) -> UInt32 { unsafe PQftype(result, Int32(column)) }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// Hands a value's bytes to `read`; they are gone when it returns.
    ///
    /// - Parameter types: the OIDs that it may have; empty for any.
    @safe func value<Value>(
        _ row: Int, _ column: Int, _ types: [UInt32], _ read: (UnsafeRawBufferPointer) -> Value
    ) throws(PostgresError) -> Value {
        guard row < rowCount, column < Int(unsafe PQnfields(result)) else {
            throw .decoding("the answer has no row \(row), column \(column)")
        }
        guard types.isEmpty || types.contains(type(column)) else {
            throw mismatch(column, "another type than that with OID \(type(column))")
        }
        guard !isNull(row, column), let start = unsafe PQgetvalue(result, Int32(row), Int32(column))
        else { throw mismatch(column, "a value, not null") }
        let size = Int(unsafe PQgetlength(result, Int32(row), Int32(column)))
        return unsafe read(UnsafeRawBufferPointer(start: start, count: size))
    }

    func mismatch(_ column: Int, _ expected: String) -> PostgresError {
        let names = columns
        let name = column < names.count ? names[column] : String(column)
        return .decoding("column \(name): expected \(expected)")
    }

    /// The error that this result stands for.
    var error: ServerError {
        func field(_ code: Character) -> String? {
            guard let value = code.asciiValue,
                let text = unsafe PQresultErrorField(result, Int32(value))
            else { return nil }
            return unsafe String(cString: text)
        }
        // The letters are those of the protocol's ErrorResponse.
        let message = field("M") ?? "no reason was given"
        return ServerError(
            sqlState: field("C") ?? "", message: message, detail: field("D"), hint: field("H"),
            context: field("W"), table: field("t"), constraint: field("n"))
    }
}
