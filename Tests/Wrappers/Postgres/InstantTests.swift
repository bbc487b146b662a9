import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Instants") struct InstantTests {
    @Test(arguments: [
        ("2000-01-01T00:00:00Z", 0), ("2000-01-01T00:00:00.000001Z", 1),
        ("1999-12-31T23:59:59.999999Z", -1), ("2024-02-29T12:34:56.7Z", 762_525_296_700_000),
        ("0001-01-01T00:00:00Z", -63_082_281_600_000_000),
        ("9999-12-31T23:59:59.999999Z", 252_455_615_999_999_999),
    ])
    func `its text is RFC 3339 in UTC with no needless zeros`(text: String, micros: Int64) {
        #expect(Instant(microseconds: micros).description == text)
        #expect(Instant(text)?.microseconds == micros)
    }

    @Test(arguments: [
        ("2026-11-20T08:30:00+05:30", "2026-11-20T03:00:00Z"),
        ("2026-11-20t08:30:00.120-01:00", "2026-11-20T09:30:00.12Z"),
        ("2026-11-20 08:30:00.1234567z", "2026-11-20T08:30:00.123456Z"),
    ])
    func `any offset is read`(text: String, utc: String) {
        #expect(Instant(text)?.description == utc)
    }

    @Test(arguments: [
        "", "2026", "2026-11-20", "2026-11-20T08:30:00", "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z ",
        "2026-01-01T00:00:00+24:00", "26-01-01T00:00:00Z", "2026-01-01T00:00:00+0100",
    ])
    func `what is not RFC 3339 is refused`(text: String) {
        #expect(Instant(text) == nil)
    }

    @Test func `the calendar agrees with Foundation's over four centuries`() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: -80_000, through: 80_000, by: 37) {
            let instant = Instant(microseconds: Int64(day) * 86_400_000_000 + 3_600_000_000)
            #expect(instant.description == formatter.string(from: instant.date))
            #expect(Instant(instant.description) == instant)
        }
    }

    @Test func `it moves by durations and measures them`() {
        let start = Instant(microseconds: 5)
        let later = start.adding(.seconds(2))
        #expect(later.microseconds == 2_000_005)
        #expect(later.durationSince(start) == .seconds(2))
        #expect(start.adding(.microseconds(-6)).microseconds == -1)
        #expect(start < later)
    }

    @Test func `a moment survives the way through Foundation to the microsecond`() throws {
        let instant = try #require(Instant("2026-11-20T08:30:00.123457Z"))
        #expect(Instant(date: instant.date) == instant)
    }

    @Test func `the infinities stay what they are`() {
        #expect(Instant.infinity.adding(.seconds(1)) == .infinity)
        #expect(Instant.negativeInfinity.adding(.seconds(-1)) == .negativeInfinity)
        #expect(Instant("infinity") == .infinity)
        #expect(Instant.infinity.description == "infinity")
        #expect(Instant.infinity.date == .distantFuture)
        #expect(Instant(microseconds: .max - 1).adding(.seconds(1)) == .infinity)
    }

    @Test func `JSON holds its text`() throws {
        let instant = try #require(Instant("2026-11-20T08:30:00.5Z"))
        let coded = try JSONEncoder().encode([instant])
        #expect(String(decoding: coded, as: UTF8.self) == #"["2026-11-20T08:30:00.5Z"]"#)
        #expect(try JSONDecoder().decode([Instant].self, from: coded) == [instant])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Instant].self, from: Data(#"["soon"]"#.utf8))
        }
    }
}
