import ErrandPostgres
import Synchronization

/// The limit of a queue over all workers.
struct KnownLimit: Sendable, Equatable {
    /// The maximum number of running jobs.
    var running: Int?
    /// The maximum number of starts per second.
    let rate: Double?

    /// - Parameter rate: a row may have any number; what is not a number does not limit the rate.
    init(running: Int? = nil, rate: Double? = nil) {
        self.running = running
        self.rate = rate.flatMap { $0.isNaN ? nil : $0.bounded(to: 0...1e6) }
    }

    /// The maximum number of jobs worth popping at once.
    var most: Int {
        let byRate = rate.map { 1 + Int($0 * 0.1) } ?? .max
        return max(min(running ?? .max, byRate), 1)
    }

    /// Why no job of the queue may start now.
    enum Pause {
        /// Another worker is claiming, which takes a few milliseconds.
        case contended
        /// The rate allows the next start after this number of seconds.
        case rate(Double)
        /// The maximum number of jobs is running.
        case full

        /// The time to wait before the next pop; random, so that workers do not retry together.
        var length: Duration {
            switch self {
            case .contended: .milliseconds(Int.random(in: 5...25))
            case .rate(let seconds):
                .milliseconds(Int(seconds.bounded(to: 0...1) * 1_000) + 1)
            case .full: .milliseconds(Int.random(in: 50...200))
            }
        }
    }
}

/// The limits of queues that a worker has read.
///
/// A claimer reads them at the start of a round and applies them to its end, so that the time from
/// which no claim exceeds a new limit is known. Without limits this costs one atomic load.
final class LimitCache: Sendable {
    typealias Limits = [String: KnownLimit]

    private struct State {
        var limits: Limits = [:]
        /// The time at which the newest limit was set.
        var version = Instant.negativeInfinity
        /// The version that each claimer applies.
        var entered: [Claimer.Share: Instant] = [:]
        var onRoom: (@Sendable (LocalQueue) -> Void)?
    }

    private let lanes: WorkerLanes
    private let state = Mutex(State())
    private let hasLimits = Atomic(false)

    init(_ lanes: WorkerLanes) { self.lanes = lanes }

    /// Whether any queue of the database is limited.
    var isActive: Bool { hasLimits.load(ordering: .acquiring) }

    /// The version of the limits that all claimers apply.
    var appliedAt: Instant {
        state.withLock { state in
            state.entered.values.reduce(state.version) { min($0, $1) }
        }
    }

    /// Stores all limits, and returns whether they have changed.
    func update(_ rows: Rows) throws -> Bool {
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
        lanes.limit(limits)
        return true
    }

    /// Registers a claimer before its first round.
    func join(_ share: Claimer.Share) {
        state.withLock { $0.entered[share] = .negativeInfinity }
    }

    /// Returns the limits for a claimer's round.
    func enter(_ share: Claimer.Share) -> Limits {
        state.withLock { state in
            state.entered[share] = state.version
            return state.limits
        }
    }

    /// Removes a claimer that claims no more.
    func leave(_ share: Claimer.Share) {
        state.withLock { _ = $0.entered.removeValue(forKey: share) }
    }

    /// Sets the callback for queues that want jobs again; nil removes it.
    func onRoom(_ action: (@Sendable (LocalQueue) -> Void)?) {
        state.withLock { $0.onRoom = action }
    }

    /// Records that slots of these queues became free, because the results of jobs were written.
    func free(_ names: Set<String>) {
        let action = state.withLock(\.onRoom)
        for queue in names.compactMap(lanes.queue(named:)) where queue.release() {
            action?(queue)
        }
    }
}
