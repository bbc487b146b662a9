import ErrandPostgres
import ErrandTestServices
import Testing

/// What goes out as a parameter comes back as a column; the server's own text of it is the
/// independent witness.
@Suite("Round trips", .database) struct RoundTripTests {
    static let values: [(parameter: Parameter, type: String, text: String?)] = [
        (.bool(true), "boolean", "true"), (.bool(false), "boolean", "false"),
        (.int16(.min), "smallint", "-32768"), (.int32(.max), "integer", "2147483647"),
        (.int64(.min), "bigint", "-9223372036854775808"), (.int64(0), "bigint", "0"),
        (.float(1.5), "real", "1.5"), (.double(-0.1), "double precision", "-0.1"),
        (.double(.infinity), "double precision", "Infinity"),
        (.text(""), "text", ""), (.text("naïve 🦉 \n\\ '"), "text", "naïve 🦉 \n\\ '"),
        (.bytes([]), "bytea", #"\x"#), (.bytes([0, 255, 39]), "bytea", #"\x00ff27"#),
        (.json(Array(#"{"a": "ü"}"#.utf8)), "jsonb", #"{"a": "ü"}"#),
        (
            .timestamp(Instant(microseconds: -1)), "timestamp with time zone",
            "1999-12-31 23:59:59.999999+00"
        ),
        (.timestamp(.infinity), "timestamp with time zone", "infinity"),
        (.boolArray([true, false]), "boolean[]", "{t,f}"),
        (.int16Array([1, -1]), "smallint[]", "{1,-1}"),
        (.nullableInt16Array([1, nil]), "smallint[]", "{1,NULL}"),
        (.int32Array([1, -1]), "integer[]", "{1,-1}"),
        (.int64Array([.max, -1]), "bigint[]", "{9223372036854775807,-1}"),
        (.nullableInt64Array([nil, 7]), "bigint[]", "{NULL,7}"),
        (.floatArray([0.5]), "real[]", "{0.5}"),
        (.doubleArray([0.5, -2]), "double precision[]", "{0.5,-2}"),
        (.textArray(["a,b", "", "NULL", "é\"\\"]), "text[]", #"{"a,b","","NULL","é\"\\"}"#),
        (.nullableTextArray(["a", nil]), "text[]", "{a,NULL}"),
        (.jsonArray([Array("1".utf8), Array("null".utf8)]), "jsonb[]", "{1,\"null\"}"),
        (
            .timestampArray([Instant(microseconds: 0), nil]), "timestamp with time zone[]",
            "{\"2000-01-01 00:00:00+00\",NULL}"
        ),
        (.int64Array([]), "bigint[]", "{}"), (.textArray([]), "text[]", "{}"),
        (.jsonArray([]), "jsonb[]", "{}"), (.nullableTextArray([]), "text[]", "{}"),
    ]

    @Test func `the server sees each parameter as it was meant`() async throws {
        let session = try TestDatabase.here().session()
        for (parameter, type, text) in Self.values {
            let rows = try await session.query(
                "SELECT pg_typeof($1)::text, $1::text", [parameter])
            #expect(try rows[0].text(0) == type)
            #expect(try rows[0].optionalText(1) == text)
        }
    }

    @Test func `each column type is read as what it is`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            """
            SELECT true AS bool, 7::int2 AS int16, 7::int4 AS int32, 7::int8 AS int64,
                7::oid AS oid, 1.5::float4 AS float, -0.1::float8 AS double, 'ü'::text AS text,
                'v'::varchar(3) AS varchar, 'n'::name AS name, '\\x00ff'::bytea AS bytes,
                '{"a": 1}'::jsonb AS jsonb, '{"a":  1}'::json AS json,
                '2026-11-20 08:00+01'::timestamptz AS timestamp,
                '8c4b2f9e-0a1b-4c3d-9e8f-001122334455'::uuid AS uuid,
                '{1,2}'::int8[] AS int64s, '{1,2}'::int4[] AS int32s, '{1,2}'::int2[] AS int16s,
                '{a,""}'::text[] AS texts, '{}'::text[] AS nothing,
                '{infinity,NULL}'::timestamptz[] AS timestamps
            """)
        let row = rows[0]
        #expect(try row.bool("bool"))
        #expect(try row.int16("int16") == 7)
        #expect(try row.int32("int16") == 7)
        #expect(try row.int32("int32") == 7)
        for name in ["int16", "int32", "int64", "oid"] { #expect(try row.int64(name) == 7) }
        #expect(try row.double("float") == 1.5)
        #expect(try row.double("double") == -0.1)
        #expect(try row.text("text") == "ü")
        #expect(try row.text("varchar") == "v")
        #expect(try row.text("name") == "n")
        #expect(try row.text("jsonb") == #"{"a": 1}"#)
        #expect(try row.text("uuid") == "8c4b2f9e-0a1b-4c3d-9e8f-001122334455")
        #expect(try row.bytes("bytes") == [0, 255])
        #expect(try row.json("jsonb") == Array(#"{"a": 1}"#.utf8))
        #expect(try row.json("json") == Array(#"{"a":  1}"#.utf8))
        #expect(try row.timestamp("timestamp").description == "2026-11-20T07:00:00Z")
        for name in ["int64s", "int32s", "int16s"] {
            #expect(try row.int64Array(name) == [1, 2])
        }
        #expect(try row.int32Array("int16s") == [1, 2])
        #expect(try row.textArray("texts") == ["a", ""])
        #expect(try row.textArray("nothing") == [])
        #expect(try row.timestampArray("timestamps") == [.infinity, nil])
        #expect(rows.columns.count == 21)
    }

    @Test func `an enum is read as its label`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TYPE mood AS ENUM ('glad', 'sad')")
        let rows = try await session.query("SELECT $1::mood, '{sad}'::mood[]", [.text("glad")])
        #expect(try rows[0].text(0) == "glad")
    }

    @Test func `nulls are nil to the optional readers and an error to the others`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            "SELECT $1::int8 AS a, $2::text, $3::jsonb, $4::timestamptz, $5::bool, $6::text[]",
            [.null, .null, .null, .null, .null, .null])
        let row = rows[0]
        #expect(try row.optionalInt64("a") == nil)
        #expect(try row.optionalText(1) == nil)
        #expect(try row.optionalJSON(2) == nil)
        #expect(try row.optionalTimestamp(3) == nil)
        #expect(try row.optionalBool(4) == nil)
        #expect(try row.optionalTextArray(5) == nil)
        let error = await failure { _ = try row.int64("a") }
        #expect(error?.isDecoding == true)
        #expect(error?.description.contains("column a is null") == true)
    }

    @Test func `optional values become nulls or themselves`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            "SELECT $1::int8, $2::int8, $3::text, $4::bytea, $5::timestamptz, $6::jsonb",
            [
                .optional(Int64?.none), .optional(Int64?(4)), .optional("x"),
                .optionalBytes(nil), .optional(Instant?.none), .optionalJSON(Array("[]".utf8)),
            ])
        #expect(try rows[0].optionalInt64(0) == nil)
        #expect(try rows[0].optionalInt64(1) == 4)
        #expect(try rows[0].optionalText(2) == "x")
        #expect(try rows[0].optionalBytes(3) == nil)
        #expect(try rows[0].optionalTimestamp(4) == nil)
        #expect(try rows[0].optionalJSON(5) == Array("[]".utf8))
    }

    @Test func `a value of another type is an error, never a guess`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            "SELECT 7::int8, 'x'::text, 70000::int4, 1.5::numeric, '{1,NULL}'::int8[], now()::date")
        let row = rows[0]
        let reads: [() throws -> Void] = [
            { _ = try row.text(0) }, { _ = try row.double(0) }, { _ = try row.timestamp(0) },
            { _ = try row.int64(1) }, { _ = try row.bool(1) }, { _ = try row.bytes(1) },
            { _ = try row.json(1) }, { _ = try row.int16(2) }, { _ = try row.double(3) },
            { _ = try row.text(3) }, { _ = try row.int64Array(4) }, { _ = try row.textArray(4) },
            { _ = try row.text(5) }, { _ = try row.int64(6) }, { _ = try row.int64(-1) },
            { _ = try row.int64("missing") }, { _ = try rows.int64(1, 0) },
        ]
        for (number, read) in reads.enumerated() {
            let error = await failure(read)
            #expect(error?.isDecoding == true, "read \(number)")
        }
    }

    @Test func `arrays of 100,000 elements go both ways`() async throws {
        let session = try TestDatabase.here().session()
        let numbers = (0..<100_000).map { Int64($0) * 7_919 - 5 }
        let texts = numbers.map { "é\($0)" }
        let rows = try await session.query(
            "SELECT $1::int8[], $2::text[], cardinality($3::jsonb[]), $3[100000]",
            [
                .int64Array(numbers), .textArray(texts),
                .jsonArray(numbers.map { Array(#"{"n": \#($0)}"#.utf8) }),
            ])
        #expect(try rows.int64Array(0, 0) == numbers)
        #expect(try rows.textArray(0, 1) == texts)
        #expect(try rows.int32(0, 2) == 100_000)
        #expect(try rows.json(0, 3) == Array(#"{"n": \#(numbers[99_999])}"#.utf8))
    }

    @Test func `a large answer is read in order`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query("SELECT n FROM generate_series(1::int8, 50000) AS n")
        #expect(rows.count == 50_000)
        #expect(try rows.map { try $0.int64("n") } == (1...50_000).map { Int64($0) })
    }
}
