import Testing

@testable import Errand

/// Work on request, and requests between two rounds of the feeder.
@Suite("The feeder's work on request") struct RequestThrottleTests {
    @Test func `a lone request begins at once, the next one after a pause`() {
        let start = ContinuousClock.now
        var throttle = RequestThrottle(minimum: .milliseconds(20), at: start)
        func begins(after pause: Duration) -> Bool { throttle.begins(at: start + pause) }
        #expect(!begins(after: .zero))
        #expect(throttle.wait(at: start) == nil)
        throttle.request()
        #expect(throttle.wait(at: start) == .zero)
        #expect(begins(after: .zero))
        #expect(!begins(after: .zero), "it was taken")
        throttle.ended(from: start, at: start + .milliseconds(1))
        throttle.request()
        #expect(!begins(after: .milliseconds(20)))
        #expect(throttle.isRequested)
        #expect(throttle.wait(at: start + .milliseconds(11)) == .milliseconds(10))
        #expect(begins(after: .milliseconds(21)))
    }

    @Test(arguments: [1, 10, 500])
    func `however many requests, it takes a fifth of the time`(_ milliseconds: Int) {
        let (start, length) = (ContinuousClock.now, Duration.milliseconds(milliseconds))
        var now = start
        var throttle = RequestThrottle(minimum: .zero, at: start)
        var spent = Duration.zero
        for _ in 0..<10_000 {
            throttle.request()
            if throttle.begins(at: now) {
                throttle.ended(from: now, at: now + length)
                now += length
                spent += length
            } else {
                now += throttle.wait(at: now) ?? .zero
            }
        }
        #expect(spent <= (now - start) / 5 + length)
        #expect(spent >= (now - start) / 5 - length)
    }

    @Test func `requests between two rounds are bounded`() {
        let requests = Feeder.Requests()
        for form in ["", "\tlater", "\tsince\t5", "\tjob\t7\t0\t0"] {
            requests.add((0..<30_000).map { "q\($0)\tk\t1\(form)" })
        }
        requests.add((0..<30_000).map { "q\tk\t1\tjob\t\($0)\t0\t0" })
        let taken = requests.take()
        #expect(taken.all)
        #expect(taken.named.count <= 2 * Feeder.Requests.Taken.nameLimit)
        #expect(taken.jobs.values.reduce(0) { $0 + $1.count } <= Feeder.Requests.Taken.nameLimit)
        #expect(!requests.take().all)
        // What a program sends is far below.
        requests.add((0..<1_000).map { "q\($0)\tk\t1\tsince\t5" })
        let usual = requests.take()
        #expect(!usual.all && usual.named.count == 1_000)
    }

    @Test func `a lane has the names that a queue and a kind may have`() {
        let (queue, kind) = (
            String(repeating: "q", count: 63), String(repeating: "k", count: 100)
        )
        #expect(Lane(name: "\(queue)\t\(kind)\t1") != nil)
        for name in [
            "\(queue)q\tk\t1", "q\t\(kind)k\t1", "q\tk", "q\tk\t1\t1", "\tk\t1", "q\tk\t99999",
            "\u{1B}[2J\tk\t1", "a\0b\tk\t1", "Q\tk\t1", "q\té\t1",
        ] {
            #expect(Lane(name: name) == nil, "\(name)")
            #expect(Lane.job("\(name)\tjob\t1\t0\t0") == nil, "\(name)")
        }
    }

    @Test func `a sweep on request waits for its turn, and sweeps from the earliest time`() {
        let lane = Lane(queue: "q", kind: "k", version: 1)
        var memory = Feeder.Memory(notices: LaneNotices(limit: 100))
        memory.use(lane)
        for priority in memory.lanes[lane, default: []].indices {
            memory.lanes[lane]?[priority].advanced(
                to: LanePlace(at: Instant(microseconds: 500), id: 7), wasFull: true,
                horizon: .negativeInfinity)
        }
        /// The times from which the parts are swept now that requests have given a time.
        func swept(_ microseconds: Int64?, of lane: Lane = lane) -> Set<Int64> {
            let times = microseconds.map { [lane: Instant(microseconds: $0)] } ?? [:]
            return Set(memory.demandedSweep(of: times).map(\.from.at.microseconds))
        }
        #expect(swept(300) == [300])
        #expect(swept(nil) == [])
        // It took long: the next ones wait together.
        memory.sweeps.ended(from: .now - .seconds(1_000), at: .now)
        #expect(swept(200) == [])
        #expect(swept(100) == [])
        #expect(swept(400) == [])
        #expect(memory.sweeps.isRequested)
        memory.sweeps = RequestThrottle(minimum: .zero)
        #expect(swept(nil) == [100])
        // Lanes that are not known are not kept.
        #expect(swept(5, of: Lane(queue: "other", kind: "k", version: 1)) == [])
        #expect(memory.since.isEmpty)
    }
}
