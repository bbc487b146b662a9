import ErrandJSONText
import ErrandTestServices
import Foundation
import Testing

@Suite("JSON editor") struct JSONEditorTests {
    private func replaced(
        _ json: String, _ names: Set<String>
    ) -> (text: String?, leaves: [String]) {
        var leaves: [String] = []
        let bytes = JSONEditor.replacingMembers(of: Array(json.utf8), named: names, by: "*") {
            leaves.append($0)
        }
        return (bytes.map { String(decoding: $0, as: UTF8.self) }, leaves)
    }

    @Test(
        "members of a name are replaced, whatever they hold, and the rest stays as it is",
        arguments: [
            (#"{"a": "x", "b" :1}"#, #"{"a": "*", "b" :1}"#, ["x"]),
            (
                #"{"b":[{"a":{"c":[1,"y",null,true],"a":-2.5e3}}]}"#, #"{"b":[{"a":"*"}]}"#,
                [
                    "1", "y", "-2.5e3",
                ]
            ),
            (#"{"a" : [ ] , "b":{"a":false}}"#, #"{"a" : "*" , "b":{"a":"*"}}"#, []),
            (#"{"\u0061":"q\"\u00e9"}"#, #"{"\u0061":"*"}"#, ["q\"é"]),
            (#"{"b":"a","c":["a"]}"#, #"{"b":"a","c":["a"]}"#, []),
            (#"{"a":"a:","b":"{\"a\":1}"}"#, #"{"a":"*","b":"{\"a\":1}"}"#, ["a:"]),
        ])
    func members(json: String, expected: String, leaves: [String]) {
        let result = replaced(json, ["a"])
        #expect(result.text == expected)
        #expect(result.leaves == leaves)
    }

    @Test func `texts are changed, and names are not`() {
        let json = #"{"secret": ["secret", {"x": "a secret\n"}], "n": 1}"#
        let changed = JSONEditor.mappingTexts(of: Array(json.utf8)) {
            $0.replacing("secret", with: "\"*\"")
        }
        #expect(
            changed.map { String(decoding: $0, as: UTF8.self) }
                == #"{"secret": ["\"*\"", {"x": "a \"*\"\n"}], "n": 1}"#)
    }

    @Test func `depth is no limit, because PostgreSQL's is another`() {
        let deep = 20_000
        let json =
            String(repeating: #"{"b":["#, count: deep) + #"{"a":"x"}"#
            + String(repeating: "]}", count: deep)
        #expect(replaced(json, ["a"]).text == json.replacing(#""x""#, with: #""*""#))
        #expect(replaced(json, ["b"]).text == #"{"b":"*"}"#)
    }

    @Test(arguments: [#"{"a":"#, #"{"a":"x"#, #"{"a"}"#, #"{"a":}"#, #"{"a":tru}"#, #"{"a":[1"#])
    func `nothing comes of what is no JSON`(_ json: String) {
        let text = replaced(json, ["a"]).text
        #expect(text == nil || text == json)
        #expect(text?.contains("x") != true)
    }

    /// Beside Foundation, which knows the members by their values.
    @Test(arguments: [31, 32, 33] as [UInt64])
    func `of objects made at random no named member is left`(_ seed: UInt64) throws {
        var mutations = JSONMutations(seed: seed)
        for _ in 0..<500 {
            let text = mutations.object()
            let names: Set<String> = ["a", "kind", ""]
            let result = try #require(replaced(text, names).text)
            let value = try JSONSerialization.jsonObject(with: Data(result.utf8))
            #expect(isClean(value, names), "seed \(seed): \(text)")
        }
    }

    private func isClean(_ value: Any, _ names: Set<String>) -> Bool {
        if let object = value as? [String: Any] {
            return object.allSatisfy { name, value in
                names.contains(name) ? value as? String == "*" : isClean(value, names)
            }
        }
        return (value as? [Any])?.allSatisfy { isClean($0, names) } ?? true
    }
}
