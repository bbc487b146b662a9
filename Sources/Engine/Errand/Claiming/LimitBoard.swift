import ErrandPostgres
import Synchronization

/// How much of a queue may run over all workers, as a worker needs to know it.
struct KnownLimit: Sendable, Equatable {
    /// Jobs at once.
    var running: Int?
    /// Starts a second.
    var rate: Double?

    /// More than this is not worth popping at once.
    var most: Int {
        let byRate = rate.map { 1 + Int(min($0, 1e6) * 0.1) } ?? .max
        return min(running ?? .max, byRate)
    }

    /// How long to leave the queue alone when nothing of it may start.
    enum Pause {
        /// Others claim just now: a claim takes a few milliseconds.
        case contended
        /// The rate lets the next one start in so many seconds.
        case rate(Double)
        /// As many run as may.
        case full

        /// Not all workers at the same moment.
        var length: Duration {
            switch self {
            case .contended: .milliseconds(Int.random(in: 5...25))
            case .rate(let seconds): .milliseconds(Int(min(seconds, 1) * 1_000) + 1)
            case .full: .milliseconds(Int.random(in: 50...200))
            }
        }
    }
}

/// The limits of queues that a worker has heard of.
///
/// Each dispatcher takes them at the head of its round and claims by them to its end, so that it
/// can be told from when on no claim goes past a limit. While no queue is limited it is one look
/// at a number.
final class LimitBoard: Sendable {
    typealias Limits = [String: KnownLimit]

    private struct State {
        var limits: Limits = [:]
        /// When the newest limit was set.
        var version = Instant.negativeInfinity
        /// By which version each dispatcher claims.
        var entered: [Dispatcher.Share: Instant] = [:]
        var onRoom: (@Sendable (LocalQueue) -> Void)?
    }

    private let queues: [LocalQueue]
    private let state = Mutex(State())
    private let hasLimits = Atomic(false)

    init(_ queues: [LocalQueue]) { self.queues = queues }

    /// Whether any queue of the database is limited.
    var isActive: Bool { hasLimits.load(ordering: .acquiring) }

    /// Up to when the limits that were set are kept here.
    var heard: Instant {
        state.withLock { state in
            state.entered.values.reduce(state.version) { min($0, $1) }
        }
    }

    /// Takes down all limits that there are; returns whether they have changed.
    func hear(_ rows: Rows) throws -> Bool {
        var limits: Limits = [:]
        var version = Instant.negativeInfinity
        for row in rows {
            limits[try row.text("queue")] = KnownLimit(
                running: try row.optionalInt32("running").map(Int.init),
                rate: try row.optionalDouble("rate_per_s"))
            version = max(version, try row.timestamp("set_at"))
        }
        let isNews = state.withLock { state in
            defer {
                state.limits = limits
                state.version = version
            }
            return state.limits != limits || state.version != version
        }
        guard isNews else { return false }
        hasLimits.store(!limits.isEmpty, ordering: .releasing)
        for queue in queues { queue.limit(to: limits[queue.options.name]?.running) }
        return true
    }

    /// A dispatcher begins its rounds, and has not yet looked here.
    func join(_ share: Dispatcher.Share) {
        state.withLock { $0.entered[share] = .negativeInfinity }
    }

    /// What holds for a dispatcher's round.
    func enter(_ share: Dispatcher.Share) -> Limits {
        state.withLock { state in
            state.entered[share] = state.version
            return state.limits
        }
    }

    /// A dispatcher claims no more.
    func leave(_ share: Dispatcher.Share) {
        state.withLock { _ = $0.entered.removeValue(forKey: share) }
    }

    /// Is told of queues that want jobs again; nil when nobody needs to know any more.
    func onRoom(_ action: (@Sendable (LocalQueue) -> Void)?) {
        state.withLock { $0.onRoom = action }
    }

    /// Jobs of these queues have ended in the database: their slots are free.
    func free(_ names: Set<String>) {
        let action = state.withLock(\.onRoom)
        for queue in queues where names.contains(queue.options.name) {
            if queue.release() { action?(queue) }
        }
    }
}
