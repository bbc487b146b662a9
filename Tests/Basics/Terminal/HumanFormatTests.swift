import Foundation
import ErrandTerminal
import Testing

@Suite("Human formats") struct HumanFormatTests {
    @Test(
        arguments: [
            (0, "~0"), (7, "~7"), (999, "~999"), (1_000, "~1.0k"), (12_345, "~12k"),
            (999_600, "~1.0M"), (4_210_000, "~4.2M"), (20_000_000_000, "~20G"),
        ])
    func estimate(value: Int, expected: String) {
        #expect(HumanFormat.estimate(value) == expected)
    }

    @Test(
        "counts have thousands separators",
        arguments: [
            (0, "0"), (7, "7"), (999, "999"), (1000, "1,000"), (-1234, "-1,234"),
            (1_234_567, "1,234,567"), (Int.min, "-9,223,372,036,854,775,808"),
        ])
    func count(value: Int, expected: String) {
        #expect(HumanFormat.count(value) == expected)
    }

    @Test(
        "numbers have a fixed count of decimals",
        arguments: [
            (0, 2, "0.00"), (1234.5, 2, "1,234.50"), (0.995, 1, "1.0"), (-0.001, 2, "0.00"),
            (-2.5, 1, "-2.5"), (9.999, 2, "10.00"), (5, 0, "5"), (.infinity, 1, "inf"),
        ])
    func number(value: Double, decimals: Int, expected: String) {
        #expect(HumanFormat.number(value, decimals: decimals) == expected)
    }

    @Test(
        "lengths of time have two units at most, and round up into the next",
        arguments: [
            (.zero, "0 s"), (.microseconds(85), "85 µs"), (.microseconds(999.6), "1.0 ms"),
            (.microseconds(1234), "1.2 ms"), (.milliseconds(9.97), "10 ms"),
            (.milliseconds(850), "850 ms"), (.milliseconds(999.6), "1.0 s"),
            (.milliseconds(3400), "3.4 s"), (.seconds(42), "42 s"),
            (.milliseconds(59_600), "1 m 00 s"), (.seconds(184), "3 m 04 s"),
            (.milliseconds(3_599_600), "1 h 00 m"), (.seconds(7500), "2 h 05 m"),
            (.seconds(86_399), "1 d 00 h"), (.seconds(53 * 3600), "2 d 05 h"),
            (.seconds(400_000 * 86400), "400,000 d 00 h"), (.seconds(-5), "-5.0 s"),
        ] as [(Duration, String)])
    func duration(value: Duration, expected: String) {
        #expect(HumanFormat.duration(value) == expected)
    }

    @Test(
        "ages have one unit, past or to come",
        arguments: [
            (0, "just now"), (-0.4, "just now"), (12, "12 s ago"), (59.6, "1 m ago"),
            (185, "3 m ago"), (7300, "2 h ago"), (260_000, "3 d ago"), (-12, "in 12 s"),
            (-7300, "in 2 h"),
        ])
    func age(seconds: Double, expected: String) {
        let now = Date(timeIntervalSince1970: 1_772_354_400)
        #expect(HumanFormat.age(of: now.addingTimeInterval(-seconds), now: now) == expected)
    }

    @Test(
        "sizes are in powers of 1024",
        arguments: [
            (0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            (20 << 20, "20 MiB"), ((1 << 20) - 1, "1.0 MiB"), (Int.max, "8.0 EiB"),
        ])
    func bytes(value: Int, expected: String) {
        #expect(HumanFormat.bytes(value) == expected)
    }

    @Test("rates have a decimal below ten", arguments: [(0.26, "0.3/s"), (12345.4, "12,345/s")])
    func rate(value: Double, expected: String) {
        #expect(HumanFormat.rate(value) == expected)
    }

    @Test func `timestamps agree with Foundation's calendar from year 1 to 9999`() {
        let formatter = ISO8601DateFormatter()
        var chance = SystemRandomNumberGenerator()
        // Foundation's calendar turns Julian before October 1582, so whole numbers before that
        // are left to the table below.
        for _ in 0..<2000 {
            let seconds = Int.random(in: -12_219_292_800...253_402_300_799, using: &chance)
            let time = Date(timeIntervalSince1970: Double(seconds))
            let expected = formatter.string(from: time).dropLast()
            #expect(HumanFormat.timestamp(time) == expected + ".000000Z")
        }
    }

    @Test(
        "timestamps have microseconds and stay within the calendar",
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (-0.25, "1969-12-31T23:59:59.750000Z"),
            (1_709_164_800.5, "2024-02-29T00:00:00.500000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (0.9999999, "1970-01-01T00:00:01.000000Z"),
            (-62_135_596_800, "0001-01-01T00:00:00.000000Z"),
            (1e18, "9999-12-31T23:59:59.000000Z"),
        ])
    func timestamp(seconds: Double, expected: String) {
        #expect(HumanFormat.timestamp(Date(timeIntervalSince1970: seconds)) == expected)
    }

    @Test(
        "a duration is written as it is read",
        arguments: ["0s", "250ms", "1500ms", "30s", "90s", "5m", "2h", "1d", "36h"])
    func notation(text: String) throws {
        #expect(HumanFormat.notation(try #require(Duration(notation: text))) == text)
    }
}
