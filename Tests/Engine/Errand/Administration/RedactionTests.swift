import ErrandAdministration
import Foundation
import Errand
import Testing

@Suite("Redaction") struct RedactionTests {
    private func redaction(_ args: String, _ names: Set<String> = ["email"]) -> Redaction {
        Redaction(args: Array(args.utf8), sensitive: names)
    }

    @Test(arguments: [
        (#"{"email": "a@b.example"}"#, #"{"email": "[redacted]"}"#),
        (#"{"email":1.50,"n":1.50}"#, #"{"email":"[redacted]","n":1.50}"#),
        (
            #"{"a": [{"email": null}, {"b": {"email": true}}]}"#,
            #"{"a": [{"email": "[redacted]"}, {"b": {"email": "[redacted]"}}]}"#
        ),
        (#"{"email": {"a": ["x}", 2, {"b": "]"}]}, "c": 1}"#, #"{"email": "[redacted]", "c": 1}"#),
        (#"{"em\u0061il" : [] , "x": "email"}"#, #"{"em\u0061il" : "[redacted]" , "x": "email"}"#),
        (
            #"{"x": "\"email\": \"no\"", "y": ["email"]}"#,
            #"{"x": "\"email\": \"no\"", "y": ["email"]}"#
        ),
        (
            #"{"E-mail": "a@b.example", "emails": "c"}"#,
            #"{"E-mail": "a@b.example", "emails": "c"}"#
        ),
        ("{}", "{}"),
    ])
    func `fields of such a name go, at any depth`(args: String, shown: String) {
        #expect(String(decoding: redaction(args).args, as: UTF8.self) == shown)
    }

    @Test func `without sensitive names all stays`() {
        let plain = redaction(#"{"email": "a@b.example"}"#, [])
        #expect(String(decoding: plain.args, as: UTF8.self) == #"{"email": "a@b.example"}"#)
        #expect(plain.text("to a@b.example") == "to a@b.example")
    }

    @Test(arguments: [
        ("to Kim@Example.ORG.", "to [redacted]."),
        (
            "kim@example.orgkim@example.org",
            "[redacted][redacted]"
        ), ("é kim@example.or é", "é kim@example.or é"),
        ("number 12345", "number [redacted]5"), ("abc", "abc"),
        (#"{"said": "a \"word\" ü"}"#, #"{"said": "[redacted]"}"#), ("", ""),
        ("true", "true"),
    ])
    func `its values go from other texts too`(text: String, shown: String) {
        let args = """
            {"email": ["kim@example.org", 1234, "abc", true, {"x": "a \\"word\\" ü"}], "n": 99999}
            """
        #expect(redaction(args).text(text) == shown)
    }

    @Test func `the longest value goes first`() {
        let nested = redaction(#"{"email": ["example", "kim@example"]}"#)
        #expect(nested.text("kim@example, example") == "[redacted], [redacted]")
    }

    @Test func `errors stay JSON, and their numbers as they are`() throws {
        let errors = #"[{"attempt": 1, "error": "\"k\tm@x\" \u00e9"}, {"k\tm@x": 2.50}]"#
        let shown = redaction(#"{"email": "k\tm@x"}"#).json(Array(errors.utf8))
        let text = String(decoding: shown, as: UTF8.self)
        #expect(text == #"[{"attempt": 1, "error": "\"[redacted]\" é"}, {"k\tm@x": 2.50}]"#)
        _ = try JSONSerialization.jsonObject(with: Data(shown))
    }

    /// Against a decoder: whatever the shape, no value of such a field is left.
    @Test func `random arguments`() throws {
        var random = SystemRandomNumberGenerator()
        func value(_ depth: Int) -> Any {
            switch Int.random(in: 0..<(depth > 3 ? 3 : 5), using: &random) {
            case 0: return "secret \(Int.random(in: 0...99, using: &random)) \"\\é\n"
            case 1: return Int.random(in: -9_999...9_999, using: &random)
            case 2: return NSNull()
            case 3: return (0..<3).map { _ in value(depth + 1) }
            default:
                return Dictionary(
                    uniqueKeysWithValues: ["email", "a\"b", "c"].map { ($0, value(depth + 1)) })
            }
        }
        func expected(_ value: Any) -> Any {
            if let list = value as? [Any] { return list.map(expected) }
            guard let members = value as? [String: Any] else { return value }
            return Dictionary(
                uniqueKeysWithValues: members.map { name, value in
                    (name, name == "email" ? "[redacted]" : expected(value))
                })
        }
        for _ in 0..<300 {
            let args: [String: Any] = ["x": value(0), "email": value(0)]
            let data = try JSONSerialization.data(withJSONObject: args)
            let shown = Redaction(args: Array(data), sensitive: ["email"]).args
            let read = try JSONSerialization.jsonObject(with: Data(shown))
            #expect((read as? NSDictionary) == (expected(args) as? NSDictionary))
        }
    }
}
