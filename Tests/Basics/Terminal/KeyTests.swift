import Testing

@testable import ErrandTerminal

@Suite("Keys") struct KeyTests {
    private func keys(_ text: String) -> [Key] {
        var decoder = KeyDecoder()
        return decoder.keys(in: Array(text.utf8)) + decoder.keysAtPause()
    }

    @Test(arguments: [
        ("a", [Key.character("a")]),
        ("Gé€😀", [.character("G"), .character("é"), .character("€"), .character("😀")]),
        ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]),
        ("\u{08}", [.backspace]), ("\u{03}", [.control("c")]), ("\u{1A}", [.control("z")]),
        ("\u{1B}[A", [.up]), ("\u{1B}OB", [.down]), ("\u{1B}[C\u{1B}[D", [.right, .left]),
        ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]), ("\u{1B}[H\u{1B}[4~", [.home, .end]),
        ("\u{1B}[1;5A", [.up]), ("\u{1B}[3~", [.delete]), ("\u{1B}", [.escape]),
        ("\u{1B}\u{1B}", [.escape, .escape]), ("\u{1B}x", [.escape, .character("x")]),
        ("\u{1B}[200~x", [.character("x")]), ("\u{1B}[?25hq", [.character("q")]),
        ("\u{00}a", [.character("a")]),
    ])
    func `bytes of a terminal are keys`(text: String, expected: [Key]) {
        #expect(keys(text) == expected)
    }

    @Test func `a key that comes in pieces is one key`() {
        for text in ["\u{1B}[5~", "😀", "\u{1B}OA", "\u{1B}[1;5C"] {
            var decoder = KeyDecoder()
            var found: [Key] = []
            for byte in text.utf8 {
                #expect(found.isEmpty)
                found += decoder.keys(in: [byte])
            }
            #expect(found == keys(text))
            #expect(found.count == 1)
            #expect(!decoder.isWithinKey)
        }
    }

    @Test func `any bytes at all are taken, and none is kept for ever`() {
        var random = SystemRandomNumberGenerator()
        var decoder = KeyDecoder()
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...40)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = decoder.keys(in: bytes)
            _ = decoder.keysAtPause()
            #expect(!decoder.isWithinKey)
            #expect(decoder.keys(in: [UInt8(ascii: "a")]) == [.character("a")], "after \(bytes)")
        }
    }
}

@Suite("Sparklines") struct SparklineTests {
    @Test(arguments: [
        ([], 3, "   "), ([0, 0], 4, "  ▁▁"), ([0, 1, 100], 3, "▁▂█"), ([5], 1, "█"),
        ([1, 2, 3, 4], 2, "▇█"), ([1], 0, ""), ([-1, 8], 2, "▁█"), ([4, 8], 2, "▅█"),
    ])
    func `the newest values stand last, as shares of the highest`(
        values: [Double], width: Int, text: String
    ) {
        #expect(Sparkline.text(values, width: width) == text)
    }
}
