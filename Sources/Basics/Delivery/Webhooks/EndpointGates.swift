import Synchronization

/// The ways to many endpoints, none of which may hold up the others: each has a circuit of its
/// own, and few messages are on their way to it at once.
package final class EndpointGates: Sendable {
    /// The way to one endpoint.
    private struct Lane {
        var circuit = Circuit()
        var underWay = 0
        /// Told to come back since it was last empty: by it goes when the next one comes back.
        var turnedAway = 0
        /// How long the last message took.
        var pace = Duration.milliseconds(100)
        /// When a message set out or came back last.
        var movedAt = ContinuousClock.now

        var reason: String {
            switch circuit.standing {
            case .closed: "waits its turn"
            case .open(_, let reason), .probing(let reason):
                "waits while it takes nothing: \(reason)"
            }
        }
    }

    private enum Admission {
        case pass(Circuit.Ticket)
        /// A place will be free soon.
        case soon
        case wait(Duration, reason: String)
    }

    /// On their way to one endpoint at once.
    package static let places = 4
    /// So long a message waits here for a place, if the endpoint is quick; so that a backlog stays
    /// where it is instead of being taken up and put back.
    private static let patience = Duration.seconds(1)
    private static let leastWait = Duration.seconds(1)
    /// While it takes nothing, lest everybody asks all the time.
    private static let leastPause = Duration.seconds(5)
    private static let longestWait = Duration.seconds(300)

    private let lanes = Mutex<[Int64: Lane]>([:])

    /// All ways open.
    package init() {}

    /// Sends a message to an endpoint if its turn has come, and says otherwise when to try again.
    ///
    /// - Parameters:
    ///   - endpoint: which one.
    ///   - isTrial: an operator wants to know: it goes whatever became of others.
    ///   - body: sends it.
    package func send(
        to endpoint: Int64, isTrial: Bool = false, _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict {
        guard !isTrial else {
            let verdict = await body()
            if verdict.isTaken { lanes.withLock { $0[endpoint]?.circuit = Circuit() } }
            return verdict
        }
        let end = ContinuousClock.now + Self.patience
        while true {
            let begin = ContinuousClock.now
            switch admit(to: endpoint, at: begin, mayWait: begin < end) {
            case .wait(let wait, let reason):
                return .unavailable(reason: reason, retryAfter: wait)
            case .soon:
                let pause = Duration.milliseconds(Int64.random(in: 5...40))
                guard (try? await Task.sleep(for: pause)) != nil else {
                    return .unavailable(
                        reason: "cancelled before it was sent", retryAfter: Self.leastWait)
                }
            case .pass(let ticket):
                let verdict = await body()
                record(verdict, ticket, of: endpoint, since: begin)
                return verdict
            }
        }
    }

    private func admit(
        to endpoint: Int64, at now: ContinuousClock.Instant, mayWait: Bool
    ) -> Admission {
        lanes.withLock { lanes in
            var lane = lanes[endpoint] ?? Lane()
            defer { lanes[endpoint] = lane }
            if let wait = lane.circuit.wait(at: now) {
                return .wait(max(wait, Self.leastPause), reason: lane.reason)
            }
            guard lane.underWay < Self.places else {
                if mayWait, now - lane.movedAt < Self.patience { return .soon }
                lane.turnedAway += 1
                let turns = lane.turnedAway / Self.places
                let wait = min(max(lane.pace * turns, Self.leastWait), Self.longestWait)
                return .wait(wait, reason: "others are on their way to this endpoint")
            }
            guard case .pass(let ticket) = lane.circuit.admit(at: now) else {
                return .wait(Self.leastWait, reason: lane.reason)
            }
            if lane.underWay == 0 { lane.turnedAway = 0 }
            lane.turnedAway = max(lane.turnedAway - 1, 0)
            lane.underWay += 1
            lane.movedAt = now
            return .pass(ticket)
        }
    }

    private func record(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket, of endpoint: Int64,
        since begin: ContinuousClock.Instant
    ) {
        let now = ContinuousClock.now
        lanes.withLock { lanes in
            guard var lane = lanes[endpoint] else { return }
            lane.underWay -= 1
            lane.pace = now - begin
            lane.movedAt = now
            lane.circuit.record(verdict.ofEndpoint, ticket, at: now)
            let isQuiet = lane.underWay == 0 && lane.circuit.standing == .closed
            lanes[endpoint] = isQuiet && verdict.isTaken ? nil : lane
        }
    }
}

extension DeliveryVerdict {
    fileprivate var isTaken: Bool {
        if case .delivered = self { true } else { false }
    }

    /// What a verdict on a message says of the endpoint as a whole.
    fileprivate var ofEndpoint: DeliveryVerdict {
        if case .deferred(let reason, let wait) = self {
            .unavailable(reason: reason, retryAfter: wait)
        } else {
            self
        }
    }
}
