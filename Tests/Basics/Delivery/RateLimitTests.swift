import ErrandDelivery
import Foundation
import Testing

@Suite("The rate of a provider") struct RateLimitTests {
    private let start = ContinuousClock.now

    @Test func `a burst goes at once, then one for each share of a second`() {
        var limit = RateLimit(perSecond: 10, burst: 3)
        for _ in 0..<3 { #expect(limit.take(at: start) == nil) }
        #expect(limit.take(at: start) == .milliseconds(100))
        #expect(limit.take(at: start + .milliseconds(60)) == .milliseconds(40))
        #expect(limit.take(at: start + .milliseconds(100)) == nil)
        #expect(limit.take(at: start + .milliseconds(100)) != nil)
    }

    @Test func `a pause saves up no more than the burst`() {
        var limit = RateLimit(perSecond: 10, burst: 3)
        for _ in 0..<3 { #expect(limit.take(at: start) == nil) }
        let later = start + .seconds(3600)
        for _ in 0..<3 { #expect(limit.take(at: later) == nil) }
        #expect(limit.take(at: later) != nil)
    }

    @Test func `a time before the last fills nothing twice`() {
        var limit = RateLimit(perSecond: 1, burst: 1)
        #expect(limit.take(at: start + .seconds(10)) == nil)
        #expect(limit.take(at: start) != nil)
        #expect(limit.take(at: start + .seconds(10)) != nil)
        #expect(limit.take(at: start + .seconds(11)) == nil)
    }

    @Test(
        "whoever waits as long as told gets no more than the rate in all",
        arguments: [(0.5, 1.0), (7, 1), (100, 20), (3333, 100)])
    func total(perSecond: Double, burst: Double) {
        var limit = RateLimit(perSecond: perSecond, burst: burst)
        var now = start
        var taken = 0
        while now < start + .seconds(60) {
            if let wait = limit.take(at: now) {
                #expect(wait > .zero)
                now += wait + .nanoseconds(1)
            } else {
                taken += 1
            }
        }
        let most = perSecond * 60 + burst
        #expect(Double(taken) <= most + 1)
        #expect(Double(taken) >= most - 2)
    }

    @Test func `a gate asks the circuit first, and whoever waits for the rate is not the probe`()
        throws
    {
        let gate = ProviderGate(Circuit(), rate: RateLimit(perSecond: 0.01, burst: 2))
        guard case .pass(let first) = gate.admit(at: start) else {
            Issue.record("the first was not let go")
            return
        }
        _ = gate.record(.misconfigured(reason: "403"), first, at: start)
        // No token is taken by those who wait for the circuit.
        for _ in 0..<10 { #expect(gate.admit(at: start) == .wait(.seconds(10))) }
        guard case .pass(let probe) = gate.admit(at: start + .seconds(10)) else {
            Issue.record("the probe was not let go")
            return
        }
        _ = gate.record(.misconfigured(reason: "403"), probe, at: start + .seconds(10))
        // Now the bucket is empty: the probe's place stays free until there is a token.
        guard case .wait(let wait) = gate.admit(at: start + .seconds(30)) else {
            Issue.record("the rate was not kept")
            return
        }
        #expect(wait > .seconds(60))
        #expect(gate.status == .open(until: start + .seconds(30), reason: "403"))
    }

    @Test func `many threads at once get no more than the rate and one probe`() async {
        let gate = ProviderGate(rate: RateLimit(perSecond: 1, burst: 50))
        let start = start
        func admitted(at now: ContinuousClock.Instant) async -> [Circuit.Ticket] {
            await withTaskGroup(of: Circuit.Ticket?.self) { group in
                for _ in 0..<400 {
                    group.addTask {
                        if case .pass(let ticket) = gate.admit(at: now) { ticket } else { nil }
                    }
                }
                return await group.reduce(into: []) { if let ticket = $1 { $0.append(ticket) } }
            }
        }
        let tickets = await admitted(at: start)
        #expect(tickets.count == 50)
        _ = gate.record(.misconfigured(reason: "403"), tickets[0], at: start)
        #expect(await admitted(at: start + .seconds(50)).count == 1)
    }
}
