/// The requests to one host and port: those in flight, and those that wait.
///
/// libcurl could queue requests itself, but at a cost that grows with their number, and those of
/// one host could delay those of another. So it gets only the requests that it can send.
///
/// A client learns the server's limit of streams with the first response on a connection; the
/// server refuses excess requests before. So a single request goes ahead on each new connection.
final class HostQueue {
    let origin: String
    /// The number of requests that libcurl has.
    private(set) var active = 0
    /// The number of connections with a response.
    private var proven = 0
    /// The time until which requests wait for the one that went ahead on a new connection.
    ///
    /// If the server does not answer that one, it may answer others on the same connection.
    private var probingUntil: Int64?
    /// Whether the last response used HTTP/2; nil before the first.
    var isHTTP2: Bool?
    /// The waiting requests, oldest first from `next` on.
    private var waiting: [HTTPInbox.Arrival] = []
    private var next = 0
    /// The next stream id of each connection, by its local port, and the last stream that the
    /// server will read, if it has announced one (GOAWAY, RFC 9113 section 6.8).
    private var streams: [Int: (next: Int, lastRead: Int?)] = [:]

    /// The maximum number of known connections; streams of unknown ones count as read.
    private static let portLimit = 256

    init(origin: String) { self.origin = origin }

    var waitingCount: Int { waiting.count - next }

    /// The number of requests that can be sent now.
    func room(_ settings: HTTPSettings, now: Int64) -> Int {
        if isHTTP2 == false { return settings.connectionsPerHost - active }
        let room = proven * settings.streamsPerConnection - active
        if room > 0 { return room }
        let most = settings.connectionsPerHost * settings.streamsPerConnection
        if proven >= settings.connectionsPerHost || active >= most { return 0 }
        return probingUntil.map { now < $0 } ?? false ? 0 : 1
    }

    /// Counts the start of a request.
    ///
    /// - Returns: whether it goes ahead, so that others wait for its outcome.
    func begin(_ settings: HTTPSettings, now: Int64) -> Bool {
        let goesAhead = isHTTP2 != false && active >= proven * settings.streamsPerConnection
        active += 1
        if goesAhead { probingUntil = now + Int64(settings.connectLimit / .milliseconds(1)) }
        return goesAhead
    }

    /// Records that the request that went ahead has a working connection.
    func prove(isNew: Bool) {
        probingUntil = nil
        if isNew || proven == 0 { proven += 1 }
    }

    /// Counts the end of a request.
    func end(wentAhead: Bool) {
        active -= 1
        if wentAhead { probingUntil = nil }
        // The next request finds out whether the connections are still open.
        if active == 0 { proven = 0 }
        if streams.count > Self.portLimit { streams = [:] }
    }

    /// Counts a stream that libcurl is about to open: 1, 3, 5 and so on.
    func openStream(onPort port: Int, isNewConnection: Bool) -> Int {
        let stream = isNewConnection ? 1 : streams[port]?.next ?? .min
        streams[port] = (stream + 2, isNewConnection ? nil : streams[port]?.lastRead)
        return stream
    }

    /// Records a GOAWAY.
    func goAway(onPort port: Int, lastRead: Int) { streams[port]?.lastRead = lastRead }

    /// Returns whether the server has announced that it did not and will not read a stream.
    func isUnread(_ stream: Int, onPort port: Int) -> Bool {
        streams[port]?.lastRead.map { stream > $0 } ?? false
    }

    /// Queues a request that was not read again, before all others.
    func putBack(_ arrival: HTTPInbox.Arrival) { waiting.insert(arrival, at: next) }

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

    /// Removes and returns the waiting requests for which `isOver` is true.
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

/// The hosts that got room during a call into libcurl, to be served after it.
final class ReadyHosts {
    private(set) var lanes: [HostQueue] = []

    func add(_ lane: HostQueue) { lanes.append(lane) }

    func take() -> [HostQueue] {
        defer { lanes.removeAll(keepingCapacity: true) }
        return lanes
    }
}
