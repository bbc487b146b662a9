/// The object identifiers of built-in types, which never change (PostgreSQL's `pg_type.dat`).
enum TypeOID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let timestamptz: UInt32 = 1184
    static let uuid: UInt32 = 2950
    static let jsonb: UInt32 = 3802
    static let int2Array: UInt32 = 1005
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let varcharArray: UInt32 = 1015
    static let int8Array: UInt32 = 1016
    static let nameArray: UInt32 = 1003
    static let timestamptzArray: UInt32 = 1185

    /// The SQL names of types, for error messages.
    private static let names: [UInt32: String] = [
        bool: "boolean", bytea: "bytea", int8: "bigint", int2: "smallint", int4: "integer",
        text: "text", oid: "oid", json: "json", float4: "real", float8: "double precision",
        1082: "date", 1083: "time", 1114: "timestamp without time zone",
        timestamptz: "timestamptz", 1186: "interval", 1700: "numeric", uuid: "uuid",
        jsonb: "jsonb", 1000: "boolean[]", 1001: "bytea[]", int2Array: "smallint[]",
        int4Array: "integer[]", textArray: "text[]", int8Array: "bigint[]", 1021: "real[]",
        1022: "double precision[]", timestamptzArray: "timestamptz[]", 1231: "numeric[]",
        2951: "uuid[]", 3807: "jsonb[]", 869: "inet", 650: "cidr", 829: "macaddr",
        790: "money", 1266: "time with time zone", 2249: "record", 28: "xid", 5069: "xid8",
        3220: "pg_lsn", 3904: "int4range", 3910: "tstzrange", 3926: "int8range",
    ]

    static func name(_ type: UInt32) -> String { names[type] ?? "of the type with OID \(type)" }

    /// Returns whether a type's binary form is its text: also for enums and types of extensions,
    /// whose OIDs are not fixed.
    static func isText(_ type: UInt32) -> Bool {
        switch type {
        case text, json: true
        default: names[type] == nil
        }
    }
}
