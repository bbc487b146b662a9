import ErrandPostgres
import Synchronization

extension Feeder {
    /// The requests that wake the feeder.
    final class Requests: Sendable {
        let signal = Signal()

        struct Taken {
            /// The maximum number of lanes, and of jobs, that are named between two rounds.
            ///
            /// Any login can name more; then all lanes are read instead.
            static let nameLimit = 10_000

            /// The lanes to read.
            var lanes: Set<Lane> = []
            /// The lanes with new delayed jobs.
            var later: Set<Lane> = []
            /// The lanes with jobs that may be before the feeder's position, and the earliest due
            /// time that these can have.
            var since: [Lane: Instant] = [:]
            /// The jobs that notices named, and their number.
            var jobs: [Lane: [Staged]] = [:]
            private var jobCount = 0
            var all = false
            var hasRole = true

            /// All lanes that a request named.
            var named: Set<Lane> {
                lanes.union(later).union(since.keys).union(jobs.keys)
            }

            private var isFull: Bool {
                lanes.count + later.count + since.count >= Self.nameLimit
                    || jobCount >= Self.nameLimit
            }

            init(hasRole: Bool = true) { self.hasRole = hasRole }

            mutating func add(_ name: String) {
                guard !isFull else {
                    all = true
                    return
                }
                if name.hasSuffix(Lane.later) {
                    if let lane = Lane(name: name.dropLast(Lane.later.count)) {
                        later.insert(lane)
                    }
                } else if let lane = Lane(name: name) {
                    lanes.insert(lane)
                } else if let (lane, time) = Lane.since(name) {
                    since[lane] = min(since[lane] ?? time, time)
                } else if let (lane, job) = Lane.job(name) {
                    jobs[lane, default: []].append(job)
                    jobCount += 1
                } else {
                    all = true
                }
            }
        }

        private let state = Mutex(Taken())

        /// Adds requests: a lane's name, with the suffix `later` for a delayed job, `since` for
        /// jobs perhaps before the feeder's position, or `job` for the named one; or `*`.
        func add(_ names: some Sequence<String>) {
            state.withLock { state in
                for name in names { state.add(name) }
            }
            signal.raise()
        }

        func take() -> Taken {
            state.withLock { state in
                defer { state = Taken(hasRole: state.hasRole) }
                return state
            }
        }

        /// Records the loss of the connection that held the role.
        func loseRole() {
            state.withLock { $0.hasRole = false }
            signal.raise()
        }

        func holdRole() { state.withLock { $0.hasRole = true } }
    }
}
