/// The value of a placeholder in a statement.
///
/// It is sent in PostgreSQL's binary format with its type.
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
}

extension Parameter {
    /// A boolean, or null.
    public static func optional(_ value: Bool?) -> Parameter { value.map(Parameter.bool) ?? .null }
    /// A number of 16 bits, or null.
    public static func optional(_ value: Int16?) -> Parameter {
        value.map(Parameter.int16) ?? .null
    }
    /// A number of 32 bits, or null.
    public static func optional(_ value: Int32?) -> Parameter {
        value.map(Parameter.int32) ?? .null
    }
    /// A number of 64 bits, or null.
    public static func optional(_ value: Int64?) -> Parameter {
        value.map(Parameter.int64) ?? .null
    }
    /// A floating-point number, or null.
    public static func optional(_ value: Double?) -> Parameter {
        value.map(Parameter.double) ?? .null
    }
    /// A text, or null.
    public static func optional(_ value: String?) -> Parameter {
        value.map(Parameter.text) ?? .null
    }
    /// An instant, or null.
    public static func optional(_ value: Instant?) -> Parameter {
        value.map(Parameter.timestamp) ?? .null
    }
    /// Bytes for `bytea`, or null.
    public static func optionalBytes(_ value: [UInt8]?) -> Parameter {
        value.map(Parameter.bytes) ?? .null
    }
    /// JSON text for `jsonb`, or null.
    public static func optionalJSON(_ value: [UInt8]?) -> Parameter {
        value.map(Parameter.json) ?? .null
    }
}

/// A statement with its parameters, for a pipeline.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2` … for the parameters.
    public let sql: String
    /// The values of the parameters.
    public let parameters: [Parameter]

    /// Creates a statement.
    public init(_ sql: String, _ parameters: [Parameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}
