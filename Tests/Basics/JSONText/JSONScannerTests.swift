import ErrandJSONText
import Testing

@Suite("JSON scanner") struct JSONScannerTests {
    private func check(_ bytes: [UInt8]) throws(JSONSyntaxError) {
        try JSONScanner.checkObject(bytes[...])
    }

    private func refusal(of text: String) -> String? {
        do {
            try check(Array(text.utf8))
            return nil
        } catch { return error.description }
    }

    @Test(arguments: [
        "{}", " \t\r\n{ \n} ", #"{"a":1}"#, #"{"a":{},"b":[],"c":[[]],"d":[{}]}"#,
        #"{"":""}"#, #"{"a":null,"a":true,"a":false}"#, #"{"a":[1, 2 ,3 , {"b" : [ ] }]}"#,
        #"{"a":-0}"#, #"{"a":0.0}"#, #"{"a":1e5}"#, #"{"a":1E+05}"#, #"{"a":-12.34e-56}"#,
        #"{"a":123456789012345678901234567890.123456789}"#, #"{"a":10}"#,
        #"{"a":"\"\\\/\b\f\n\r\t"}"#, #"{"a":"\u00e9\u00E9\uABCD\uFFFF\u0001"}"#,
        #"{"a":"\ud83d\ude00"}"#, #"{"a":"\uD800\uDC00\uDBFF\uDFFF"}"#, "{\"a\":\"é😀\u{7F}\"}",
        "{\"é😀\":\"\u{FFFF}\u{10FFFF}\"}", #"{"a":"{\"b\":[}]"}"#,
    ])
    func `valid objects are taken`(_ text: String) {
        #expect(refusal(of: text) == nil)
    }

    @Test(arguments: [
        ("", "column 1: expected an object, {…}"),
        ("  ", "column 3: expected an object, {…}"),
        ("[]", "column 1: expected an object, {…}"),
        ("null", "column 1: expected an object, {…}"),
        ("\u{FEFF}{}", "column 1: expected an object, {…}"),
        ("{", "column 2: expected a name in quotation marks"),
        ("{} {}", "column 4: expected the end of the text"),
        ("{}}", "column 3: expected the end of the text"),
        ("{\u{B}}", "column 2: expected a name in quotation marks"),
        ("{a:1}", "column 2: expected a name in quotation marks"),
        ("{'a':1}", "column 2: expected a name in quotation marks"),
        (#"{"a"}"#, "column 5: expected a colon"),
        (#"{"a":}"#, "column 6: expected a value"),
        (#"{"a":1,}"#, "column 8: expected a name in quotation marks"),
        (#"{,"a":1}"#, "column 2: expected a name in quotation marks"),
        (#"{"a":1 "b":2}"#, "column 8: expected a comma or }"),
        (#"{"a":1"#, "column 7: expected a comma or }"),
        (#"{"a":[1,]}"#, "column 9: expected a value"),
        (#"{"a":[1 2]}"#, "column 9: expected a comma or ]"),
        (#"{"a":[1}"#, "column 8: expected a comma or ]"),
        (#"{"a":[1"#, "column 8: expected a comma or ]"),
        (#"{"a":01}"#, "column 7: expected a comma or }"),
        (#"{"a":+1}"#, "column 6: expected a value"),
        (#"{"a":-}"#, "column 7: expected a value"),
        (#"{"a":.5}"#, "column 6: expected a value"),
        (#"{"a":1.}"#, "column 8: expected a digit"),
        (#"{"a":1e}"#, "column 8: expected a digit"),
        (#"{"a":1e+}"#, "column 9: expected a digit"),
        (#"{"a":0x10}"#, "column 7: expected a comma or }"),
        (#"{"a":NaN}"#, "column 6: expected a value"),
        (#"{"a":tru}"#, "column 9: expected true"),
        (#"{"a":True}"#, "column 6: expected a value"),
        (#"{"a":nul"#, "column 9: expected null"),
        (#"{"a":falsy}"#, "column 10: expected false"),
        (#"{"a":"b}"#, "column 9: expected a closing quotation mark"),
        (#"{"a":"\"#, "column 8: expected an escape such as \\n or \\u00e9"),
        (#"{"a":"\x"}"#, "column 8: expected an escape such as \\n or \\u00e9"),
        (#"{"a":"\U0041"}"#, "column 8: expected an escape such as \\n or \\u00e9"),
        (#"{"a":"\u12"}"#, "column 11: expected four hexadecimal digits"),
        (#"{"a":"\u00g0"}"#, "column 11: expected four hexadecimal digits"),
        (#"{"a":"\u００00"}"#, "column 9: expected four hexadecimal digits"),
        ("{\"a\":\"\t\"}", "column 7: expected an escaped control character"),
        ("{\"a\":\"\0\"}", "column 7: expected an escaped control character"),
        (#"{"a":"\u0000"}"#, "column 13: expected no U+0000: PostgreSQL cannot store it"),
        (#"{"a\u0000":1}"#, "column 10: expected no U+0000: PostgreSQL cannot store it"),
        (#"{"a":"\ude00"}"#, "column 13: expected the first half of a surrogate pair"),
        (#"{"a":"\ud83d"}"#, "column 13: expected the second half of a pair"),
        (#"{"a":"\ud83d\n"}"#, "column 14: expected the second half of a pair"),
        (#"{"a":"\ud83d\u0041"}"#, "column 19: expected the second half of a pair"),
        (#"{"a":"\ud83d\ud83d"}"#, "column 19: expected the second half of a pair"),
    ])
    func `invalid texts are refused with the place and what was expected`(
        _ text: String, _ expected: String
    ) {
        #expect(refusal(of: text) == expected)
    }

    @Test(
        arguments: [
            [0xFF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xED, 0xA0, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
            [0x80],
        ] as [[UInt8]])
    func `what is not UTF-8 is refused`(_ bytes: [UInt8]) {
        let document = Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)
        let error = #expect(throws: JSONSyntaxError.self) { try check(document) }
        #expect(error?.problem == "expected UTF-8 text")
    }

    @Test func `nesting goes as deep as it may and no deeper`() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            #"{"a":"# + String(repeating: open, count: depth) + "1"
                + String(repeating: close, count: depth) + "}"
        }
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            #expect(refusal(of: nested(254, open, close)) == nil)
            #expect(refusal(of: nested(255, open, close))?.contains("fewer nested levels") == true)
            let endless = nested(100_000, open, close)
            #expect(refusal(of: endless)?.contains("fewer nested levels") == true)
        }
    }

    @Test func `the members of an object come in their order with their own text`() throws {
        let text = #" { "kind" : "a.b" , "args":{"x": [1, {"y":2}]},"n":-1.5e3 ,"kind":null } "#
        let members = try JSONScanner.members(of: Array(text.utf8)[...])
        #expect(members.map(\.name) == ["kind", "args", "n", "kind"])
        #expect(
            members.map { String(decoding: $0.value, as: UTF8.self) }
                == [#""a.b""#, #"{"x": [1, {"y":2}]}"#, "-1.5e3", "null"])
    }

    @Test func `an escaped name is the name that it means`() throws {
        let text = #"{"\u006bind":1,"a\"b\\":2,"\ud83d\ude00":3,"é":4,"":5}"#
        let members = try JSONScanner.members(of: Array(text.utf8)[...])
        #expect(members.map(\.name) == ["kind", #"a"b\"#, "😀", "é", ""])
    }

    @Test func `a piece in the middle of a buffer is counted from its own beginning`() throws {
        let buffer = Array(#"{"before":1}{"a":x}{"after":2}"#.utf8)
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONScanner.checkObject(buffer[12..<19])
        }
        #expect(error?.column == 6)
        let members = try JSONScanner.members(of: buffer[19...])
        #expect(members.map(\.name) == ["after"])
        #expect(members.first.map { Array($0.value) } == Array("2".utf8))
    }

    @Test func `no members of what is not an object`() {
        for text in ["", "[]", #"{"a":1"#, #"{"a":1}{}"#] {
            #expect(throws: JSONSyntaxError.self) {
                try JSONScanner.members(of: Array(text.utf8)[...])
            }
        }
    }

    @Test(
        "whole numbers are read up to the last that 64 bits hold",
        arguments: [
            ("0", 0), ("-0", 0), ("42,", 42), ("-7}", -7),
            ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ] as [(String, Int64)])
    func whole(text: String, number: Int64) throws {
        var cursor = JSONCursor(Array(text.utf8)[...])
        #expect(try cursor.wholeNumber() == number)
    }

    @Test(arguments: [
        "", "-", "01", "-01", "1.5", "1e3", "1E3", "+1", "x", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999999",
    ])
    func `what is no whole number of 64 bits is refused at its beginning`(_ text: String) {
        var cursor = JSONCursor(Array(" \(text)".utf8)[...])
        cursor.skipSpace()
        let error = #expect(throws: JSONSyntaxError.self) { try cursor.wholeNumber() }
        #expect(error?.column == 2)
    }
}
