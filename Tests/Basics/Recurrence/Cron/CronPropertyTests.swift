import Foundation
import ErrandRecurrence
import ErrandTestServices
import Testing

/// Random expressions in real zones, against a walk over every minute.
///
/// The walk shares no code with the search. `ERRAND_CASES` sets how many there are,
/// `ERRAND_SEED` where they begin.
@Suite struct CronPropertyTests {
    private static let shards = 8
    private static let cases = environment("ERRAND_CASES") ?? 800
    private static let seed = environment("ERRAND_SEED") ?? 20_261_121

    private static func environment(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    static let zones = [
        "UTC", "America/Toronto", "America/Vancouver", "America/St_Johns", "America/Havana",
        "America/Caracas", "America/Nuuk", "America/Scoresbysund", "America/Sao_Paulo",
        "America/Santiago", "America/Asuncion", "America/Mexico_City", "America/New_York",
        "America/Port-au-Prince", "America/Punta_Arenas", "Africa/Casablanca", "Africa/El_Aaiun",
        "Africa/Cairo", "Africa/Juba", "Africa/Windhoek", "Africa/Sao_Tome", "Antarctica/Casey",
        "Antarctica/Troll", "Asia/Kathmandu", "Asia/Gaza", "Asia/Pyongyang", "Asia/Tehran",
        "Asia/Amman", "Asia/Beirut", "Asia/Hovd", "Asia/Kolkata", "Australia/Lord_Howe",
        "Australia/Eucla", "Europe/Dublin", "Europe/Volgograd", "Europe/Istanbul",
        "Europe/Chisinau", "Pacific/Apia", "Pacific/Chatham", "Pacific/Fakaofo",
        "Pacific/Norfolk", "Pacific/Easter",
    ]

    @Test(arguments: 0..<shards)
    func `occurrences are those of a walk over every minute, both ways`(shard: Int) throws {
        let database = ZoneDatabase()
        var zones = (1...6).map { Zone.wild(seed: $0) }
        for name in Self.zones { zones.append(try database.zone(named: name)) }
        var failed: (RandomCase, String)?
        for index in stride(from: shard, to: Self.cases, by: Self.shards) {
            let one = RandomCase(seed: UInt64(Self.seed + index), zones: zones)
            guard let difference = one.difference else { continue }
            let (least, told) = one.reduced(difference)
            if failed.map({ $0.0.expression.text.count > least.expression.text.count }) ?? true {
                failed = (least, told)
            }
        }
        if let (least, difference) = failed { Issue.record("\(least): \(difference)") }
    }

    @Test(arguments: 0..<4)
    func `days are those of a walk over four centuries`(shard: Int) throws {
        for index in stride(from: shard, to: Self.cases / 100, by: 4) {
            var random = SplitMix(seed: UInt64(Self.seed + index))
            var expression = OracleExpression.random(withSeconds: false, using: &random)
            expression.minutes = [.value(0)]
            expression.hours = [.value(0)]
            let expected = OracleDay.all.indices.filter { expression.allows(OracleDay.all[$0]) }
            guard let recurrence = try? Recurrence(expression.text) else {
                #expect(expected.isEmpty, "\(expression.text) was refused")
                continue
            }
            #expect(!expected.isEmpty, "\(expression.text) never fires")
            let table = Timetable(recurrence, in: .utc)
            let end = OracleDay.all.count * 86_400
            let (forward, backward) = (table.forward(0, end), table.backward(0, end))
            let right = forward.map { $0.at / 86_400 } == expected && forward == backward
            #expect(right, "\(expression.text), seed \(Self.seed + index)")
        }
    }
}

/// One random expression in one stretch of time, which its seed gives again.
private struct RandomCase: CustomStringConvertible {
    let seed: UInt64
    let span: OracleSpan
    var expression: OracleExpression
    let gap: GapRule?
    let repeats: RepeatRule?

    init(seed: UInt64, zones: [Zone]) {
        var random = SplitMix(seed: seed)
        let zone = zones.randomElement(using: &random) ?? .utc
        let leapsDays = ["Pacific/Apia", "Pacific/Fakaofo", "Test/Wild"].contains(zone.name)
        let withSeconds = random.once(in: 10) && !leapsDays
        let hours =
            switch random.number(0...99) {
            case _ where withSeconds: random.number(1...3)
            case 0: random.once(in: 4) ? 400 * 24 : 30 * 24
            case 1...4: random.number(30...90) * 24
            case 5...40: random.number(5...20) * 24
            default: random.number(12...72)
            }
        let step = withSeconds ? 1 : 60
        let start = Self.start(in: zone, hours: hours, using: &random) / step * step
        self.seed = seed
        span = OracleSpan(
            zone: zone, start: start, end: start + hours * 3_600, step: step,
            margin: (leapsDays ? 27 : 4) * 3_600)
        expression = .random(withSeconds: withSeconds, using: &random)
        gap = random.once(in: 2) ? nil : GapRule.allCases.randomElement(using: &random)
        repeats = random.once(in: 2) ? nil : RepeatRule.allCases.randomElement(using: &random)
    }

    /// A start from 2005 to 2037, mostly so that a change of the clocks lies in the span.
    private static func start(in zone: Zone, hours: Int, using random: inout SplitMix) -> Int {
        let years = second(2005, 1, 1)...second(2037, 1, 1)
        let any = random.number(years)
        let segment = zone.segment(at: any)
        let change = years.contains(segment.end) ? segment.end : segment.start
        guard years.contains(change), !random.once(in: 8) else { return any }
        return change - random.number(0...hours * 3_600)
    }

    var description: String {
        "seed \(seed): `\(expression.text)` in \(span.zone.name), \(span.start) to \(span.end), "
            + "gap \(gap.map(\.rawValue) ?? "nil"), repeats \(repeats.map(\.rawValue) ?? "nil")"
    }

    /// The first difference between product and oracle, in words; nil if they agree.
    var difference: String? {
        let recurrence: Recurrence
        do throws(RecurrenceError) {
            recurrence = try Recurrence(expression.text)
        } catch .neverFires {
            return OracleDay.all.contains(where: expression.allows) ? "refused" : nil
        } catch {
            return "\(error)"
        }
        let follows = expression.followsClock
        let expected = span.occurrences(
            of: expression, gap: gap ?? (follows ? .skip : .shift),
            repeats: repeats ?? (follows ? .both : .first))
        let table = Timetable(recurrence, in: span.zone, gap: gap, repeats: repeats)
        let forward = table.forward(span.start, span.end)
        if forward != expected { return "next: " + compared(forward, expected) }
        let plain = expected.map { Occurrence(at: $0.at, offset: $0.offset, change: $0.change) }
        let backward = table.backward(span.start, span.end)
        return backward == plain ? nil : "previous: " + compared(backward, plain)
    }

    private func compared(_ found: [Occurrence], _ expected: [Occurrence]) -> String {
        let same = zip(found, expected).prefix { $0 == $1 }.count
        let one = same < found.count ? found[same].text : "none"
        let other = same < expected.count ? expected[same].text : "none"
        return "\(found.count) found, \(expected.count) expected; [\(same)] \(one), not \(other)"
    }

    /// The simplest expression that fails too.
    func reduced(_ difference: String) -> (RandomCase, String) {
        for expression in expression.simpler {
            var other = self
            other.expression = expression
            if let difference = other.difference { return other.reduced(difference) }
        }
        return (self, difference)
    }
}
