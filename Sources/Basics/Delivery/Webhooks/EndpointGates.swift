import Synchronization

/// The gates to many endpoints.
///
/// Each has its own circuit and a limit of concurrent messages, so that none delays the others.
package final class EndpointGates: Sendable {
    /// The state of one endpoint.
    private struct Lane {
        var circuit = Circuit()
        var underWay = 0
        /// The messages turned away since it was last empty; the retry time of the next follows it.
        var turnedAway = 0
        /// How long the last message took.
        var pace = Duration.milliseconds(100)
        /// The last start or end of a message.
        var movedAt = ContinuousClock.now

        var reason: String {
            switch circuit.status {
            case .closed: "waits for other deliveries to the endpoint"
            case .open(_, let reason), .probing(let reason):
                "waits for the endpoint: \(reason)"
            }
        }
    }

    private enum Admission {
        case pass(Circuit.Ticket)
        /// Wait here: a place is free soon.
        case soon
        case wait(Duration, reason: String)
    }

    /// The maximum number of concurrent messages to one endpoint.
    package static let places = 4
    /// How long a message waits here for a place of a quick endpoint, so that a backlog is not
    /// claimed and requeued.
    private let timeout: Duration
    private static let leastWait = Duration.seconds(1)
    /// The minimum wait while the circuit is open, so that messages do not poll.
    private static let leastPause = Duration.seconds(5)
    private static let longestWait = Duration.seconds(300)

    private let lanes = Mutex<[Int64: Lane]>([:])

    /// Creates gates with closed circuits.
    ///
    /// - Parameter timeout: how long a message waits for a place of a quick endpoint.
    package init(timeout: Duration = .seconds(1)) { self.timeout = timeout }

    /// Sends a message to an endpoint if a place is free, or returns when to retry.
    ///
    /// - Parameters:
    ///   - endpoint: the id of the endpoint.
    ///   - isTrial: whether it is an operator's test, which bypasses the gate.
    ///   - body: sends the message.
    package func send(
        to endpoint: Int64, isTrial: Bool = false, _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict {
        guard !isTrial else {
            let verdict = await body()
            if verdict.isTaken { lanes.withLock { $0[endpoint]?.circuit = Circuit() } }
            return verdict
        }
        let end = ContinuousClock.now + timeout
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
                if mayWait, now - lane.movedAt < timeout { return .soon }
                lane.turnedAway += 1
                let turns = lane.turnedAway / Self.places
                let wait = min(max(lane.pace * turns, Self.leastWait), Self.longestWait)
                return .wait(wait, reason: "waits for other deliveries to the endpoint")
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
            let isQuiet = lane.underWay == 0 && lane.circuit.status == .closed
            lanes[endpoint] = isQuiet && verdict.isTaken ? nil : lane
        }
    }
}

extension DeliveryVerdict {
    fileprivate var isTaken: Bool {
        if case .delivered = self { true } else { false }
    }

    /// The verdict on the endpoint as a whole.
    fileprivate var ofEndpoint: DeliveryVerdict {
        if case .deferred(let reason, let wait) = self {
            .unavailable(reason: reason, retryAfter: wait)
        } else {
            self
        }
    }
}
