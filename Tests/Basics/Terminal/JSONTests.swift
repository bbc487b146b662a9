import Foundation
import ErrandTerminal
import Testing

@Suite("JSON") struct JSONTests {
    @Test func `every character below U+0800 survives a foreign reader`() throws {
        for code in UInt32(0)..<0x800 {
            let text = "a" + String(try #require(Unicode.Scalar(code))) + "z"
            let bytes = JSONValue.array([.text(text)]).serialized
            let read = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String]
            #expect(read == [text], "U+\(String(code, radix: 16))")
            #expect(!bytes.contains { $0 < 0x20 })
        }
    }

    @Test func `random nested values read back as they were`() throws {
        var chance = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let value = Self.random(depth: 0, using: &chance)
            let bytes = JSONValue.object([.init("v", value)]).serialized
            let read = try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(read == ["v": Self.foreign(value)] as NSDictionary, "\(text)")
        }
    }

    @Test func `every finite number reads back exactly`() throws {
        for _ in 0..<2000 {
            let number = Double(bitPattern: .random(in: 0...UInt64.max))
            guard number.isFinite else { continue }
            let bytes = JSONValue.array([.double(number)]).serialized
            #expect(try JSONDecoder().decode([Double].self, from: Data(bytes)) == [number])
            let whole = Int(bitPattern: UInt(number.bitPattern))
            let wholeBytes = JSONValue.array([.int(whole)]).serialized
            #expect(try JSONDecoder().decode([Int].self, from: Data(wholeBytes)) == [whole])
        }
    }

    private static func random(
        depth: Int, using chance: inout SystemRandomNumberGenerator
    ) -> JSONValue {
        switch Int.random(in: 0..<(depth < 4 ? 7 : 5), using: &chance) {
        case 0: return .null
        case 1: return .bool(.random(using: &chance))
        case 2: return .int(.random(in: -(1 << 50)...(1 << 50), using: &chance))
        // JSONSerialization loses digits of long numbers, so these are short; the test above
        // has the long ones.
        case 3: return .double(Double(Int.random(in: -9999...9999, using: &chance)) / 8)
        case 4:
            let letters = ["\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "é", "🚀", "\u{2028}", "a"]
            return .text((0..<8).map { _ in letters.randomElement(using: &chance) ?? "" }.joined())
        case 5: return .array((0..<3).map { _ in random(depth: depth + 1, using: &chance) })
        default:
            return .object(
                (0..<3).map { .init("k\"\($0)", random(depth: depth + 1, using: &chance)) })
        }
    }

    private static func foreign(_ value: JSONValue) -> Any {
        switch value {
        case .null: NSNull()
        case .bool(let value): value as NSNumber
        case .int(let value): value as NSNumber
        case .double(let value): value as NSNumber
        case .text(let value): value as NSString
        case .raw: NSNull()
        case .array(let values): values.map(foreign) as NSArray
        case .object(let members):
            NSDictionary(
                objects: members.map { foreign($0.value) },
                forKeys: members.map { $0.name as NSString })
        }
    }

    @Test(
        "each kind of value has its form",
        arguments: [
            (.null, "null"), (.bool(true), "true"), (.int(-5), "-5"), (.double(0.25), "0.25"),
            (.double(.nan), "null"), (.double(.infinity), "null"), (.double(1e21), "1e+21"),
            (.int(.min), "-9223372036854775808"), (.text("\u{7}\t\u{7F}"), "\"\\u0007\\t\u{7F}\""),
            (.raw(Array(#"{"a": 1}"#.utf8)), #"{"a": 1}"#), (.raw([]), "null"),
            (.raw(Array("[1,\r\n2]".utf8)), "[1,  2]"), ([], "[]"), (.object([]), "{}"),
            (["z": .int(1), "a": [.null, .text("x")]], #"{"z":1,"a":[null,"x"]}"#),
        ] as [(JSONValue, String)])
    func form(value: JSONValue, expected: String) {
        #expect(String(decoding: value.serialized, as: UTF8.self) == expected)
    }

    @Test func `a record's fields keep their order, names and types`() {
        let record: Record = [
            "id": .id(5), "state": .marked("dead", .red), "size": .bytes(2048),
            "ratio": .number(0.123456, decimals: 1), "is_due": .flag(true),
            "run_at": .time(Date(timeIntervalSince1970: 1_772_354_400.25)),
            "made": .age(Date(timeIntervalSince1970: 0), now: Date(timeIntervalSince1970: 60)),
            "wait": .duration(.milliseconds(1500)), "tags": .list(["a", "b"]),
            "errors": .records([["attempt": .int(1)]]), "args": .json(Array("[1]".utf8)),
            "key": .missing, "note": .optional(nil as String?, Cell.text),
        ]
        #expect(
            String(decoding: record.json.serialized, as: UTF8.self)
                == #"{"id":5,"state":"dead","size":2048,"ratio":0.123456,"is_due":true,"#
                + #""run_at":"2026-03-01T08:40:00.250000Z","made":"1970-01-01T00:00:00.000000Z","#
                + #""wait":1.5,"tags":["a","b"],"errors":[{"attempt":1}],"args":[1],"#
                + #""key":null,"note":null}"#)
        let texts = record.fields.map(\.cell.text)
        #expect(
            texts == [
                "5", "dead", "2.0 KiB", "0.1", "yes", "2026-03-01 08:40:00Z", "1 m ago", "1.5 s",
                "a, b", "1", "[1]", "-", "-",
            ])
    }
}
