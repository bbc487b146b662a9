import CErrandSystem
import Glibc
import Synchronization

/// A request, as passed from its sender to the client's thread.
final class HTTPTicket: Sendable {
    let request: HTTPRequest
    /// The deadline, in milliseconds of ``monotonicMilliseconds()``.
    let deadline: Int64
    let isCancelled = Atomic(false)

    init(_ request: HTTPRequest) {
        self.request = request
        deadline = monotonicMilliseconds() + request.timeout.wholeMilliseconds
    }
}

/// The inbox of the client's thread for concurrent senders, with one wake-up for all messages.
final class HTTPInbox: Sendable {
    /// A request with the continuation of its sender.
    struct Arrival {
        let ticket: HTTPTicket
        let sender: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>
        /// How often it was sent without being read by the server.
        var repeats = 0

        func fail(_ cause: HTTPFailure.Cause, _ detail: String? = nil) {
            sender.resume(
                returning: .failure(
                    HTTPFailure(cause: cause, isAmbiguous: false, detail: detail)))
        }
    }

    /// The messages since the last read.
    struct Mail {
        var arrivals: [Arrival] = []
        var cancelled: [HTTPTicket] = []
        var isClosing = false

        var isEmpty: Bool { arrivals.isEmpty && cancelled.isEmpty && !isClosing }
    }

    private struct State {
        var mail = Mail()
        var isWaiting = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// A descriptor that is readable when there are messages.
    let bell: Int32

    init() {
        bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        precondition(bell >= 0, "no file descriptor left for a thread's wake-up")
    }

    deinit { Glibc.close(bell) }

    /// Adds a request.
    ///
    /// After the client was closed, it fails at once.
    func add(_ arrival: Arrival) {
        let (isTooLate, mustRing) = state.withLock { state in
            guard !state.mail.isClosing, !state.hasEnded else { return (true, false) }
            state.mail.arrivals.append(arrival)
            defer { state.isWaiting = false }
            return (false, state.isWaiting)
        }
        if isTooLate { arrival.fail(.cancelled, "the client is closed") }
        if mustRing { ring() }
    }

    func cancel(_ ticket: HTTPTicket) {
        // Set the flag first: a request that arrives after this message reads it.
        ticket.isCancelled.store(true, ordering: .releasing)
        change { $0.mail.cancelled.append(ticket) }
    }

    func close() { change { $0.mail.isClosing = true } }

    private func change(_ body: (inout sending State) -> Void) {
        let mustRing = state.withLock { state in
            body(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if mustRing { ring() }
    }

    private func ring() {
        var one: UInt64 = 1
        _ = unsafe write(bell, &one, 8)
    }

    /// Called by the thread: returns whether there are no messages, so that it may sleep.
    func mayWait() -> Bool {
        state.withLock { state in
            state.isWaiting = state.mail.isEmpty
            return state.isWaiting
        }
    }

    /// Called by the thread: returns all messages.
    func take() -> Mail {
        state.withLock { state in
            state.isWaiting = false
            state.hasEnded = state.mail.isClosing
            defer { state.mail = Mail() }
            return state.mail
        }
    }

    /// Called by the thread when it has nothing else to wait for: sleeps until a message arrives.
    func waitForBell() {
        guard mayWait() else { return }
        var waited = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&waited, 1, -1)
        silence()
    }

    /// Called by the thread: resets the wake-up.
    func silence() {
        var count: UInt64 = 0
        _ = unsafe read(bell, &count, 8)
    }
}

/// Returns the time of the monotonic clock, in milliseconds.
func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

extension Duration {
    /// The duration in milliseconds, rounded down but at least 1, because zero means no limit to
    /// libcurl.
    var wholeMilliseconds: Int64 {
        let (seconds, fraction) = components
        return max(1, seconds * 1000 + fraction / 1_000_000_000_000_000)
    }
}
