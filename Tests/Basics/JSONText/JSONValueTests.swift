import ErrandJSONText
import Foundation
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

    @Test(
        "what is read is what is written",
        arguments: [
            (" [ null , true,false ] ", "[null,true,false]"),
            (#"{"b":{"a":1},"a":[],"a":"x"}"#, #"{"b":{"a":1},"a":[],"a":"x"}"#),
            (#""\u00e9\n\ud83d\ude00\/""#, #""é\n😀/""#), ("-0", "0"), ("-5", "-5"),
            ("9223372036854775807", "9223372036854775807"), ("1e2", "100.0"), ("0.25", "0.25"),
            ("9223372036854775808", "9.223372036854776e+18"), ("1e400", "null"),
        ])
    func parsed(text: String, written: String) throws {
        let value = try JSONValue(parsing: Array(text.utf8)[...])
        #expect(String(decoding: value.serialized, as: UTF8.self) == written)
    }

    @Test(arguments: ["", "[1,]", "{\"a\":}", "1 2", "tru", "\"\\x\"", "[[[", "\"\u{0}\""])
    func `what is no JSON is not read`(_ text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Array(text.utf8)[...]) }
    }

    @Test func `nesting is read as deep as the scanner goes`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: 0x5B, count: depth) + Array(repeating: 0x5D, count: depth)
        }
        #expect(try JSONValue(parsing: nested(256)[...]).serialized == nested(256))
        for depth in [257, 100_000] {
            #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: nested(depth)[...]) }
        }
    }

    @Test func `of members of one name the last counts`() throws {
        let value = try JSONValue(parsing: Array(#"{"a":1,"b":2,"a":3}"#.utf8)[...])
        #expect(value["a"] == .int(3))
        #expect(value["c"] == nil)
        #expect(JSONValue.array([])["a"] == nil)
    }
}
