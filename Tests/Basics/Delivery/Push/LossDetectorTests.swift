import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Doubts about dead addresses") struct LossDetectorTests {
    private static let gone = DeliveryVerdict.addressGone(reason: "400", since: nil)
    private static let taken = DeliveryVerdict.delivered(reply: "200")

    private func isDoubted(_ verdict: DeliveryVerdict) -> Bool { verdict.isMisconfigured }

    @Test func `dead addresses among living ones are believed`() {
        var watch = LossDetector()
        for _ in 0..<1000 {
            #expect(watch.judge(Self.taken) == Self.taken)
            #expect(watch.judge(Self.gone) == Self.gone)
        }
    }

    @Test func `when most are called dead, no more are believed, until most live again`() {
        var watch = LossDetector(window: 100, least: 20)
        for _ in 0..<19 { #expect(watch.judge(Self.gone) == Self.gone) }
        for _ in 0..<500 { #expect(isDoubted(watch.judge(Self.gone))) }
        for _ in 0..<49 { _ = watch.judge(Self.taken) }
        #expect(isDoubted(watch.judge(Self.gone)))
        for _ in 0..<2 { _ = watch.judge(Self.taken) }
        #expect(watch.judge(Self.gone) == Self.gone)
    }

    @Test(
        "what says nothing about addresses changes nothing",
        arguments: [
            DeliveryVerdict.deferred(reason: "", retryAfter: nil),
            .unavailable(reason: "", retryAfter: nil), .misconfigured(reason: ""),
            .rejected(reason: ""),
        ])
    func others(verdict: DeliveryVerdict) {
        var watch = LossDetector()
        for _ in 0..<19 { _ = watch.judge(Self.gone) }
        let before = watch
        #expect(watch.judge(verdict) == verdict)
        #expect(watch == before)
    }

    @Test func `an address that was seen dead at a certain time is believed`() {
        var watch = LossDetector()
        let sure = DeliveryVerdict.addressGone(reason: "410", since: Date())
        for _ in 0..<500 { #expect(watch.judge(sure) == sure) }
    }

    @Test func `a wrong environment opens the circuit before it costs all devices`() async throws {
        try await withPushSink(["apns=400 BadDeviceToken"]) { sink in
            let client = try sink.apns()
            let gate = ProviderGate(losses: LossDetector())
            let now = ContinuousClock.now
            var gone = 0
            for number in 0..<200 {
                guard case .pass(let ticket) = gate.admit(at: now) else { break }
                let verdict = gate.record(
                    await client.send(push(device(number))), ticket, at: now)
                if case .addressGone = verdict { gone += 1 }
            }
            #expect(gone == 19)
            guard case .open(_, let reason) = gate.status else {
                Issue.record("the circuit is \(gate.status)")
                return
            }
            #expect(reason.contains("APNs: 400 BadDeviceToken, as for 20 of the last 20"))
            await client.close()
        }
    }
}
