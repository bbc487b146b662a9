import ErrandPostgres
import ErrandRedis
import Synchronization

/// Fills the ready windows in Redis from PostgreSQL.
///
/// It reads each lane from its last position (``LaneCursor``) when a window runs low, on a notice
/// of PostgreSQL or Redis, when a delayed job becomes due, and every second for jobs without a
/// notice. One feeder runs at a time; two would be harmless.
struct Feeder: Sendable {
    /// Thrown when another process may have become the feeder.
    struct LockLost: Error, CustomStringConvertible {
        var description: String { "the connection that held the leader's lock was lost" }
    }

    /// The requests that wake the feeder.
    final class Requests: Sendable {
        let signal = Signal()

        struct Taken {
            /// The lanes with new due jobs.
            var lanes: Set<Lane> = []
            /// The lanes with new delayed jobs.
            var later: Set<Lane> = []
            /// The lanes with jobs that wait again, and the earliest due time of these.
            var again: [Lane: Instant] = [:]
            var all = false
            var hasLock = true
        }

        private let state = Mutex(Taken())

        /// Adds requests: a lane's name, with the suffix `later` for a delayed job or `again` for a
        /// job that waits again; or `*`.
        func add(_ names: some Sequence<String>) {
            state.withLock { state in
                for name in names {
                    if name.hasSuffix(Lane.later) {
                        if let lane = Lane(name: name.dropLast(Lane.later.count)) {
                            state.later.insert(lane)
                        }
                    } else if let lane = Lane(name: name) {
                        state.lanes.insert(lane)
                    } else if let (lane, since) = Lane.again(name) {
                        state.again[lane] = min(state.again[lane] ?? since, since)
                    } else {
                        state.all = true
                    }
                }
            }
            signal.raise()
        }

        func take() -> Taken {
            state.withLock { state in
                defer { state = Taken(hasLock: state.hasLock) }
                return state
            }
        }

        /// Records the loss of the connection that held the lock.
        func loseLock() {
            state.withLock { $0.hasLock = false }
            signal.raise()
        }

        func holdLock() { state.withLock { $0.hasLock = true } }
    }

    let session: Session
    let window: ReadyWindow
    let requests: Requests
    let pollInterval: Duration
    let log: Log
    /// Called after each successful round.
    let onFed: @Sendable () -> Void

    /// The seconds for which delayed jobs are read ahead, so that they are staged when due.
    private static let lookAhead = 1.2
    /// The maximum number of rows of one lane and priority in one query.
    private static let readLimit = 5_000
    private static let lookAheadLimit: Int32 = 20_000

    /// The state of the feeder; without it, the feeder reads from the start.
    private struct Memory {
        var lanes: [Lane: [LaneCursor]] = [:]
        var marks: [Lane: Int] = [:]
        /// The last known size of each window.
        var sizes: [Lane: Int] = [:]
        /// The jobs that become due soon, the earliest last.
        var upcoming: [(lane: Lane, job: Staged)] = []
        /// A lower bound of the time by which PostgreSQL's clock is ahead of the local one.
        var clockSkew: Duration = .zero
        var unknownLanes: Set<Lane> = []
        var notices = LaneNotices()

        /// Returns whether the last query of a lane left due jobs unread.
        func isBehind(_ lane: Lane) -> Bool { lanes[lane]?.contains(where: \.isBehind) ?? false }
    }

    /// Stages jobs until the task is cancelled; throws if PostgreSQL or Redis becomes unreachable.
    func run() async throws {
        var memory = Memory()
        try await refreshLanes(&memory)
        _ = try await window.remembers()
        _ = try await window.connection.send(Command("DEL", window.keys.behind))
        var nextPoll = ContinuousClock.now
        var nextReset = ContinuousClock.now + .seconds(60)
        while !Task.isCancelled {
            let asked = requests.take()
            guard asked.hasLock else { throw LockLost() }
            let isPoll = ContinuousClock.now >= nextPoll
            if asked.all { try await refreshLanes(&memory) }
            if isPoll {
                try await window.connection.confirmMaster()
                try await poll(&memory)
                nextPoll = .now + pollInterval
            }
            let unknown = asked.lanes.union(asked.later).subtracting(memory.lanes.keys)
            if !unknown.isEmpty, !asked.all, !isPoll { try await refreshLanes(&memory) }
            for (lane, since) in asked.again {
                for priority in memory.lanes[lane, default: []].indices {
                    memory.lanes[lane]?[priority].returned(at: since)
                }
            }
            if !asked.again.isEmpty { try await sweep(&memory) }
            let isAll = isPoll || asked.all
            let started = ContinuousClock.now
            // Look ahead first: a job that becomes due between the two queries is then in both
            // rather than in neither.
            let ahead = isAll ? Set(memory.lanes.keys) : asked.later
            try await lookAhead(ahead, &memory)
            let unannounced = memory.notices.unannounced(of: memory.lanes.keys)
            try await advance(ahead.union(asked.lanes).union(unannounced), &memory)
            try await memory.notices.count(asked.lanes.union(asked.later), on: session)
            try await stageUpcoming(&memory)
            if started >= nextReset {
                nextReset = try await readAgain(&memory)
            }
            onFed()
            var wait = min(nextPoll - .now, untilUpcoming(memory))
            let isLooking = memory.notices.unannounced(of: memory.lanes.keys)
                .contains { !memory.isBehind($0) }
            if isLooking { wait = min(wait, LaneNotices.lookInterval) }
            if wait > .zero { await requests.signal.wait(upTo: wait) }
        }
    }

    /// Checks once a second for live workers, for data loss in Redis, and for missed jobs.
    private func poll(_ memory: inout Memory) async throws {
        try await refreshLanes(&memory)
        if try await !window.remembers() {
            log.warning("Redis has lost the staged ids; staging them again from PostgreSQL")
            for lane in memory.lanes.keys { memory.lanes[lane] = Self.freshCursors }
            memory.marks = [:]
            memory.upcoming = []
        }
        try await sweep(&memory)
        let lanes = Set(memory.lanes.keys)
        let behind = lanes.filter { memory.isBehind($0) }
        try await memory.notices.settle(lanes, behind: behind, on: session)
    }

    private static var freshCursors: [LaneCursor] {
        [LaneCursor](repeating: LaneCursor(), count: Priority.allCases.count)
    }

    /// Reads all lanes from the start; returns the next time, so that it takes at most 2 % of it.
    private func readAgain(_ memory: inout Memory) async throws -> ContinuousClock.Instant {
        let started = ContinuousClock.now
        for lane in memory.lanes.keys { memory.lanes[lane] = Self.freshCursors }
        try await advance(Set(memory.lanes.keys), &memory)
        let took = ContinuousClock.now - started
        try await reportUnknownLanes(&memory)
        return .now + max(.seconds(60), took * 50)
    }

    /// Reads the lanes that live workers can run.
    private func refreshLanes(_ memory: inout Memory) async throws {
        let rows = try await session.query(Statements.liveLanes, [])
        var live: Set<Lane> = []
        for row in 0..<rows.count {
            if let lane = Lane(queue: try rows.text(row, 0), capability: try rows.text(row, 1)) {
                live.insert(lane)
            }
        }
        let isNew = !live.subtracting(memory.lanes.keys).isEmpty
        for lane in live where memory.lanes[lane] == nil { memory.lanes[lane] = Self.freshCursors }
        for lane in memory.lanes.keys where !live.contains(lane) { memory.lanes[lane] = nil }
        if isNew { try await reportUnknownLanes(&memory) }
    }

    /// Warns once for each lane with waiting jobs that no live worker can run.
    private func reportUnknownLanes(_ memory: inout Memory) async throws {
        let rows = try await session.query(Statements.lanesInUse, [])
        for row in 0..<rows.count {
            let lane = Lane(
                queue: try rows.text(row, 0), kind: try rows.text(row, 1),
                version: Int(try rows.int16(row, 2)))
            guard memory.lanes[lane] == nil, memory.unknownLanes.insert(lane).inserted else {
                continue
            }
            log.warning(
                "jobs of kind \(lane.kind) (arguments version \(lane.version)) wait in queue "
                    + "\(lane.queue), but no live worker of it can run them: start one that has "
                    + "this kind, or cancel them")
        }
    }

    // MARK: Due jobs

    private struct Reading {
        var lane: Lane
        var priority: Int
        var from: LaneCursor
        var room: Int
    }

    /// Reads lanes until their windows are full or no more jobs are due.
    private func advance(_ lanes: Set<Lane>, _ memory: inout Memory) async throws {
        var pending = lanes.filter { memory.lanes[$0] != nil }
        while !pending.isEmpty, !Task.isCancelled {
            let list = Array(pending)
            let readings = try await readings(of: list, &memory)
            let full = try await read(readings, &memory)
            // Lanes that returned the maximum number of rows and whose windows have room.
            pending = full
        }
    }

    private func readings(of lanes: [Lane], _ memory: inout Memory) async throws -> [Reading] {
        // A window with few ids has room for one more query. Not asking Redis saves a round trip
        // when a lone job arrives.
        let asked = lanes.filter {
            memory.marks[$0] != nil || memory.sizes[$0, default: 0] > window.limit / 2
        }
        let counts = Dictionary(uniqueKeysWithValues: zip(asked, try await window.counts(asked)))
        for (lane, count) in counts { memory.sizes[lane] = count.total }
        var readings: [Reading] = []
        for lane in lanes {
            guard let cursors = memory.lanes[lane] else { continue }
            for (priority, cursor) in cursors.enumerated() {
                let room = window.limit - (counts[lane]?.upTo[priority] ?? 0)
                readings.append(
                    Reading(
                        lane: lane, priority: priority, from: cursor,
                        room: min(max(room, 0), Self.readLimit)))
            }
        }
        return readings
    }

    /// Reads several lanes in one statement and stages the jobs.
    ///
    /// - Returns: the lanes that have more due jobs.
    private func read(_ readings: [Reading], _ memory: inout Memory) async throws -> Set<Lane> {
        let open = readings.filter { $0.room > 0 }
        var found: [[Staged]] = Array(repeating: [], count: open.count)
        if !open.isEmpty {
            let rows = try await session.query(
                Statements.advance,
                [
                    .int32Array(open.indices.map(Int32.init)),
                    .textArray(open.map(\.lane.queue)), .textArray(open.map(\.lane.kind)),
                    .int16Array(open.map { Int16($0.lane.version) }),
                    .int16Array(open.map { Int16($0.priority) }),
                    .timestampArray(open.map(\.from.read.at)),
                    .int64Array(open.map(\.from.read.id)),
                    .int32Array(open.map { Int32($0.room) }),
                ])
            for row in 0..<rows.count {
                let n = Int(try rows.int32(row, 0))
                found[n].append(
                    Staged(
                        id: try rows.int64(row, 1), priority: Int16(open[n].priority),
                        runAt: try rows.timestamp(row, 2)))
            }
        }
        var batches: [(lane: Lane, jobs: [Staged])] = []
        var full: Set<Lane> = []
        for (reading, jobs) in zip(open, found) {
            let isFull = jobs.count == reading.room
            memory.lanes[reading.lane]?[reading.priority].advanced(
                to: jobs.last.map { LanePlace(at: $0.runAt, id: $0.id) }, wasFull: isFull)
            memory.notices.read(jobs.count, in: reading.lane)
            if !jobs.isEmpty { batches.append((reading.lane, jobs)) }
            if isFull { full.insert(reading.lane) }
        }
        for reading in readings where reading.room == 0 {
            memory.lanes[reading.lane]?[reading.priority].isBehind = true
        }
        memory.sizes.merge(try await window.stage(batches)) { $1 }
        try await mark(Set(readings.map(\.lane)), &memory)
        return full
    }

    /// Marks for the fast path which lanes have more due jobs than those in their windows.
    private func mark(_ lanes: Set<Lane>, _ memory: inout Memory) async throws {
        var changes: [(lane: Lane, best: Int?)] = []
        for lane in lanes {
            let best = memory.lanes[lane]?.firstIndex(where: \.isBehind)
            if memory.marks[lane] != best {
                memory.marks[lane] = best
                changes.append((lane, best))
            }
        }
        try await window.mark(behind: changes)
    }

    // MARK: Delayed jobs

    /// Reads the jobs of the given lanes that become due before the next poll.
    private func lookAhead(_ lanes: Set<Lane>, _ memory: inout Memory) async throws {
        let lanes = lanes.filter { memory.lanes[$0] != nil }
        guard !lanes.isEmpty else { return }
        let list = Array(lanes)
        let rows = try await session.query(
            Statements.lookAhead,
            [
                .int32Array(list.indices.map(Int32.init)), .textArray(list.map(\.queue)),
                .textArray(list.map(\.kind)), .int16Array(list.map { Int16($0.version) }),
                .int32(Self.lookAheadLimit), .double(Self.lookAhead),
            ])
        memory.upcoming.removeAll { lanes.contains($0.lane) }
        for row in 0..<rows.count {
            memory.upcoming.append(
                (
                    list[Int(try rows.int32(row, 0))],
                    Staged(
                        id: try rows.int64(row, 2), priority: try rows.int16(row, 1),
                        runAt: try rows.timestamp(row, 3))
                ))
        }
        guard rows.count > 0 else { return }
        // PostgreSQL read its clock before the answer arrived, so this is a lower bound: no job is
        // staged before it can be claimed.
        memory.clockSkew = try rows.timestamp(rows.count - 1, 4).durationSince(.now())
        memory.upcoming.sort { $0.job.runAt > $1.job.runAt }
    }

    private func untilUpcoming(_ memory: Memory) -> Duration {
        guard let next = memory.upcoming.last else { return .seconds(3_600) }
        return next.job.runAt.durationSince(.now()) - memory.clockSkew
    }

    /// Stages the jobs that became due if the windows have room; the others are read in order.
    private func stageUpcoming(_ memory: inout Memory) async throws {
        let now = Instant.now().adding(memory.clockSkew)
        var due: [Lane: [Staged]] = [:]
        while let next = memory.upcoming.last, next.job.runAt <= now {
            due[next.lane, default: []].append(next.job)
            memory.upcoming.removeLast()
        }
        for (lane, jobs) in due { _ = try await window.offer(jobs, to: lane) }
    }

    // MARK: Missed jobs

    /// Stages the jobs between the first live row and the last position of each lane again.
    private func sweep(_ memory: inout Memory) async throws {
        let horizon = try await session.query(Statements.horizon, []).timestamp(0, 0)
        var swept: [(lane: Lane, priority: Int, cursor: LaneCursor)] = []
        for (lane, cursors) in memory.lanes {
            for (priority, cursor) in cursors.enumerated() where cursor.read > cursor.living {
                swept.append((lane, priority, cursor))
            }
        }
        guard !swept.isEmpty else { return }
        let room = Int32(window.limit * 2)
        let rows = try await session.query(
            Statements.sweep,
            [
                .int32Array(swept.indices.map(Int32.init)),
                .textArray(swept.map(\.lane.queue)), .textArray(swept.map(\.lane.kind)),
                .int16Array(swept.map { Int16($0.lane.version) }),
                .int16Array(swept.map { Int16($0.priority) }),
                .timestampArray(swept.map(\.cursor.living.at)),
                .int64Array(swept.map(\.cursor.living.id)),
                .timestampArray(swept.map(\.cursor.read.at)),
                .int64Array(swept.map(\.cursor.read.id)),
                .int32Array(swept.map { _ in room }),
            ])
        var found: [[Staged]] = Array(repeating: [], count: swept.count)
        for row in 0..<rows.count {
            let n = Int(try rows.int32(row, 0))
            found[n].append(
                Staged(
                    id: try rows.int64(row, 1), priority: Int16(swept[n].priority),
                    runAt: try rows.timestamp(row, 2)))
        }
        for (entry, jobs) in zip(swept, found) {
            memory.lanes[entry.lane]?[entry.priority].swept(
                first: jobs.first.map { LanePlace(at: $0.runAt, id: $0.id) }, horizon: horizon)
        }
        try await window.stage(
            zip(swept, found).map { (lane: $0.lane, jobs: $1) }
                .filter { !$0.jobs.isEmpty })
    }
}
