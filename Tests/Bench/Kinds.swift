import FoundationEssentials
import Errand
import Synchronization

/// A job that does nothing, with about 100 bytes of arguments.
struct Noop: Job {
    static let kind = "bench.noop"
    var payload: String
}

/// The noop of the `errand` command.
struct DemoNoop: Job {
    static let kind = "demo.noop"
}

/// A job that says when it started.
struct Probe: Job {
    static let kind = "bench.probe"
    /// Its number.
    var n: Int
    /// When it was about to be enqueued (``monotonicNow()``).
    var sent: Int64
    var payload: String
}

/// A job that says how late it started.
struct Due: Job {
    static let kind = "bench.due"
    /// What it is counted with.
    var group: String
}

/// What a worker's handlers saw.
final class Diary: Sendable {
    private struct State {
        var noops = 0
        var first: Int64 = 0
        var last: Int64 = 0
        var probes: [(n: Int, sent: Int64, at: Int64)] = []
        var due: [(group: String, due: Double, at: Double)] = []
    }

    private let expected: Int
    private let stop: Stop
    private let state = Mutex(State())

    /// Raises `stop` once `expected` jobs have started.
    init(expecting expected: Int, stop: Stop) {
        self.expected = expected
        self.stop = stop
    }

    /// The kinds of the measurements, or only that of the probes.
    func kinds(onlyProbes: Bool = false) -> JobKinds {
        var kinds = JobKinds()
        kinds.handle(Probe.self) { job, _ in self.probe(job) }
        if onlyProbes { return kinds }
        kinds.handle(DemoNoop.self) { _, _ in self.noop() }
        kinds.handle(Noop.self) { _, _ in self.noop() }
        kinds.handle(Due.self) { job, context in self.due(job, context) }
        return kinds
    }

    private func noop() {
        let now = monotonicNow()
        add { state in
            if state.noops == 0 { state.first = now }
            state.last = now
            state.noops += 1
        }
    }

    private func probe(_ job: Probe) {
        let now = monotonicNow()
        add { $0.probes.append((job.n, job.sent, now)) }
    }

    /// PostgreSQL on this machine goes by the same clock.
    private func due(_ job: Due, _ context: JobContext) {
        let now = Date.now.timeIntervalSince1970
        let due = (context.occurrence?.due ?? context.dueAt).timeIntervalSince1970
        add { $0.due.append((job.group, due, now)) }
    }

    private func add(_ change: (inout sending State) -> Void) {
        let isEnd = state.withLock { state in
            change(&state)
            return state.noops + state.probes.count == expected
        }
        if isEnd { stop.stop() }
    }

    /// Writes `n sent started` for each probe, `group due started` for what says how late it was.
    func write(to path: String) throws {
        let (probes, due) = state.withLock { ($0.probes, $0.due) }
        let lines =
            probes.map { "\($0.n) \($0.sent) \($0.at)\n" }
            + due.map { "\($0.group) \($0.due) \($0.at)\n" }
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }

    var fields: [(String, Double)] {
        state.withLock { state in
            [
                ("jobs", Double(state.noops)), ("first_ns", Double(state.first)),
                ("last_ns", Double(state.last)),
                ("seconds", seconds(from: state.first, to: state.last)),
            ]
        }
    }
}
