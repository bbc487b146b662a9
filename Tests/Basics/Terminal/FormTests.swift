import ErrandJSONText
import Foundation
import ErrandTerminal
import Testing

@Suite("Forms of output") struct FormTests {
    static let at = Date(timeIntervalSince1970: 1_772_353_800.25)  // 2026-03-01T08:30:00.25Z
    static let records: [Record] = [
        [
            "id": .id(7), "queue": .marked("mail, \"slow\"", .red), "count": .int(1234567),
            "at": .time(at), "tags": .list(["a", "b"]), "args": .json(Array(#"{"x": 1}"#.utf8)),
            "error": .text("first\nsecond"), "gone": .missing, "empty": .text(""),
            "wait": .duration(.milliseconds(1500)), "ok": .flag(true),
        ],
        ["id": .id(8), "queue": .text(" padded"), "extra": .int(5)],
    ]

    private func printed(
        _ format: OutputFormat, columns: [String] = [], hasHeaders: Bool = true,
        times: TimeFormat = .utc, isStrict: Bool = true,
        _ action: (Output) throws -> Void = { try $0.list(records) }
    ) throws -> String {
        let pipe = Pipe()
        let screen = Screen(
            output: pipe.fileHandleForWriting.fileDescriptor, error: -1, input: -1,
            environment: [:])
        var form = Output.Form(format)
        form.columns = columns
        form.hasHeaders = hasHeaders
        form.times = times
        form.isStrict = isStrict
        try action(Output(screen: screen, form: form))
        try screen.flush()
        try pipe.fileHandleForWriting.close()
        return String(
            decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    @Test func `CSV has the names and values of JSON, quoted as RFC 4180 says`() throws {
        #expect(
            try printed(.csv)
                == "id,queue,count,at,tags,args,error,gone,empty,wait,ok,extra\r\n"
                + #"7,"mail, ""slow""",1234567,2026-03-01T08:30:00.250000Z,"["a""#
                .replacingOccurrences(of: #""["a""#, with: #""[""a"",""b""]""#)
                + #","{""x"": 1}","# + "\"first\nsecond\"" + #",,"",1.5,true,"# + "\r\n"
                + #"8," padded",,,,,,,,,,5"# + "\r\n")
    }

    @Test(arguments: [
        ("=1+1", "'=1+1"), ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
        ("@SUM(1)", "'@SUM(1)"), ("+1+1", "'+1+1"), ("-1+1|cmd", "'-1+1|cmd"),
        ("\t=1", "'\t=1"), ("\r=1", "\"'\r=1\""),
        ("\n=1", "\"'\n=1\""), ("  =1", "'  =1"), ("\"=1\"", "\"'\"\"=1\"\"\""), ("'=1", "''=1"),
        ("＝1", "'＝1"), ("-", "'-"), ("-1.5.2", "'-1.5.2"),
        ("a=1", "a=1"), ("-5", "-5"), ("+12.50", "+12.50"), ("", "\"\""), (" a", "\" a\""),
    ])
    func `a text that a spreadsheet would run gets an apostrophe`(text: String, field: String) {
        #expect(CSV.field(.text(text)) == field)
    }

    @Test func `numbers stay numbers in CSV, and control characters become visible`() throws {
        #expect(CSV.field(.int(-5)) == "-5")
        #expect(CSV.field(.double(-0.5)) == "-0.5")
        #expect(CSV.field(.raw(Array("-5".utf8))) == "-5")
        #expect(CSV.field(.raw(Array(#""=1""#.utf8))) == #""'""=1""""#)
        #expect(
            try printed(.csv, hasHeaders: false) {
                try $0.list([["id": .text("a\u{1B}[31m\u{7}\u{9B}\u{202E}b\tc\nd")]])
            } == "\"a\u{241B}[31m\u{2407}\u{FFFD}\u{FFFD}b\tc\nd\"\r\n")
        // Programs read JSON, which has the value itself.
        #expect(try printed(.json) { try $0.list([["id": .text("=1")]]) } == "{\"id\":\"=1\"}\n")
    }

    @Test func `the header of CSV comes once, and not at all without headers`() throws {
        let twice = try printed(.csv, columns: ["id"]) {
            try $0.list(Self.records)
            try $0.list(Self.records)
        }
        #expect(twice == "id\r\n7\r\n8\r\n7\r\n8\r\n")
        #expect(try printed(.csv, columns: ["id"], hasHeaders: false) == "7\r\n8\r\n")
    }

    @Test func `a name is what the next command takes, one a line`() throws {
        #expect(try printed(.name) == "7\n8\n")
        let marked = try printed(.name, columns: ["count"]) {
            try $0.list(Self.records.map { $0.named(by: "extra") })
            try $0.show(["id": .text("one")])
        }
        #expect(marked == "5\none\n")
    }

    @Test func `wide has all columns of all records`() throws {
        let text = try printed(.wide) {
            try $0.list(
                Self.records, columns: [Column("queue", title: "Q", maxWidth: 4), Column("id")])
        }
        let header = text.prefix { $0 != "\n" }
        #expect(header.split(separator: " ").first == "ID")
        #expect(header.split(separator: " ").contains("Q"))
        #expect(header.hasSuffix("EXTRA"))
        #expect(text.contains("mail, \"slow\""))
    }

    @Test(
        "columns choose and order the fields of every form",
        arguments: [
            (OutputFormat.table, "QUEUE         ID\nmail, \"slow\"   7\n padded        8\n"),
            (.wide, "QUEUE         ID\nmail, \"slow\"   7\n padded        8\n"),
            (.csv, "queue,id\r\n\"mail, \"\"slow\"\"\",7\r\n\" padded\",8\r\n"),
            (
                .json,
                #"{"queue":"mail, \"slow\"","id":7}"# + "\n" + #"{"queue":" padded","id":8}"# + "\n"
            ),
        ])
    func columns(format: OutputFormat, expected: String) throws {
        #expect(try printed(format, columns: ["queue", "id"]) == expected)
    }

    @Test func `columns choose the lines of a card`() throws {
        let card = try printed(.table, columns: ["at", "id"]) { try $0.show(Self.records[0]) }
        #expect(card == "at  2026-03-01 08:30:00Z\nid  7\n")
    }

    @Test(
        "an unknown column is an error that names the others, the nearest first",
        arguments: OutputFormat.allCases.filter { $0 != .name })
    func unknownColumn(format: OutputFormat) throws {
        let failure = #expect(throws: CommandFailure.self) {
            try printed(format, columns: ["id", "queu"])
        }
        #expect(failure?.exit == .usage)
        #expect(failure?.message == "there is no column 'queu'")
        #expect(failure?.hint?.hasPrefix("columns: queue, ") == true)
        #expect(try !printed(format, columns: ["queu"], isStrict: false).contains("7"))
    }

    @Test func `without headers a table has its rows only`() throws {
        #expect(try printed(.table, columns: ["id"], hasHeaders: false) == "7\n8\n")
    }

    @Test func `people see local times with their offset, programs UTC`() throws {
        let times = TimeFormat { _ in 5 * 3600 + 1800 }
        #expect(
            try printed(.table, columns: ["at"], times: times)
                == "AT\n2026-03-01 14:00:00+05:30\n-\n")
        #expect(
            try printed(.csv, columns: ["at"], times: times)
                == "at\r\n2026-03-01T08:30:00.250000Z\r\n\r\n")
        let west = TimeFormat { _ in -8 * 3600 }
        #expect(west.text(Self.at) == "2026-03-01 00:30:00-08")
        #expect(TimeFormat.utc.text(Self.at) == "2026-03-01 08:30:00Z")
        let table = try printed(.table, times: times) {
            try $0.list([["at": .time(Self.at), "utc": .universalTime(Self.at)]])
        }
        #expect(table.contains("+05:30  2026-03-01 08:30:00Z"))
    }

    @Test func `calendars agree over four thousand years`() {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .gmt
        for day in stride(from: -200_000, through: 800_000, by: 97) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 86_399)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            guard let year = parts.year, year >= 1583 else { continue }
            let text = String(
                format: "%04d-%02d-%02d 23:59:59Z", year, parts.month ?? 0, parts.day ?? 0)
            #expect(HumanFormat.time(date) == text)
        }
    }
}
