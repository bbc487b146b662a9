import ErrandJSONText
import ErrandTerminal
import Foundation
import Testing

@Suite("Records") struct RecordTests {
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
