/// A value for a statement's placeholder.
///
/// It travels in PostgreSQL's binary form with its type.
public enum Parameter: Sendable {
    case null
    case bool(Bool)
    case int16(Int16)
    case int32(Int32)
    case int64(Int64)
    case float(Float)
    case double(Double)
    case text(String)
    /// For `bytea`.
    case bytes([UInt8])
    /// JSON text, for `jsonb`.
    case json([UInt8])
    case timestamp(Instant)
    case boolArray([Bool])
    case int16Array([Int16])
    case nullableInt16Array([Int16?])
    case int32Array([Int32])
    case int64Array([Int64])
    case nullableInt64Array([Int64?])
    case floatArray([Float])
    case doubleArray([Double])
    case textArray([String])
    case nullableTextArray([String?])
    case jsonArray([[UInt8]])
    case timestampArray([Instant?])

    /// A text, or null.
    public static func optional(_ text: String?) -> Parameter {
        text.map(Parameter.text) ?? .null
    }

    /// The type's OID (pg_type); 0 lets the server infer it.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .bool: 16
        case .bytes: 17
        case .int64: 20
        case .int16: 21
        case .int32: 23
        case .text: 25
        case .float: 700
        case .double: 701
        case .timestamp: 1184
        case .json: 3802
        case .boolArray: 1000
        case .int16Array, .nullableInt16Array: 1005
        case .int32Array: 1007
        case .textArray, .nullableTextArray: 1009
        case .int64Array, .nullableInt64Array: 1016
        case .floatArray: 1021
        case .doubleArray: 1022
        case .timestampArray: 1185
        case .jsonArray: 3807
        }
    }

    /// Appends the value's binary form; false for null.
    func encode(into bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: return false
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int16(let value): bytes.append(bigEndian: value)
        case .int32(let value): bytes.append(bigEndian: value)
        case .int64(let value): bytes.append(bigEndian: value)
        case .float(let value): bytes.append(bigEndian: value.bitPattern)
        case .double(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes += value.utf8
        case .bytes(let value): bytes += value
        case .json(let value):
            bytes.append(1)
            bytes += value
        case .timestamp(let value): bytes.append(bigEndian: value.microseconds)
        case .boolArray(let values):
            bytes.append(array: values, of: 16, hasNulls: false) { bytes, value in
                bytes.append(bigEndian: Int32(1))
                bytes.append(value ? 1 : 0)
            }
        case .int16Array(let values): bytes.append(integers: values, of: 21)
        case .nullableInt16Array(let values): bytes.append(integers: values, of: 21)
        case .int32Array(let values): bytes.append(integers: values, of: 23)
        case .int64Array(let values): bytes.append(integers: values, of: 20)
        case .nullableInt64Array(let values): bytes.append(integers: values, of: 20)
        case .floatArray(let values): bytes.append(integers: values.map(\.bitPattern), of: 700)
        case .doubleArray(let values): bytes.append(integers: values.map(\.bitPattern), of: 701)
        case .textArray(let values):
            bytes.append(array: values, of: 25, hasNulls: false) { $0.append(sized: $1.utf8) }
        case .nullableTextArray(let values):
            bytes.append(array: values, of: 25, hasNulls: true) { bytes, value in
                if let value {
                    bytes.append(sized: value.utf8)
                } else {
                    bytes.append(bigEndian: Int32(-1))
                }
            }
        case .jsonArray(let values):
            bytes.append(array: values, of: 3802, hasNulls: false) { bytes, value in
                bytes.append(bigEndian: Int32(value.count + 1))
                bytes.append(1)
                bytes += value
            }
        case .timestampArray(let values):
            bytes.append(integers: values.map { $0?.microseconds }, of: 1184)
        }
        return true
    }
}

/// A statement with its parameters, for a pipeline.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2` … for the parameters.
    public let sql: String
    /// Their values.
    public let parameters: [Parameter]

    /// A statement.
    public init(_ sql: String, _ parameters: [Parameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// Values as PostgreSQL sends and takes them: big-endian, arrays with a head and sized elements.
extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        var shift = value.bitWidth - 8
        while shift >= 0 {
            append(UInt8(truncatingIfNeeded: value >> shift))
            shift -= 8
        }
    }

    fileprivate mutating func append(sized text: some Collection<UInt8>) {
        append(bigEndian: Int32(text.count))
        self += text
    }

    fileprivate mutating func append<Item>(
        array values: [Item], of type: Int32, hasNulls: Bool,
        _ each: (inout [UInt8], Item) -> Void
    ) {
        append(arrayHead: values.count, of: type, hasNulls: hasNulls)
        for value in values { each(&self, value) }
    }

    private mutating func append(arrayHead count: Int, of type: Int32, hasNulls: Bool) {
        // Dimensions, whether there are nulls, the elements' type; then length and first index.
        append(bigEndian: Int32(count == 0 ? 0 : 1))
        append(bigEndian: Int32(hasNulls ? 1 : 0))
        append(bigEndian: type)
        guard count > 0 else { return }
        append(bigEndian: Int32(count))
        append(bigEndian: Int32(1))
    }

    fileprivate mutating func append<Value: FixedWidthInteger>(
        integers values: [Value], of type: Int32
    ) {
        append(arrayHead: values.count, of: type, hasNulls: false)
        let width = Value.bitWidth / 8
        reserveCapacity(count + values.count * (width + 4))
        for value in values {
            append(bigEndian: Int32(width))
            append(bigEndian: value)
        }
    }

    fileprivate mutating func append<Value: FixedWidthInteger>(
        integers values: [Value?], of type: Int32
    ) {
        append(array: values, of: type, hasNulls: true) { bytes, value in
            guard let value else { return bytes.append(bigEndian: Int32(-1)) }
            bytes.append(bigEndian: Int32(Value.bitWidth / 8))
            bytes.append(bigEndian: value)
        }
    }
}
