/// The requests to one host and port: those on their way, and those that wait their turn.
///
/// libcurl could keep them waiting itself, but at a cost that grows with their number, and one
/// host's could hold up another's. So it is given only what can travel.
///
/// How many streams a server takes on a connection, a client learns with the first answer on it;
/// one that sends more before is refused. So one request goes ahead on each new connection.
final class HostLane {
    let origin: String
    /// Requests that libcurl has.
    private(set) var active = 0
    /// Connections on which an answer has come.
    private var proven = 0
    /// Until when the others wait for a request that has gone ahead to open one more.
    ///
    /// A server that does not answer this one may answer others on the same connection.
    private var probingUntil: Int64?
    /// Whether the last answer came as HTTP/2; nil before the first.
    var isHTTP2: Bool?
    /// Those that wait, oldest first from `next` on.
    private var waiting: [HTTPInbox.Arrival] = []
    private var next = 0
    /// By the local port of each connection: the id that its next stream gets, and the last one
    /// that the server will have read, if it has said so (GOAWAY, RFC 9113 section 6.8).
    private var streams: [Int: (next: Int, lastRead: Int?)] = [:]

    /// Connections remembered; a stream whose connection is forgotten counts as read.
    private static let portLimit = 256

    init(origin: String) { self.origin = origin }

    var waitingCount: Int { waiting.count - next }

    /// How many more may travel now.
    func room(_ settings: HTTPSettings, now: Int64) -> Int {
        if isHTTP2 == false { return settings.connectionsPerHost - active }
        let room = proven * settings.streamsPerConnection - active
        if room > 0 { return room }
        let most = settings.connectionsPerHost * settings.streamsPerConnection
        if proven >= settings.connectionsPerHost || active >= most { return 0 }
        return probingUntil.map { now < $0 } ?? false ? 0 : 1
    }

    /// Counts one that sets out.
    ///
    /// - Returns: whether it goes ahead of others, which wait for what it finds.
    func begin(_ settings: HTTPSettings, now: Int64) -> Bool {
        let goesAhead = isHTTP2 != false && active >= proven * settings.streamsPerConnection
        active += 1
        if goesAhead { probingUntil = now + Int64(settings.connectLimit / .milliseconds(1)) }
        return goesAhead
    }

    /// Takes note that one that went ahead has found a connection that works.
    func prove(isNew: Bool) {
        probingUntil = nil
        if isNew || proven == 0 { proven += 1 }
    }

    /// Counts one that has ended.
    func end(wentAhead: Bool) {
        active -= 1
        if wentAhead { probingUntil = nil }
        // The next one finds out whether the connections still stand.
        if active == 0 { proven = 0 }
        if streams.count > Self.portLimit { streams = [:] }
    }

    /// Counts a stream, as libcurl is about to open it: 1, 3, 5 and so on.
    func openStream(onPort port: Int, isNewConnection: Bool) -> Int {
        let stream = isNewConnection ? 1 : streams[port]?.next ?? .min
        streams[port] = (stream + 2, isNewConnection ? nil : streams[port]?.lastRead)
        return stream
    }

    /// Takes note of a GOAWAY.
    func goAway(onPort port: Int, lastRead: Int) { streams[port]?.lastRead = lastRead }

    /// Whether the server has said that it has not read this stream and never will.
    func isUnread(_ stream: Int, onPort port: Int) -> Bool {
        streams[port]?.lastRead.map { stream > $0 } ?? false
    }

    /// Puts one back that has not been read, before all others.
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

/// The lanes that got room during a call into libcurl, to be filled after it.
final class LaneOpenings {
    private(set) var lanes: [HostLane] = []

    func add(_ lane: HostLane) { lanes.append(lane) }

    func take() -> [HostLane] {
        defer { lanes.removeAll(keepingCapacity: true) }
        return lanes
    }
}
