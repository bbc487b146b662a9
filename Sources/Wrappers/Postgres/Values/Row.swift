/// The key of a column: its name, or its position from 0.
public protocol ColumnKey: Sendable {
    /// Returns the position of the column.
    ///
    /// - Throws: ``PostgresError/decoding(_:)`` if there is no such column.
    func position(in rows: Rows) throws(PostgresError) -> Int
}

extension String: ColumnKey {
    /// Returns the position of the first column with this name.
    public func position(in rows: Rows) throws(PostgresError) -> Int { try rows.column(self) }
}

extension Int: ColumnKey {
    /// Returns this position.
    public func position(in rows: Rows) throws(PostgresError) -> Int { self }
}

/// A row whose columns are read by name or position.
///
/// The plain methods throw ``PostgresError/decoding(_:)`` for null; the optional ones return nil.
public struct Row: Sendable {
    let rows: Rows
    let index: Int

    private func read<Value>(
        _ column: some ColumnKey,
        _ value: (Rows) -> (Int, Int) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try value(rows)(index, column.position(in: rows))
    }

    private func optional<Value>(
        _ column: some ColumnKey,
        _ value: (Rows) -> (Int, Int) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        let position = try column.position(in: rows)
        return rows.isNull(index, position) ? nil : try value(rows)(index, position)
    }

    /// Whether the column is null.
    public func isNull(_ column: some ColumnKey) throws(PostgresError) -> Bool {
        rows.isNull(index, try column.position(in: rows))
    }

    /// A whole number.
    public func int64(_ column: some ColumnKey) throws(PostgresError) -> Int64 {
        try read(column, Rows.int64)
    }
    /// A whole number of at most 32 bits.
    public func int32(_ column: some ColumnKey) throws(PostgresError) -> Int32 {
        try read(column, Rows.int32)
    }
    /// A whole number of at most 16 bits.
    public func int16(_ column: some ColumnKey) throws(PostgresError) -> Int16 {
        try read(column, Rows.int16)
    }
    /// True or false.
    public func bool(_ column: some ColumnKey) throws(PostgresError) -> Bool {
        try read(column, Rows.bool)
    }
    /// A floating-point number.
    public func double(_ column: some ColumnKey) throws(PostgresError) -> Double {
        try read(column, Rows.double)
    }
    /// A text; see ``Rows/text(_:_:)``.
    public func text(_ column: some ColumnKey) throws(PostgresError) -> String {
        try read(column, Rows.text)
    }
    /// The bytes of a `bytea`.
    public func bytes(_ column: some ColumnKey) throws(PostgresError) -> [UInt8] {
        try read(column, Rows.bytes)
    }
    /// The text of a JSON value.
    public func json(_ column: some ColumnKey) throws(PostgresError) -> [UInt8] {
        try read(column, Rows.json)
    }
    /// An instant.
    public func timestamp(_ column: some ColumnKey) throws(PostgresError) -> Instant {
        try read(column, Rows.timestamp)
    }
    /// An array of whole numbers.
    public func int64Array(_ column: some ColumnKey) throws(PostgresError) -> [Int64] {
        try read(column, Rows.int64Array)
    }
    /// An array of whole numbers of at most 32 bits.
    public func int32Array(_ column: some ColumnKey) throws(PostgresError) -> [Int32] {
        try read(column, Rows.int32Array)
    }
    /// An array of texts.
    public func textArray(_ column: some ColumnKey) throws(PostgresError) -> [String] {
        try read(column, Rows.textArray)
    }
    /// The texts in an array, whatever its dimensions, without nulls; none for null.
    ///
    /// For columns in which any array may be: PostgreSQL's types do not limit the dimensions.
    public func looseTextArray(_ column: some ColumnKey) throws(PostgresError) -> [String] {
        try optional(column, Rows.looseTextArray) ?? []
    }
    /// An array of instants that may be null.
    public func timestampArray(_ column: some ColumnKey) throws(PostgresError) -> [Instant?] {
        try read(column, Rows.timestampArray)
    }

    /// A whole number, or nil for null.
    public func optionalInt64(_ column: some ColumnKey) throws(PostgresError) -> Int64? {
        try optional(column, Rows.int64)
    }
    /// An array of whole numbers, or nil for null.
    public func optionalInt64Array(
        _ column: some ColumnKey
    ) throws(PostgresError) -> [Int64]? {
        try optional(column, Rows.int64Array)
    }
    /// A whole number of at most 32 bits, or nil for null.
    public func optionalInt32(_ column: some ColumnKey) throws(PostgresError) -> Int32? {
        try optional(column, Rows.int32)
    }
    /// A whole number of at most 16 bits, or nil for null.
    public func optionalInt16(_ column: some ColumnKey) throws(PostgresError) -> Int16? {
        try optional(column, Rows.int16)
    }
    /// True, false, or nil for null.
    public func optionalBool(_ column: some ColumnKey) throws(PostgresError) -> Bool? {
        try optional(column, Rows.bool)
    }
    /// A floating-point number, or nil for null.
    public func optionalDouble(_ column: some ColumnKey) throws(PostgresError) -> Double? {
        try optional(column, Rows.double)
    }
    /// A text, or nil for null.
    public func optionalText(_ column: some ColumnKey) throws(PostgresError) -> String? {
        try optional(column, Rows.text)
    }
    /// The bytes of a `bytea`, or nil for null.
    public func optionalBytes(_ column: some ColumnKey) throws(PostgresError) -> [UInt8]? {
        try optional(column, Rows.bytes)
    }
    /// The text of a JSON value, or nil for SQL's null.
    public func optionalJSON(_ column: some ColumnKey) throws(PostgresError) -> [UInt8]? {
        try optional(column, Rows.json)
    }
    /// An instant, or nil for null.
    public func optionalTimestamp(_ column: some ColumnKey) throws(PostgresError) -> Instant? {
        try optional(column, Rows.timestamp)
    }
    /// An array of texts, or nil for null.
    public func optionalTextArray(_ column: some ColumnKey) throws(PostgresError) -> [String]? {
        try optional(column, Rows.textArray)
    }
}
