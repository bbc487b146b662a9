import ErrandPostgres

/// The starts of lanes in `errand.lane_starts`, which the feeder moves as jobs finish.
///
/// A start may lag: a reader then passes a few entries of finished jobs.
struct LaneStarts: Sendable {
    /// A lane and a priority.
    struct Part: Hashable, Sendable {
        var lane: Lane
        var priority: Int
    }

    /// The number of jobs after which the starts of a lane are moved at the next poll.
    static let jobLimit = 1_000
    /// The time after which those of all lanes are moved.
    static let interval = Duration.seconds(10)

    private var places: [Part: LanePlace] = [:]
    /// The number of jobs read in each lane since its starts were moved.
    private var jobs: [Lane: Int] = [:]
    private var nextMove = ContinuousClock.now

    /// Records that jobs of a lane were read.
    mutating func read(_ count: Int, in lane: Lane) {
        if count > 0 { jobs[lane, default: 0] += count }
    }

    /// Whether those of all lanes are due.
    func isDue(at now: ContinuousClock.Instant) -> Bool { now >= nextMove }

    /// Returns the lanes to move, and their priorities with jobs that have begun since.
    ///
    /// - Parameter hasManyDead: whether to return all priorities of all lanes if they are due: jobs
    ///   that clients staged may have begun without a reading of the feeder.
    mutating func due(
        _ lanes: [Lane: [LaneCursor]], hasManyDead: Bool, at now: ContinuousClock.Instant
    ) -> [Part] {
        let isAll = isDue(at: now)
        let names = isAll ? Array(lanes.keys) : jobs.filter { $0.value >= Self.jobLimit }.map(\.key)
        let parts = names.flatMap { lane in
            lanes[lane, default: []].enumerated().compactMap { priority, cursor in
                let part = Part(lane: lane, priority: priority)
                let isMoved = places[part, default: .start] < cursor.read
                return isMoved || isAll && hasManyDead ? part : nil
            }
        }
        if isAll, !parts.isEmpty { nextMove = now + Self.interval }
        return parts
    }

    /// Records that a start was moved.
    mutating func moved(_ part: Part, to place: LanePlace) {
        places[part] = place
        jobs[part.lane] = nil
    }

    mutating func forget(_ lane: Lane) {
        for priority in 0..<Priority.allCases.count {
            places[Part(lane: lane, priority: priority)] = nil
        }
        jobs[lane] = nil
    }
}

extension Feeder {
    /// Moves the starts of lanes whose jobs have begun since.
    func moveStarts(_ memory: inout Memory) async throws {
        let parts = try await dueStarts(&memory)
        try await move(parts, upTo: memory.horizon, isWhole: false, &memory)
    }

    private func dueStarts(_ memory: inout Memory) async throws -> [LaneStarts.Part] {
        let now = ContinuousClock.now
        let hasManyDead =
            memory.starts.isDue(at: now)
            ? try await session.query(Statements.hasManyDeadJobs).bool(0, 0) : false
        return memory.starts.due(memory.lanes, hasManyDead: hasManyDead, at: now)
    }

    /// The maximum number of lanes whose jobs no worker can run, and whose starts are moved.
    private static let unknownStartLimit = 1_000

    /// Looks for the starts of all lanes again, and forgets those of unknown ones.
    ///
    /// A start may have been wrong: when the clock was set back, or a transaction of a hidden role
    /// was open for long.
    func findStarts(_ memory: inout Memory) async throws {
        let horizon = try await session.query(Statements.horizon).timestamp(0, 0)
        _ = try await session.query(Statements.forgetStarts, memory.lanes.keys.columns)
        memory.starts = LaneStarts()
        let parts = try await dueStarts(&memory)
        try await move(parts, upTo: horizon, isWhole: true, &memory)
        // Bulk operations may finish many jobs that no worker can run.
        let others = memory.unknownLanes.prefix(Self.unknownStartLimit).flatMap { lane in
            (0..<Priority.allCases.count).map { LaneStarts.Part(lane: lane, priority: $0) }
        }
        try await move(others, upTo: horizon, isWhole: false, &memory)
    }

    private func move(
        _ parts: [LaneStarts.Part], upTo horizon: Instant, isWhole: Bool, _ memory: inout Memory
    ) async throws {
        guard !parts.isEmpty else { return }
        let rows = try await session.query(
            Statements.moveStarts,
            [.int32Array(parts.indices.map(Int32.init))] + parts.map(\.lane).columns
                + [
                    .int16Array(parts.map { Int16($0.priority) }), .timestamp(horizon),
                    .bool(isWhole),
                ])
        for row in 0..<rows.count {
            let place = LanePlace(at: try rows.timestamp(row, 1), id: try rows.int64(row, 2))
            memory.starts.moved(parts[Int(try rows.int32(row, 0))], to: place)
        }
    }
}
