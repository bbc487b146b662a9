import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("The circuit of a provider") struct CircuitTests {
    private static let start = ContinuousClock.now
    private static let down = DeliveryVerdict.unavailable(reason: "503", retryAfter: nil)
    private static let ours = DeliveryVerdict.misconfigured(reason: "403")
    private static let taken = DeliveryVerdict.delivered(reply: "200")
    private static let unclear = DeliveryVerdict.deferred(reason: "no answer", retryAfter: nil)

    /// A circuit with a clock of its own.
    private struct Rig {
        var circuit: Circuit
        var seconds = 0.0

        init(_ change: (inout Circuit.Settings) -> Void = { _ in }) {
            var settings = Circuit.Settings()
            settings.failures = 3
            settings.firstWait = .seconds(10)
            settings.longestWait = .seconds(60)
            change(&settings)
            circuit = Circuit(settings)
        }

        var now: ContinuousClock.Instant { start + .seconds(seconds) }

        mutating func ticket() throws -> Circuit.Ticket {
            guard case .pass(let ticket) = circuit.admit(at: now) else {
                struct Refused: Error {}
                throw Refused()
            }
            return ticket
        }

        /// Lets a message go and tells what became of it.
        mutating func send(_ verdict: DeliveryVerdict) throws {
            let ticket = try ticket()
            circuit.record(verdict, ticket, at: now)
        }

        var wait: Double? { circuit.wait(at: now).map { $0 / .seconds(1) } }
        mutating func pass(_ seconds: Double) { self.seconds += seconds }
    }

    @Test func `it opens after so many failures in a row, and not before`() throws {
        var rig = Rig()
        try rig.send(Self.down)
        try rig.send(Self.down)
        #expect(rig.wait == nil)
        try rig.send(Self.down)
        #expect(rig.wait == 10)
        #expect(rig.circuit.admit(at: rig.now) == .wait(.seconds(10)))
        #expect(
            rig.circuit.status
                == .open(until: Self.start + .seconds(10), reason: "503"))
    }

    @Test(
        "an answer about one message shows that the provider works",
        arguments: [
            taken, .rejected(reason: "400"), .addressGone(reason: "410", since: nil),
            .bounced(reason: "550"), .addressBusy(reason: "4.2.2", retryAfter: nil),
        ])
    func works(answer: DeliveryVerdict) throws {
        var rig = Rig()
        for _ in 0..<10 {
            try rig.send(Self.down)
            try rig.send(Self.down)
            try rig.send(answer)
        }
        #expect(rig.circuit.status == .closed)
    }

    @Test func `what only an operator can mend opens it at once`() throws {
        var rig = Rig()
        try rig.send(Self.ours)
        #expect(rig.wait == 10)
    }

    @Test func `a provider that says how long is believed at once, beyond the ceiling too`() throws
    {
        var rig = Rig()
        try rig.send(.unavailable(reason: "503", retryAfter: .seconds(100)))
        #expect(rig.wait == 100)
        rig.pass(100)
        try rig.send(.unavailable(reason: "503", retryAfter: .seconds(1)))
        #expect(rig.wait == 20)
    }

    @Test func `after the wait one probe goes, and the others wait for its verdict`() throws {
        var rig = Rig()
        try rig.send(Self.ours)
        rig.pass(9.5)
        #expect(rig.wait == 0.5)
        rig.pass(0.5)
        let probe = try rig.ticket()
        #expect(rig.circuit.status == .probing(reason: "403"))
        for _ in 0..<100 { #expect(rig.circuit.admit(at: rig.now) == .wait(.seconds(1))) }
        rig.circuit.record(Self.taken, probe, at: rig.now)
        #expect(rig.circuit.status == .closed)
        for _ in 0..<100 { _ = try rig.ticket() }
    }

    @Test func `each failed probe doubles the wait up to the ceiling, and success ends that`()
        throws
    {
        var rig = Rig()
        try rig.send(Self.ours)
        var waits: [Double] = []
        for _ in 0..<5 {
            let wait = try #require(rig.wait)
            waits.append(wait)
            rig.pass(wait)
            try rig.send(Self.down)
        }
        #expect(waits == [10, 20, 40, 60, 60])
        rig.pass(60)
        try rig.send(Self.taken)
        try rig.send(Self.ours)
        #expect(rig.wait == 10)
    }

    @Test func `verdicts on what went before it opened change nothing`() throws {
        var rig = Rig()
        let early = try (0..<20).map { _ in try rig.ticket() }
        for ticket in early { rig.circuit.record(Self.down, ticket, at: rig.now) }
        #expect(rig.wait == 10)
        rig.pass(10)
        let probe = try rig.ticket()
        rig.circuit.record(Self.taken, early[0], at: rig.now)
        rig.circuit.record(Self.down, early[1], at: rig.now)
        #expect(rig.circuit.status == .probing(reason: "503"))
        rig.circuit.record(Self.taken, probe, at: rig.now)
        #expect(rig.circuit.status == .closed)
    }

    @Test func `a probe that never comes back is replaced, and its late verdict ignored`() throws {
        var rig = Rig()
        try rig.send(Self.ours)
        rig.pass(10)
        let lost = try rig.ticket()
        rig.pass(59)
        #expect(rig.wait == 1)
        rig.pass(1)
        let next = try rig.ticket()
        rig.circuit.record(Self.down, lost, at: rig.now)
        #expect(rig.circuit.status == .probing(reason: "403"))
        rig.circuit.record(Self.taken, next, at: rig.now)
        #expect(rig.circuit.status == .closed)
    }

    @Test func `a long run without any clear answer opens it, a short one does not`() throws {
        var rig = Rig()
        for _ in 0..<11 { try rig.send(Self.unclear) }
        #expect(rig.wait == nil)
        try rig.send(Self.taken)
        for _ in 0..<11 { try rig.send(Self.unclear) }
        #expect(rig.wait == nil)
        try rig.send(Self.unclear)
        #expect(rig.wait == 10)
        rig.pass(10)
        // A probe as unclear proves nothing better, and nothing worse.
        try rig.send(Self.unclear)
        #expect(rig.wait == 10)
        rig.pass(10)
        try rig.send(Self.taken)
        #expect(rig.circuit.status == .closed)
    }

    @Test func `whatever happens, it never lets two probes go and always opens again`() throws {
        var dice = SystemRandomNumberGenerator()
        let verdicts = [Self.down, Self.ours, Self.taken, Self.unclear]
        for _ in 0..<200 {
            var rig = Rig()
            var flying: [Circuit.Ticket] = []
            for _ in 0..<200 {
                switch Int.random(in: 0..<3, using: &dice) {
                case 0:
                    let wasClosed = rig.circuit.status == .closed
                    if case .pass(let ticket) = rig.circuit.admit(at: rig.now) {
                        flying.append(ticket)
                        if !wasClosed {
                            #expect(rig.circuit.admit(at: rig.now) == .wait(.seconds(1)))
                        }
                    }
                case 1:
                    if let ticket = flying.randomElement(using: &dice) {
                        let verdict = verdicts.randomElement(using: &dice) ?? Self.down
                        rig.circuit.record(verdict, ticket, at: rig.now)
                    }
                default: rig.pass(Double.random(in: 0...15, using: &dice))
                }
            }
            rig.pass(120)
            try rig.send(Self.taken)
            #expect(rig.circuit.status == .closed)
        }
    }

    @Test func `a gate tells once that it closes a way, and once that it is open again`() async {
        let news = Notebook<ProviderGate.News>()
        var settings = Circuit.Settings()
        settings.failures = 2
        let gate = ProviderGate(Circuit(settings)) { news.add($0) }
        var now = Self.start
        func send(_ verdict: DeliveryVerdict) {
            guard case .pass(let ticket) = gate.admit(at: now) else { return }
            _ = gate.record(verdict, ticket, at: now)
        }
        for _ in 0..<5 { send(Self.taken) }
        #expect(news.all.isEmpty)
        for _ in 0..<10 { send(Self.down) }
        #expect(news.all == [.opened(reason: "503")])
        // Probes that fail, for whatever reason, are no news.
        for verdict in [Self.ours, Self.down, Self.unclear] {
            now += .seconds(900)
            send(verdict)
        }
        #expect(news.count == 1)
        now += .seconds(900)
        for _ in 0..<5 { send(Self.taken) }
        #expect(news.all.dropFirst() == [.closed(reason: "503")])
        send(Self.ours)
        #expect(news.all.last == .opened(reason: "403"))
        #expect(news.count == 3)
    }
}
