import ErrandPostgres

/// Which lanes the feeder knows.
extension Feeder {
    /// The time without a job after which a lane may be forgotten, and how many are looked at at
    /// once.
    private static let memoryTime = Duration.seconds(30)
    private static let forgetLimit = 1_000
    private static let comparisonInterval = Duration.seconds(5)
    /// The maximum number of new lanes to look for at once, because requests named them, and the
    /// minimum interval between two readings of the workers for such lanes.
    private static let newLaneLimit = 1_000
    private static let refreshInterval = Duration.milliseconds(100)
    /// The maximum number of lanes that one search names in warnings.
    private static let warningLimit = 20

    /// Reads which workers live, and drops the lanes that none of them can run.
    func refreshWorkers(_ memory: inout Memory) async throws {
        let change = try await memory.workers.refresh(on: session)
        if change.hasNew { memory.nextSearch = .now }
        guard change.hasLost else { return }
        for lane in memory.lanes.keys where !memory.workers.canRun(lane) { memory.forget(lane) }
    }

    /// Finds lanes with jobs that are not known yet, so that it takes at most 5 % of the time.
    ///
    /// Warns once for each lane that no live worker can run.
    func search(_ memory: inout Memory) async throws {
        let started = ContinuousClock.now
        var unknown: Set<Lane> = []
        for lane in try await Self.lanesWithJobs(except: memory.lanes.keys, on: session) {
            if memory.workers.canRun(lane) { memory.use(lane) } else { unknown.insert(lane) }
        }
        warn(of: unknown.subtracting(memory.unknownLanes))
        memory.unknownLanes = unknown
        memory.nextSearch = .now + max(pollInterval, (.now - started) * 20)
    }

    /// Adds the lanes in which only clients have staged jobs, and has Redis remove those of an
    /// earlier feeder or of workers that left.
    func compareLanes(_ memory: inout Memory) async throws {
        var stale: [Lane] = []
        for lane in try await window.lanesInUse() where memory.lanes[lane] == nil {
            if memory.workers.canRun(lane) { memory.use(lane) } else { stale.append(lane) }
        }
        try await window.forget(stale)
        memory.nextComparison = .now + Self.comparisonInterval
    }

    /// Returns the lanes that have jobs, except some that are known.
    static func lanesWithJobs(
        except known: some Collection<Lane>, on session: Session
    ) async throws -> [Lane] {
        let known = known.sorted {
            ($0.queue, $0.kind, $0.version) < ($1.queue, $1.kind, $1.version)
        }
        let bounds =
            [Lane(queue: "", kind: "", version: 0)] + known
            + [Lane(queue: "\u{7F}", kind: "", version: 0)]
        let (starts, ends) = (bounds.dropLast(), bounds.dropFirst())
        return try await session.query(Statements.lanesBetween, starts.columns + ends.columns)
            .map { try Lane($0) }
    }

    /// Adds the lanes that requests named, if they have jobs and a live worker can run them.
    ///
    /// Any login can name any lane. The search finds those that are left out.
    func learn(_ named: Set<Lane>, _ memory: inout Memory) async throws {
        var new: [Lane] = []
        for lane in named {
            if memory.lanes[lane] == nil { new.append(lane) } else { memory.usedAt[lane] = .now }
        }
        guard !new.isEmpty else { return }
        // Perhaps of a worker that has just started.
        if ContinuousClock.now >= memory.nextRefresh,
            !new.allSatisfy({ memory.workers.canRun($0) })
        {
            memory.nextRefresh = .now + Self.refreshInterval
            try await refreshWorkers(&memory)
        }
        new = new.filter { memory.workers.canRun($0) }
        if new.count > Self.newLaneLimit { memory.wholeRounds.request() }
        let asked = Array(new.prefix(Self.newLaneLimit))
        guard !asked.isEmpty else { return }
        for row in try await session.query(Statements.lanesThatHaveJobs, asked.columns) {
            memory.use(try Lane(row))
        }
    }

    private func warn(of lanes: Set<Lane>) {
        for lane in lanes.prefix(Self.warningLimit) {
            log.warning(
                "jobs of kind \(lane.kind) (arguments version \(lane.version)) wait in queue "
                    + "\(lane.queue), but no live worker of it can run them: start one that has "
                    + "this kind, or cancel them")
        }
        let rest = lanes.count - Self.warningLimit
        guard rest > 0 else { return }
        log.warning(
            "the same is true of \(rest) more combinations of queue, kind and version: "
                + "'errand doctor' lists those with the most jobs")
    }

    /// Forgets lanes that have had no job for a while, unless they have delayed ones.
    func forgetUnused(_ memory: inout Memory) async throws {
        let bound = ContinuousClock.now - Self.memoryTime
        let unused = memory.usedAt.filter { lane, time in
            time < bound && !memory.isBehind(lane) && !memory.notices.isPolled(lane)
        }
        let lanes = Array(unused.keys.prefix(Self.forgetLimit))
        guard !lanes.isEmpty else { return }
        let places = lanes.indices.flatMap { n in
            memory.lanes[lanes[n], default: []].enumerated().map { (n, $0, $1.living) }
        }
        let rows = try await session.query(
            Statements.lanesWithJobs,
            [.int32Array(places.map { Int32($0.0) })] + places.map { lanes[$0.0] }.columns
                + [.int16Array(places.map { Int16($0.1) })] + places.map(\.2).columns)
        var used: Set<Int> = []
        for row in 0..<rows.count { used.insert(Int(try rows.int32(row, 0))) }
        for (n, lane) in lanes.enumerated() {
            if used.contains(n) { memory.use(lane) } else { memory.forget(lane) }
        }
        try await window.forget(lanes.indices.filter { !used.contains($0) }.map { lanes[$0] })
    }
}
