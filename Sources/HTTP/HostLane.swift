/// The requests to one host and port: those on their way, and those that wait their turn.
///
/// libcurl could keep them waiting itself, but at a cost that grows with their number, and one
/// host's could hold up another's. So it is given only what can travel: one request until a
/// connection stands, then as many as the connections carry.
final class HostLane {
    let origin: String
    /// Requests that libcurl has.
    var active = 0
    /// Whether a connection stands, as far as is known.
    var isOpen = false
    /// Whether the last answer came as HTTP/2; nil before the first.
    var isHTTP2: Bool?
    /// Those that wait, oldest first from `next` on.
    private var waiting: [HTTPInbox.Arrival] = []
    private var next = 0

    init(origin: String) { self.origin = origin }

    var waitingCount: Int { waiting.count - next }

    /// How many more may travel now.
    func room(_ settings: HTTPSettings) -> Int {
        guard isOpen else { return active == 0 ? 1 : 0 }
        let streams = isHTTP2 == false ? 1 : settings.streamsPerConnection
        return settings.connectionsPerHost * streams - active
    }

    func append(_ arrival: HTTPInbox.Arrival) { waiting.append(arrival) }

    func popFirst() -> HTTPInbox.Arrival? {
        guard next < waiting.count else { return nil }
        defer {
            next += 1
            if next == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                next = 0
            } else if next >= 1024, next * 2 > waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
        }
        return waiting[next]
    }

    /// Takes out those that wait and for which `isOver` holds.
    func remove(where isOver: (HTTPInbox.Arrival) -> Bool) -> [HTTPInbox.Arrival] {
        let all = waiting[next...]
        let gone = all.filter(isOver)
        if !gone.isEmpty {
            waiting = all.filter { !isOver($0) }
            next = 0
        }
        return gone
    }
}

/// The lanes that got a connection during a call into libcurl, to be filled after it.
final class LaneOpenings {
    private(set) var lanes: [HostLane] = []

    func open(_ lane: HostLane) {
        guard !lane.isOpen else { return }
        lane.isOpen = true
        lanes.append(lane)
    }

    func take() -> [HostLane] {
        defer { lanes.removeAll(keepingCapacity: true) }
        return lanes
    }
}
