import ErrandPostgres
import ErrandRedis

/// Fills the ready windows in Redis from PostgreSQL.
///
/// It reads each lane from its last position (``LaneCursor``) when a window runs low, on a notice
/// of PostgreSQL or Redis, when a delayed job becomes due, and every second for jobs without a
/// notice. It knows only the lanes that have jobs, or had some a moment ago: others cost nothing.
/// One feeder runs at a time; two would be harmless.
struct Feeder: Sendable {
    /// Thrown when another process may have become the feeder.
    struct LockLost: Error, CustomStringConvertible {
        var description: String { "the connection that held the role of the feeder was lost" }
    }

    let session: Session
    let window: ReadyWindow
    let requests: Requests
    let pollInterval: Duration
    /// The number of notices of a lane in a second above which it is polled.
    let noticeLimit: Int
    let log: Log
    /// Called after each successful round.
    let onFed: @Sendable () -> Void

    /// The state of the feeder; without it, the feeder reads from the start.
    struct Memory {
        var workers = LiveWorkers()
        /// The known lanes.
        var lanes: [Lane: [LaneCursor]] = [:]
        /// When a known lane was last named or had a job.
        var usedAt: [Lane: ContinuousClock.Instant] = [:]
        var marks: [Lane: Int] = [:]
        /// The last known size of each window.
        var sizes: [Lane: Int] = [:]
        /// The jobs that become due soon, the earliest last.
        var upcoming: [(lane: Lane, job: Staged)] = []
        /// A lower bound of the time by which PostgreSQL's clock is ahead of the local one.
        var clockSkew: Duration = .zero
        /// The time before which no new row can appear.
        var horizon = Instant.negativeInfinity
        /// The lanes with jobs that no live worker can run, as the last search found them.
        var unknownLanes: Set<Lane> = []
        var notices: LaneNotices
        /// The rounds of all lanes, and the sweeps, that requests demanded, and the times from
        /// which to sweep.
        var wholeRounds = RequestThrottle(minimum: .milliseconds(20))
        var sweeps = RequestThrottle(minimum: .zero)
        var since: [Lane: Instant] = [:]
        /// The time before which no request makes the feeder read the workers.
        var nextRefresh = ContinuousClock.now
        var writers = OpenWriters()
        var starts = LaneStarts()
        /// When to look for unknown lanes, to read all lanes from the start, and to compare the
        /// known lanes with those that Redis has in use.
        var nextSearch = ContinuousClock.now
        var nextReset = ContinuousClock.now + .seconds(60)
        var nextComparison = ContinuousClock.now

        /// Returns whether the last query of a lane left due jobs unread.
        func isBehind(_ lane: Lane) -> Bool { lanes[lane]?.contains(where: \.isBehind) ?? false }

        /// The polled lanes whose windows have room.
        var lookedAt: Set<Lane> {
            notices.lanes.filter { lanes[$0] != nil && !isBehind($0) }
        }

        /// Adds a lane that a live worker can run, or notes that it is in use.
        mutating func use(_ lane: Lane) {
            if lanes[lane] == nil {
                lanes[lane] = Feeder.freshCursors
                unknownLanes.remove(lane)
            }
            usedAt[lane] = .now
        }

        mutating func forget(_ lane: Lane) {
            lanes[lane] = nil
            usedAt[lane] = nil
            sizes[lane] = nil
            notices.forget(lane)
            starts.forget(lane)
        }
    }

    static var freshCursors: [LaneCursor] {
        [LaneCursor](repeating: LaneCursor(), count: Priority.allCases.count)
    }

    /// Stages jobs until the task is cancelled; throws if PostgreSQL or Redis becomes unreachable.
    func run() async throws {
        var memory = Memory(notices: LaneNotices(limit: noticeLimit))
        try await memory.notices.reset(on: session)
        _ = try await memory.workers.refresh(on: session)
        try await search(&memory)
        _ = try await window.remembers()
        _ = try await window.connection.send(Command("DEL", window.keys.behind))
        var nextPoll = ContinuousClock.now
        while !Task.isCancelled {
            let asked = requests.take()
            guard asked.hasRole else { throw LockLost() }
            if asked.all { memory.wholeRounds.request() }
            let started = ContinuousClock.now
            let isPoll = started >= nextPoll
            let isDemanded = memory.wholeRounds.begins(at: started)
            if isDemanded {
                try await refreshWorkers(&memory)
                try await search(&memory)
            }
            if isPoll {
                try await window.connection.confirmMaster()
                try await poll(&memory)
                nextPoll = .now + pollInterval
            }
            try await feed(asked, isAll: isPoll || isDemanded, &memory)
            if isDemanded { memory.wholeRounds.ended(from: started, at: .now) }
            onFed()
            let wait = wait(until: nextPoll, memory)
            if wait > .zero { await requests.signal.wait(upTo: wait) }
        }
    }

    /// The time until the next round that nobody requests.
    private func wait(until nextPoll: ContinuousClock.Instant, _ memory: Memory) -> Duration {
        let now = ContinuousClock.now
        return [
            nextPoll - now, untilUpcoming(memory), memory.notices.interval(of: memory.lookedAt),
            memory.wholeRounds.wait(at: now), memory.sweeps.wait(at: now),
        ].compactMap(\.self).min() ?? .zero
    }

    /// Stages the jobs of the requested lanes, or of all known ones.
    private func feed(_ asked: Requests.Taken, isAll: Bool, _ memory: inout Memory) async throws {
        try await learn(asked.named, &memory)
        try await stage(asked.jobs, &memory)
        // Look ahead first: a job that becomes due between the two queries is then in both rather
        // than in neither.
        let ahead = isAll ? Set(memory.lanes.keys) : asked.later
        try await lookAhead(ahead, &memory)
        let polled = memory.lookedAt
        let missed = memory.demandedSweep(of: asked.since)
        let places = memory.places(of: polled)
        let lanes = ahead.union(asked.lanes).union(asked.since.keys).union(polled)
        let ended = try await advance(lanes, &memory)
        let started = ContinuousClock.now
        try await sweep(missed + (ended.map { memory.missed(since: $0, before: places) } ?? []))
        if !missed.isEmpty { memory.sweeps.ended(from: started, at: .now) }
        try await memory.notices.count(
            asked.named.filter { memory.lanes[$0] != nil }, on: session)
        try await stageUpcoming(&memory)
        if ContinuousClock.now >= memory.nextReset { try await readAgain(&memory) }
    }

    /// Checks once a second for live workers, for data loss in Redis, and for missed jobs.
    private func poll(_ memory: inout Memory) async throws {
        try await refreshWorkers(&memory)
        if ContinuousClock.now >= memory.nextSearch {
            try await search(&memory)
            try await forgetUnused(&memory)
        }
        if ContinuousClock.now >= memory.nextComparison { try await compareLanes(&memory) }
        if try await !window.remembers() {
            log.warning("Redis has lost the staged ids; staging them again from PostgreSQL")
            for lane in memory.lanes.keys { memory.lanes[lane] = Self.freshCursors }
            memory.marks = [:]
            memory.upcoming = []
        }
        try await sweep(&memory)
        try await moveStarts(&memory)
        let behind = Set(memory.lanes.keys).filter { memory.isBehind($0) }
        try await memory.notices.settle(behind: behind, on: session)
    }

    /// Reads all lanes from the start, so that it takes at most 2 % of the time.
    private func readAgain(_ memory: inout Memory) async throws {
        let started = ContinuousClock.now
        for lane in memory.lanes.keys { memory.lanes[lane] = Self.freshCursors }
        _ = try await advance(Set(memory.lanes.keys), &memory)
        try await findStarts(&memory)
        memory.nextReset = .now + max(.seconds(60), (.now - started) * 50)
    }
}
