import Foundation
import ErrandTerminal
import Testing

@Suite("Tables") struct TableTests {
    static let plain = Paint(isColored: false)
    static let records: [Record] = [
        [
            "id": .id(1234567), "count": .int(1234567), "queue": .text("mail"),
            "error": .text(String(repeating: "timeout ", count: 20)),
            "wait": .duration(.seconds(184)),
        ],
        [
            "id": .id(8), "count": .int(0), "queue": .text("東京の待ち行列"), "error": .missing,
            "wait": .duration(.milliseconds(1.2)),
        ],
    ]

    @Test("columns line up, numbers to the right, whatever the width", arguments: [80, 200, nil])
    func alignment(width: Int?) throws {
        let columns = ["id", "count", "queue", "wait"].map { Column($0) }
        let lines = Table(Self.records, columns: columns).lines(width: width, paint: Self.plain)
        #expect(
            lines == [
                "     ID      COUNT  QUEUE               WAIT",
                "1234567  1,234,567  mail            3 m 04 s",
                "      8          0  東京の待ち行列    1.2 ms",
            ])
    }

    @Test("only the flexible column is cut, to the width exactly", arguments: [60, 80, 120])
    func fitting(width: Int) {
        let lines = Table(Self.records).lines(width: width, paint: Self.plain)
        #expect(DisplayWidth.of(lines[1]) == width)
        #expect(lines[1].contains("timeout"))
        #expect(lines[1].contains("…"))
        #expect(lines[1].hasPrefix("1234567  1,234,567  mail"))
        #expect(lines[1].hasSuffix("3 m 04 s"))
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= width })
    }

    @Test func `at 200 columns nothing needs cutting`() {
        let lines = Table(Self.records).lines(width: 220, paint: Self.plain)
        #expect(!lines.joined().contains("…"))
    }

    @Test func `a number is never cut, however narrow the terminal`() {
        let lines = Table(Self.records).lines(width: 20, paint: Self.plain)
        #expect(lines[1].hasPrefix("1234567  1,234,567  mail"))
        #expect(lines[1].hasSuffix("3 m 04 s"))
    }

    @Test func `two flexible columns share what is missing`() {
        let record: Record = [
            "first": .text(String(repeating: "a", count: 50)),
            "second": .text(String(repeating: "b", count: 30)),
        ]
        let columns = ["first", "second"].map { Column($0, isFlexible: true) }
        let line = Table([record], columns: columns).lines(width: 62, paint: Self.plain)[1]
        #expect(line.count == 62)
        #expect(line.count { $0 == "a" } == 29)
        #expect(line.hasSuffix(String(repeating: "b", count: 29) + "b"))
        let narrow = Table([record], columns: columns).lines(width: 42, paint: Self.plain)[1]
        #expect(narrow.count == 42)
        #expect(narrow.count { $0 == "a" } == 19)
        #expect(narrow.count { $0 == "b" } == 19)
    }

    @Test func `where that is not enough, other texts give way, but never the first column`() {
        let record: Record = [
            "name": .text("a.name.to.paste"), "kind": .text("notification.email"),
            "at": .time(FormTests.at), "state": .marked("available", .green), "args": .text("{}"),
        ]
        let columns = ["name", "kind", "at", "state", "args"].map {
            Column($0, isFlexible: $0 == "args")
        }
        let table = Table([record], columns: columns)
        let lines = table.lines(width: 66, paint: Self.plain)
        #expect(lines[1] == "a.name.to.paste  notificat…  2026-03-01 08:30:00Z  available  {}")
        let narrow = table.lines(width: 30, paint: Self.plain)
        #expect(narrow[1] == "a.name.to.paste  notific…  2026-03-01 08:30:00Z  availab…  {}")
    }

    @Test func `a column's maximum holds at any width`() {
        let column = Column("error", maxWidth: 10)
        let lines = Table(Self.records, columns: [column]).lines(width: nil, paint: Self.plain)
        #expect(lines == ["ERROR", "timeout t…", "-"])
    }

    @Test func `colour goes around values, not into their alignment`() {
        let records: [Record] = [
            ["state": .marked("dead", .red), "id": .id(1)],
            ["state": .marked("available", .green), "id": .id(22)],
        ]
        let lines = Table(records).lines(width: 80, paint: Paint(isColored: true))
        #expect(
            lines == [
                "\u{1B}[1mSTATE      ID\u{1B}[0m",
                "\u{1B}[31mdead\u{1B}[0m        1",
                "\u{1B}[32mavailable\u{1B}[0m  22",
            ])
    }

    @Test func `a value with line breaks and escape sequences stays on its line`() {
        let record: Record = ["error": .text("a\nb\r\n\u{1B}[31mc\u{202E}d\u{9B}")]
        let lines = Table([record]).lines(width: nil, paint: Self.plain)
        #expect(lines[1] == "a b  ␛[31mc\u{FFFD}d\u{FFFD}")
    }

    @Test(
        "wide, combining and invisible characters are counted as a terminal shows them",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("東京", 4), ("한국어", 6), ("ｆｕｌｌ", 8),
            ("🚀", 2), ("❤️", 2), ("👨‍👩‍👧", 2), ("🇮🇹", 2), ("…", 1), ("a\u{200B}b", 2), ("Grüße", 5),
            ("שלום", 4), ("─", 1),
        ])
    func width(text: String, expected: Int) {
        #expect(DisplayWidth.of(text) == expected)
    }

    @Test func `cutting never exceeds the width and never splits a character`() {
        let text = "a東e\u{301}👨‍👩‍👧京🚀z"
        for width in 0...12 {
            let cut = DisplayWidth.truncated(text, to: width)
            #expect(DisplayWidth.of(cut) <= width)
            #expect(cut == text || width == 0 || text.hasPrefix(cut.dropLast()))
        }
    }

    @Test func `nested records stand below their name, and long texts keep their lines`() throws {
        let lines = try Streams.captureOutput { output in
            try output.show([
                "id": .id(5), "last_error": .text("first\nsecond \u{1B}[2J"),
                "errors": .records([["attempt": .int(1), "error": .text("no\nway")]]),
                "children": .records([]),
            ])
        }
        #expect(
            lines == [
                "id          5", "last error  first", "            second ␛[2J", "errors",
                "  ATTEMPT  ERROR", "        1  no way", "children    0",
            ])
    }

    @Test func `an empty list is a note, not an empty table`() throws {
        #expect(try Streams.captureOutput { try $0.list([], empty: "No jobs match.") } == [])
        let notes = try Streams.captureError(isQuiet: false) {
            try $0.list([], empty: "No jobs match.")
        }
        #expect(notes == ["No jobs match."])
    }

    @Test func `one record is an object in JSON and a card elsewhere`() async throws {
        let printed = try await Printed("job show 5")
        #expect(printed.output == "id  5\n")
        let json = try await Printed("job show 5 -o json")
        #expect(json.output == "{\"id\":5}\n")
    }
}
