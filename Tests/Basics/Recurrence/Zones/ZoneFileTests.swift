import Testing

@testable import ErrandRecurrence

@Suite struct ZoneFileTests {
    /// Twice an hour ahead, then as its footer says, which changes at once.
    private static let usual = BuiltZone(
        offsets: [-100, 0, 3600], transitions: [(-5000, 1), (0, 2), (1000, 2), (2000, 1)],
        footer: "AAA0BBB,M3.2.0,M11.1.0")

    @Test func `a file's segments come before its footer's, and touch them`() throws {
        let zone = try Zone(Self.usual.bytes)
        let spring = utc("1970-03-08T02:00Z")
        #expect(
            zone.segments(from: .min, to: utc("1970-12-01T00:00Z")) == [
                ZoneSegment(start: .min, end: -5000, offset: -100),
                ZoneSegment(start: -5000, end: 0, offset: 0),
                // The transition at 1000 changes nothing.
                ZoneSegment(start: 0, end: 2000, offset: 3600),
                ZoneSegment(start: 2000, end: spring, offset: 0),
                ZoneSegment(start: spring, end: utc("1970-11-01T01:00Z"), offset: 3600),
                ZoneSegment(
                    start: utc("1970-11-01T01:00Z"), end: utc("1971-03-14T02:00Z"), offset: 0),
            ])
    }

    @Test func `a footer that goes on as the last transition went joins its segment`() throws {
        var built = Self.usual
        built.transitions = [(0, 2), (utc("2026-11-01T01:00Z"), 1), (utc("2027-01-01T00:00Z"), 1)]
        let winter = ZoneSegment(
            start: utc("2026-11-01T01:00Z"), end: utc("2027-03-14T02:00Z"), offset: 0)
        let zone = try Zone(built.bytes)
        for second in [winter.start, utc("2027-01-01T00:00Z"), winter.end - 1] {
            #expect(zone.segment(at: second) == winter)
        }
        built.footer = "AAA0"
        #expect(
            try Zone(built.bytes).segment(at: .max)
                == ZoneSegment(start: winter.start, end: .max, offset: 0))
    }

    @Test func `without a footer's rule the last offset stays`() throws {
        var built = Self.usual
        built.footer = ""
        let rest = ZoneSegment(start: 2000, end: .max, offset: 0)
        #expect(try Zone(built.bytes).segment(at: 1 << 50) == rest)
        built.version = "0"
        #expect(try Zone(built.bytes).segment(at: 1 << 50) == rest)
        #expect(try Zone(built.bytes).segment(at: -5001).offset == -100)
    }

    @Test func `without transitions the footer holds for all time`() throws {
        let zone = try Zone(BuiltZone(offsets: [-100], footer: "AAA0BBB,M3.2.0,M11.1.0").bytes)
        #expect(
            zone.segment(at: 0)
                == ZoneSegment(
                    start: utc("1969-11-02T01:00Z"), end: utc("1970-03-08T02:00Z"), offset: 0))
        #expect(
            try Zone(BuiltZone(offsets: [-100]).bytes).segment(at: 0)
                == ZoneSegment(start: .min, end: .max, offset: -100))
    }

    @Test func `later versions and what follows the footer are read as far as they are known`()
        throws
    {
        for version in ["2", "3", "4", "5"] {
            var built = Self.usual
            built.version = version
            built.indicators = 3
            #expect(try Zone(built.bytes + [1, 2, 3]).segment(at: 1000).start == 0)
        }
    }

    @Test func `transitions at both ends of time leave no segment without length`() throws {
        var built = Self.usual
        built.transitions = [(.min, 2), (0, 1), (.max, 2)]
        for footer in ["", "AAA0", "AAA0BBB,M3.2.0,M11.1.0"] {
            built.footer = footer
            let walked = try Zone(built.bytes).segments(from: .min, to: 1000)
            #expect(walked.first == ZoneSegment(start: .min, end: 0, offset: 3600))
            #expect(walked.last == ZoneSegment(start: 0, end: .max, offset: 0))
        }
    }

    @Test func `a malformed file is refused by its first fault`() {
        func expect(
            _ problem: ZoneFileProblem, _ change: (inout BuiltZone) -> Void,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            var built = Self.usual
            change(&built)
            #expect(throws: problem, sourceLocation: sourceLocation) {
                try Zone(built.bytes)
            }
        }
        expect(.version(49)) { $0.version = "1" }
        expect(.noTypes) { $0.counts[4] = 0 }
        expect(.tooManyTypes(257)) { $0.offsets = Array(repeating: 0, count: 257) }
        expect(.indicators("UT", count: 2, types: 3)) { $0.indicators = 2 }
        expect(.leapSeconds) { $0.leapSeconds = 1 }
        expect(.notAscending(transition: 2)) { $0.transitions[1].time = -5000 }
        expect(.notAscending(transition: 4)) { $0.transitions[3].time = 999 }
        expect(.typeIndex(3, types: 3)) { $0.transitions[0].type = 3 }
        expect(.offset(93_600)) { $0.offsets[2] = 93_600 }
        expect(.offset(-90_000)) { $0.offsets[2] = -90_000 }
        expect(.footerCharacter(9)) { $0.footer = "EST\t5" }
        expect(.rule("EST", .offset(""))) { $0.footer = "EST" }
        expect(.abbreviationEnd) { ($0.version, $0.counts[5]) = ("0", 3) }
        expect(.abbreviationIndex(0, characters: 0)) { ($0.version, $0.counts[5]) = ("0", 0) }
        expect(.noFooter) { $0.counts[5] = 3 }
        let huge = 0xFFFF_FFFF
        expect(.truncated(part: "data", needs: huge * 9 + 22, has: 82)) { $0.counts[3] = huge }
        #expect(throws: ZoneFileProblem.notTZif) { try Zone(Array("# version 2026f\n".utf8)) }
        #expect(throws: ZoneFileProblem.notTZif) { try Zone([]) }
    }

    @Test func `every beginning of a file is refused`() throws {
        for version in ["0", "2", "3"] {
            var built = Self.usual
            built.version = version
            let bytes = built.bytes
            for length in bytes.indices {
                #expect(throws: ZoneFileProblem.self) { try Zone(Array(bytes[..<length])) }
            }
        }
    }

    @Test func `a damaged file is refused or read, and never does harm`() throws {
        var generator = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 1 ... .max, using: &generator)
        var random = Xorshift(state: seed)
        var sources = [Self.usual.bytes, BuiltZone(version: "0", offsets: [0, 7]).bytes]
        let database = ZoneDatabase()
        for name in ["America/Toronto", "Europe/Dublin", "Asia/Gaza", "Etc/GMT+5"] {
            guard let folder = database.folder else { break }
            let file = try StampedFile(path: "\(folder)/\(name)", upTo: 1 << 20)
            sources.append(file.bytes)
        }
        var readable = 0
        for round in 0..<20_000 {
            var bytes = sources[round % sources.count]
            for _ in 0...Int.random(in: 0...3, using: &random) {
                bytes.damage(using: &random)
            }
            guard let zone = try? Zone(bytes) else { continue }
            readable += 1
            var second =
                Int(truncatingIfNeeded: random.next()) >> Int.random(in: 0...60, using: &random)
            for _ in 0..<4 {
                let segment = zone.segment(at: second)
                let isInside =
                    segment.start <= second && (second < segment.end || second == .max)
                guard isInside else {
                    Issue.record("\(segment) does not hold \(second); seed \(seed)")
                    return
                }
                if segment.end < .max, zone.segment(at: segment.end).start != segment.end {
                    Issue.record("nothing touches \(segment); seed \(seed)")
                    return
                }
                second = segment.end
            }
        }
        #expect(readable > 100)
    }

    @Test func `every problem has a text of its own`() {
        let problems: [ZoneFileProblem] = [
            .notTZif, .version(1), .truncated(part: "data", needs: 2, has: 1), .noTypes,
            .tooManyTypes(257), .indicators("UT", count: 1, types: 2), .leapSeconds,
            .notAscending(transition: 1), .typeIndex(1, types: 1), .offset(1), .daylightFlag(2),
            .abbreviationIndex(1, characters: 1), .abbreviationEnd, .noFooter,
            .footerWithoutEnd, .footerCharacter(1), .rule("a", .noMoments),
        ]
        #expect(Set(problems.map(\.description)).count == problems.count)
    }
}

/// Chance that can be repeated from its seed.
struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

extension [UInt8] {
    /// Changes, removes or inserts something somewhere, by preference in the headers.
    fileprivate mutating func damage(using random: inout Xorshift) {
        guard !isEmpty else { return }
        let isFocused = Bool.random(using: &random)
        let place = Int.random(in: 0..<(isFocused ? Swift.min(count, 120) : count), using: &random)
        switch Int.random(in: 0...4, using: &random) {
        case 0: self[place] = UInt8.random(in: 0...255, using: &random)
        case 1: self[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: remove(at: place)
        case 3: insert(UInt8.random(in: 0...255, using: &random), at: place)
        default: self[place] = [0, 1, 0x7F, 0x80, 0xFF][Int.random(in: 0...4, using: &random)]
        }
    }
}
