/// The rows of a statement's result, in PostgreSQL's binary format until they are read.
///
/// Columns are read by position in hot paths, or by name through ``Row``. Reading a value that is
/// null, missing or of another type throws an error.
public struct Rows: Sendable, RandomAccessCollection {
    let result: ResultBox
    /// The number of rows.
    public let count: Int
    /// The number of rows that the statement affected, from its command tag.
    public var affected: Int { result.affected }
    /// The command tag of the statement, such as `SELECT 3` or `BEGIN`.
    var commandTag: String { result.commandTag }

    init(_ result: ResultBox) {
        self.result = result
        count = result.rowCount
    }

    /// The index of the first row.
    public var startIndex: Int { 0 }
    /// The index after the last row.
    public var endIndex: Int { count }
    /// The row at an index.
    public subscript(_ index: Int) -> Row { Row(rows: self, index: index) }

    /// The names of the columns.
    public var columns: [String] { result.columns }

    /// Returns whether a value is null; false if there is no such value.
    public func isNull(_ row: Int, _ column: Int) -> Bool { result.isNull(row, column) }

    /// A whole number; narrower columns are widened.
    public func int64(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        let value = try unsafe result.value(row, column)
        switch (unsafe value.type, unsafe value.bytes.count) {
        case (TypeOID.int8, 8): return unsafe value.bytes.integer(0, as: Int64.self)
        case (TypeOID.int4, 4): return Int64(unsafe value.bytes.integer(0, as: Int32.self))
        case (TypeOID.int2, 2): return Int64(unsafe value.bytes.integer(0, as: Int16.self))
        case (TypeOID.oid, 4): return Int64(unsafe value.bytes.integer(0, as: UInt32.self))
        default: throw result.mismatch(column, "a whole number")
        }
    }

    /// A whole number of at most 32 bits.
    public func int32(_ row: Int, _ column: Int) throws(PostgresError) -> Int32 {
        let value = try int64(row, column)
        guard let narrow = Int32(exactly: value) else {
            throw .decoding("column \(result.name(column)) holds \(value): more than 32 bits")
        }
        return narrow
    }

    /// A whole number of at most 16 bits.
    public func int16(_ row: Int, _ column: Int) throws(PostgresError) -> Int16 {
        let value = try int64(row, column)
        guard let narrow = Int16(exactly: value) else {
            throw .decoding("column \(result.name(column)) holds \(value): more than 16 bits")
        }
        return narrow
    }

    /// True or false.
    public func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        let value = try unsafe result.value(row, column)
        guard unsafe value.type == TypeOID.bool, let byte = unsafe value.bytes.first else {
            throw result.mismatch(column, "a boolean")
        }
        return byte == 1
    }

    /// A floating-point number of 32 or 64 bits.
    public func double(_ row: Int, _ column: Int) throws(PostgresError) -> Double {
        let value = try unsafe result.value(row, column)
        switch (unsafe value.type, unsafe value.bytes.count) {
        case (TypeOID.float8, 8):
            return Double(bitPattern: unsafe value.bytes.integer(0, as: UInt64.self))
        case (TypeOID.float4, 4):
            return Double(Float(bitPattern: unsafe value.bytes.integer(0, as: UInt32.self)))
        default: throw result.mismatch(column, "a floating-point number")
        }
    }

    /// A text; also an enum's label, the text of JSON, and a UUID in its usual form.
    public func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        let value = try unsafe result.value(row, column)
        let type = unsafe value.type
        if TypeOID.isText(type) { return unsafe String(decoding: value.bytes, as: UTF8.self) }
        switch type {
        case TypeOID.jsonb:
            return unsafe String(decoding: value.bytes.dropFirst(), as: UTF8.self)
        case TypeOID.uuid: return Self.uuidText(unsafe [UInt8](value.bytes))
        default: throw result.mismatch(column, "a text")
        }
    }

    /// The bytes of a `bytea`.
    public func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        let value = try unsafe result.value(row, column)
        guard unsafe value.type == TypeOID.bytea else { throw result.mismatch(column, "bytea") }
        return unsafe [UInt8](value.bytes)
    }

    /// The text of a `jsonb` or `json`.
    public func json(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        let value = try unsafe result.value(row, column)
        switch unsafe value.type {
        // The binary form of jsonb starts with a version number.
        case TypeOID.jsonb: return unsafe [UInt8](value.bytes.dropFirst())
        case TypeOID.json: return unsafe [UInt8](value.bytes)
        default: throw result.mismatch(column, "JSON")
        }
    }

    /// An instant.
    public func timestamp(_ row: Int, _ column: Int) throws(PostgresError) -> Instant {
        let value = try unsafe result.value(row, column)
        guard unsafe value.type == TypeOID.timestamptz, unsafe value.bytes.count == 8 else {
            throw result.mismatch(column, "a timestamptz")
        }
        return Instant(microseconds: unsafe value.bytes.integer(0, as: Int64.self))
    }

    /// Returns the position of the column with a name.
    func column(_ name: String) throws(PostgresError) -> Int {
        guard let column = result.column(name) else {
            throw .decoding(
                "there is no column \(name); columns: \(columns.joined(separator: ", "))")
        }
        return column
    }

    private static func uuidText(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for (place, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(place) { text.append(UInt8(ascii: "-")) }
            for digit in [byte >> 4, byte & 15] {
                text.append(digit < 10 ? digit + 48 : digit - 10 + UInt8(ascii: "a"))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a number in network byte order; the caller has checked the bounds.
    func integer<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        Number(bigEndian: unsafe loadUnaligned(fromByteOffset: offset, as: type))
    }
}
