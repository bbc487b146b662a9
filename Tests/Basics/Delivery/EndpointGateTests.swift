import ErrandDelivery
import ErrandTestServices
import Testing

@Suite("Ways to endpoints") struct EndpointGateTests {
    private static let failure = DeliveryVerdict.deferred(reason: "500", retryAfter: nil)

    private func waits(_ verdict: DeliveryVerdict) -> Duration? {
        guard case .unavailable(_, let wait) = verdict else { return nil }
        return wait
    }

    @Test func `one that fails is left alone, and the others are not`() async {
        let gates = EndpointGates()
        for _ in 0..<5 {
            #expect(await gates.send(to: 1) { Self.failure } == Self.failure)
        }
        let asked = Notebook<Int>()
        let verdict = await gates.send(to: 1) {
            asked.add(1)
            return Self.failure
        }
        #expect((waits(verdict) ?? .zero) >= .seconds(5))
        #expect(asked.count == 0)
        #expect("\(verdict)".contains("waits for the endpoint: 500"))
        let other = DeliveryVerdict.delivered(reply: "204")
        #expect(await gates.send(to: 2) { other } == other)
        // An operator's trial goes all the same, and its success lets the others go.
        #expect(await gates.send(to: 1, isTrial: true) { Self.failure } == Self.failure)
        #expect(waits(await gates.send(to: 1) { other }) != nil)
        #expect(await gates.send(to: 1, isTrial: true) { other } == other)
        #expect(await gates.send(to: 1) { other } == other)
    }

    @Test func `one that says when it is back is not asked before`() async {
        let gates = EndpointGates()
        let busy = DeliveryVerdict.deferred(reason: "429", retryAfter: .seconds(400))
        #expect(await gates.send(to: 1) { busy } == busy)
        let wait = waits(await gates.send(to: 1) { busy }) ?? .zero
        #expect(wait > .seconds(300) && wait <= .seconds(400))
    }

    @Test func `few are on their way at once, and the others come back in turn`() async throws {
        let gates = EndpointGates()
        let (end, begun) = (Notebook<Bool>(), Notebook<Int>())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<EndpointGates.places {
                group.addTask {
                    _ = await gates.send(to: 1) {
                        begun.add(number)
                        try? await eventually("the end") { end.count > 0 }
                        return .delivered(reply: "204")
                    }
                }
            }
            try await eventually("all places are taken") { begun.count == EndpointGates.places }
            var last = Duration.zero
            for _ in 0..<500 {
                let wait = waits(await gates.send(to: 1) { .delivered(reply: "204") })
                #expect((wait ?? .zero) >= last)
                last = wait ?? .zero
            }
            // Those who came late come back late.
            #expect(last >= .seconds(10))
            let other = DeliveryVerdict.delivered(reply: "204")
            #expect(await gates.send(to: 2) { other } == other)
            end.add(true)
            try await group.waitForAll()
        }
        let again = DeliveryVerdict.delivered(reply: "204")
        #expect(await gates.send(to: 1) { again } == again)
    }

    @Test func `a quick one takes a crowd without turning anybody away`() async {
        // However busy the machine is that runs this.
        let gates = EndpointGates(timeout: .seconds(3_600))
        let taken = DeliveryVerdict.delivered(reply: "204")
        let verdicts = await withTaskGroup(of: DeliveryVerdict.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await gates.send(to: 1) {
                        await Task.yield()
                        return taken
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts == Array(repeating: taken, count: 100))
    }
}
