import CErrandSystem
import Glibc
import Synchronization

/// One request on its way from its sender to the thread that carries it out.
final class HTTPTicket: Sendable {
    let request: HTTPRequest
    /// When its time is over, in milliseconds of ``monotonicMilliseconds()``.
    let deadline: Int64
    let isCancelled = Atomic(false)

    init(_ request: HTTPRequest) {
        self.request = request
        deadline = monotonicMilliseconds() + request.timeout.wholeMilliseconds
    }
}

/// What concurrent senders leave for the thread, with one wake-up for all of it.
final class HTTPInbox: Sendable {
    /// A request with the sender who waits for its end.
    struct Arrival {
        let ticket: HTTPTicket
        let sender: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>
        /// How often it was sent and not read.
        var repeats = 0

        func fail(_ cause: HTTPFailure.Cause, _ detail: String? = nil) {
            sender.resume(
                returning: .failure(
                    HTTPFailure(cause: cause, isAmbiguous: false, detail: detail)))
        }
    }

    /// What came since the last look.
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
    /// Readable when there is something new.
    let bell: Int32

    init() {
        bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        precondition(bell >= 0, "no file descriptor left for a thread's wake-up")
    }

    deinit { Glibc.close(bell) }

    /// Hands over a request; one that comes too late fails at once.
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
        // First: an arrival that comes after this message is told by it.
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

    /// For the thread: whether nothing is there and it may sleep until the bell rings.
    func mayWait() -> Bool {
        state.withLock { state in
            state.isWaiting = state.mail.isEmpty
            return state.isWaiting
        }
    }

    /// For the thread: all that came.
    func take() -> Mail {
        state.withLock { state in
            state.isWaiting = false
            state.hasEnded = state.mail.isClosing
            defer { state.mail = Mail() }
            return state.mail
        }
    }

    /// For the thread, where nothing else is to be waited for: sleeps until something comes.
    func waitForBell() {
        guard mayWait() else { return }
        var waited = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&waited, 1, -1)
        silence()
    }

    /// For the thread: silences the bell.
    func silence() {
        var count: UInt64 = 0
        _ = unsafe read(bell, &count, 8)
    }
}

/// The time of a clock that nobody sets, in milliseconds.
func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

extension Duration {
    /// Rounded down, and at least 1: to libcurl, zero means "no limit".
    var wholeMilliseconds: Int64 {
        let (seconds, fraction) = components
        return max(1, seconds * 1000 + fraction / 1_000_000_000_000_000)
    }
}
