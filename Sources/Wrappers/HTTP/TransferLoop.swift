import CErrandCurl
import Synchronization

/// Processes the requests of one client, on the thread that runs it.
final class TransferLoop {
    private let settings: HTTPSettings
    private let inbox: HTTPInbox
    private let multi: MultiHandle
    private let readyHosts = ReadyHosts()
    private var lanes: [String: HostQueue] = [:]
    private var active: [ObjectIdentifier: HTTPTransfer] = [:]
    private var idle: [HTTPTransfer] = []
    private var waitingCount = 0
    private var lookAgainAt: Int64 = 0

    /// The maximum number of handles kept for later requests; each takes about 20 kB.
    private static let idleLimit = 1024
    /// The maximum number of known idle hosts; an unknown host is only probed again.
    private static let laneLimit = 4096
    /// How often to check waiting requests for timeouts, in milliseconds.
    private static let lookInterval: Int64 = 50

    /// Returns nil if libcurl cannot be initialized.
    init?(_ settings: HTTPSettings, inbox: HTTPInbox) {
        guard let multi = MultiHandle(settings, bell: inbox.bell) else { return nil }
        self.settings = settings
        self.inbox = inbox
        self.multi = multi
    }

    /// Runs until the inbox is closed.
    func run() {
        while true {
            let mail = inbox.take()
            for arrival in mail.arrivals { take(arrival) }
            for ticket in mail.cancelled { cancel(ticket) }
            if mail.isClosing { break }
            multi.runDue()
            settle()
            let mayWait = inbox.mayWait()
            let limit: Int64 = waitingCount > 0 ? Self.lookInterval : 60_000
            if multi.work(waiting: mayWait ? limit : 0, bell: inbox.bell) { inbox.silence() }
            settle()
        }
        end()
    }

    /// Processes the results of calls into libcurl: new connections, ended transfers and timeouts.
    private func settle() {
        while true {
            for lane in readyHosts.take() { fill(lane) }
            while let (transfer, code) = multi.nextEnded() { finish(transfer, code) }
            if readyHosts.lanes.isEmpty { break }
        }
        if waitingCount > 0 { lookAtWaiting() }
    }

    private func take(_ arrival: HTTPInbox.Arrival) {
        let origin = arrival.ticket.request.origin
        let lane = lanes[origin] ?? HostQueue(origin: origin)
        if settings.http2 == .never { lane.isHTTP2 = false }
        lanes[origin] = lane
        lane.append(arrival)
        waitingCount += 1
        fill(lane)
    }

    /// Starts the waiting requests that can be sent.
    private func fill(_ lane: HostQueue) {
        guard lane.waitingCount > 0 else { return }
        let now = monotonicMilliseconds()
        while lane.room(settings, now: now) > 0, let arrival = lane.popFirst() {
            waitingCount -= 1
            start(arrival, in: lane, now: now)
        }
    }

    private func start(_ arrival: HTTPInbox.Arrival, in lane: HostQueue, now: Int64) {
        guard !arrival.ticket.isCancelled.load(ordering: .acquiring) else {
            arrival.fail(.cancelled)
            return
        }
        guard arrival.ticket.deadline > now else {
            arrival.fail(.timedOut)
            return
        }
        guard let transfer = idle.popLast() ?? HTTPTransfer(settings, readyHosts: readyHosts) else {
            arrival.fail(.local, "no memory left")
            return
        }
        let fault = transfer.load(arrival, in: lane, now: now)
        guard fault == nil, multi.add(transfer) else {
            let failure = HTTPFailure(
                cause: .local, isAmbiguous: false, detail: fault ?? "no memory left")
            transfer.unload(.failure(failure))
            return
        }
        active[ObjectIdentifier(arrival.ticket)] = transfer
    }

    private func finish(_ transfer: HTTPTransfer, _ code: CURLcode) {
        let lane = transfer.lane
        if code == CURLE_OK { lane?.isHTTP2 = transfer.isHTTP2 }
        let isUnread = code != CURLE_OK && transfer.isUnread
        let outcome = transfer.outcome(of: code, isUnread: isUnread)
        let again = isUnread ? transfer.arrivalToRepeat : nil
        release(transfer, again == nil ? outcome : nil)
        guard let lane else { return }
        if let again {
            lane.putBack(again)
            waitingCount += 1
        }
        if case .failure(let failure) = outcome, failure.meansNoConnection, lane.active == 0 {
            // They waited for the connection that failed.
            for arrival in lane.remove(where: { _ in true }) {
                waitingCount -= 1
                arrival.sender.resume(returning: outcome)
            }
        }
        fill(lane)
        if lane.active == 0, lanes.count > Self.laneLimit { lanes[lane.origin] = nil }
    }

    private func release(
        _ transfer: HTTPTransfer, _ outcome: Result<HTTPResponse, HTTPFailure>?
    ) {
        multi.remove(transfer)
        if let ticket = transfer.arrival?.ticket { active[ObjectIdentifier(ticket)] = nil }
        transfer.unload(outcome)
        if idle.count < Self.idleLimit { idle.append(transfer) }
    }

    private func cancel(_ ticket: HTTPTicket) {
        if let transfer = active[ObjectIdentifier(ticket)] {
            let lane = transfer.lane
            release(transfer, .failure(transfer.interruption))
            if let lane { fill(lane) }
        } else if let lane = lanes[ticket.request.origin] {
            for arrival in lane.remove(where: { $0.ticket === ticket }) {
                waitingCount -= 1
                arrival.fail(.cancelled)
            }
        }
    }

    /// Fails requests that have waited too long, so that others need not wait for a stuck one.
    private func lookAtWaiting() {
        let now = monotonicMilliseconds()
        guard now >= lookAgainAt else { return }
        lookAgainAt = now + Self.lookInterval
        for lane in lanes.values where lane.waitingCount > 0 {
            for arrival in lane.remove(where: { $0.ticket.deadline <= now }) {
                waitingCount -= 1
                arrival.fail(.timedOut)
            }
            fill(lane)
        }
    }

    private func end() {
        for transfer in active.values {
            multi.remove(transfer)
            transfer.unload(.failure(transfer.interruption))
        }
        for lane in lanes.values {
            for arrival in lane.remove(where: { _ in true }) { arrival.fail(.cancelled) }
        }
        active = [:]
        idle = []
        multi.close()
    }
}

extension HTTPFailure {
    /// Whether requests that wait for the same connection would fail too.
    fileprivate var meansNoConnection: Bool {
        switch cause {
        case .resolve, .connect, .insecure, .refusedAddress: !isAmbiguous
        default: false
        }
    }
}
