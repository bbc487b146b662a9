@testable import Errand
import ErrandPostgres
import Testing

/// Requests to the feeder, which any login of the database can send.
@Suite("Requests to the feeder") struct LaneRequestTests {
    private static let lane = Lane(queue: "mail", kind: "test.plain", version: 1)

    /// The first time that PostgreSQL has, and the last, but for the infinite ones.
    private static let first: Int64 = -211_813_488_000_000_000
    private static let last: Int64 = 9_223_371_331_199_999_999

    private static let times: [Int64] = [
        .min, .min + 1, -9_223_372_036_854_000_001, -9_223_372_036_854_000_000,
        -9_223_372_036_853_999_999, first - 1, first, first + 1_999_999, first + 2_000_000, -1, 0,
        999_999, 1_000_000, last, last + 1, .max,
    ]

    @Test(arguments: times)
    func `a request for the jobs of any time is one from that time on, or a little before`(
        _ microseconds: Int64
    ) throws {
        let time = Instant(microseconds: microseconds)
        let read = try #require(Lane.since(Self.lane.since(time)))
        #expect(read.lane == Self.lane)
        // Later, the job would not be found again.
        #expect(read.time <= time)
        // Rounded, so that equal requests are merged.
        let isNear = time.durationSince(read.time) <= .seconds(2)
        #expect(isNear || read.time == .negativeInfinity && microseconds < Self.first + 2_000_000)
    }

    @Test(arguments: times)
    func `a request of a login has no time that PostgreSQL refuses`(_ microseconds: Int64) throws {
        let request = "\(Self.lane.name)\tsince\t\(microseconds)"
        let time = try #require(Lane.since(request)).time
        #expect(time == .negativeInfinity || time.microseconds >= Self.first)
    }

    @Test(arguments: [
        "9223372036854775807\t0\t-9223372036854775808",
        "-9223372036854775808\t3\t9223372036854775807", "0\t2\t0", "-1\t1\t-1",
    ])
    func `a notice that names a job has a score within its priority`(_ numbers: String) throws {
        let found = try #require(Lane.job("\(Self.lane.name)\tjob\t\(numbers)"))
        #expect(found.lane == Self.lane)
        let band = Int64(found.job.priority) * Staged.band
        #expect((band..<(band + Staged.band)).contains(found.job.score))
    }

    @Test(arguments: [
        "", "\t", "\t\t\t\t\t\t", "mail\ttest.plain", "mail\ttest.plain\t32768",
        "mail\ttest.plain\t1\tjob", "mail\ttest.plain\t1\tjob\t1\t4\t0",
        "mail\ttest.plain\t1\tjob\t1\t-1\t0", "mail\ttest.plain\t1\tjob\t1\t99999\t0",
        "mail\ttest.plain\t1\tjob\t9223372036854775808\t0\t0",
        "mail\ttest.plain\t1\tjob\t1\t0\t99999999999999999999",
        "mail\ttest.plain\t1\tsince\t-9223372036854775809", "mail\ttest.plain\t1\tsince\tnow",
        "mail\ttest.plain\t1\tsince\t1\t1", "m\0il\ttest.plain\t1",
        "m\0il\ttest.plain\t1\tjob\t1\t0\t0", "mail\ttest\0plain\t1\tsince\t0",
        "\(String(repeating: "q", count: 200))\ttest.plain\t1",
        "mail\t\(String(repeating: "k", count: 200))\t1\tsince\t0",
    ])
    func `any other notice is a request for all lanes`(_ payload: String) {
        var taken = Feeder.Requests.Taken()
        taken.add(payload)
        #expect(taken.all && taken.named.isEmpty)
    }

    @Test func `the earliest of all requests counts, also when it is infinite`() throws {
        let requests = Feeder.Requests()
        requests.add(
            Self.times.map { Self.lane.since(Instant(microseconds: $0)) }.shuffled())
        let taken = requests.take()
        #expect(taken.since == [Self.lane: .negativeInfinity])
        #expect(!taken.all)
    }

    @Test func `a part of a lane that any request names starts where the lane does`() {
        var memory = Feeder.Memory(notices: LaneNotices(limit: 100))
        memory.use(Self.lane)
        let last = LanePlace(at: Instant(microseconds: 5), id: 7)
        for priority in memory.lanes[Self.lane, default: []].indices {
            memory.lanes[Self.lane]?[priority].advanced(
                to: last, wasFull: true, horizon: last.at)
            memory.lanes[Self.lane]?[priority].swept(first: nil, horizon: .infinity)
        }
        let parts = memory.missed(since: [Self.lane: .negativeInfinity])
        #expect(parts.count == 4)
        #expect(parts.allSatisfy { $0.from == .start && $0.to == last })
    }
}
