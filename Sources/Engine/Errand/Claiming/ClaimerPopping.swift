import ErrandRedis

/// Which ids a claimer pops.
extension Claimer {
    /// A queue, the lanes of it to pop from, and the number of jobs to claim.
    typealias Wanted = (queue: LocalQueue, lanes: [Lane], count: Int)

    /// The number of lanes from which a claimer pops without asking which of them have ids, and the
    /// number of lanes that it asks for.
    private static let directLanes = 64
    private static let sampleSize = 128

    /// The interval in which the watch of new lanes is renewed, and that of reading all lanes in
    /// use, which drops those that are no longer in use.
    private static let watchInterval = Duration.seconds(1)
    private static let readingInterval = Duration.seconds(30)

    /// Learns of new lanes in use, and has this worker notified of further ones.
    func watch() async throws {
        let now = ContinuousClock.now
        guard now >= nextWatch else { return }
        let isWhole = now >= nextReading
        let watched = try await window.watch(worker: worker.id, isWhole: isWhole)
        nextWatch = now + Self.watchInterval
        if let all = watched.all {
            nextReading = now + Self.readingInterval
            // A Redis that lost its memory says nothing of the lanes: the feeder stages them again.
            if watched.addedAt == 0 { lanes.use(all) } else { lanes.replace(with: all) }
            addedAt = watched.addedAt
        }
        try await learn(watched.addedAt)
    }

    /// Learns of the new lanes in use, if one was added at another time than the last known one.
    private func learn(_ time: Int64) async throws {
        guard time != addedAt else { return }
        let new = try await window.newLanes(of: worker.id)
        lanes.use(new)
        // The rest follows with the next watch.
        if new.count < ReadyWindow.newLaneLimit { addedAt = time }
    }

    /// Waits for room while all queues with lanes in use are full, or for a new lane of another.
    func waitForRoom(in open: [WorkerLanes.Open], _ known: LimitCache.Limits) async throws {
        guard share != .saturated, !lanes.isSingle else {
            return await room.wait(upTo: min(.milliseconds(500), untilRelease(known)))
        }
        guard open.allSatisfy({ $0.queue.wakeWhenWanted() }) else { return }
        _ = try await popOne([], known)
    }

    /// Returns the number of jobs to claim for each queue in this round, by weight.
    func shares(_ open: [WorkerLanes.Open]) -> [Wanted] {
        let open = open.compactMap { entry -> Wanted? in
            let wanted = entry.queue.wanted()
            return wanted > 0 ? (queue: entry.queue, lanes: entry.lanes, count: wanted) : nil
        }
        let total = open.reduce(0) { $0 + $1.queue.options.weight }
        return open.map { queue, lanes, count in
            let share = LocalQueue.claimLimit * queue.options.weight / total
            return (queue, lanes, min(count, max(share, 1)))
        }
    }

    /// Pops ids of the queues, or waits for one.
    func pop(
        _ wanted: [Wanted], of open: [WorkerLanes.Open], _ known: LimitCache.Limits
    ) async throws -> Popped {
        turn &+= 1
        let popped = try await popAvailable(wanted, known)
        guard popped.ids.isEmpty, share != .saturated else { return popped }

        let wantedNames = Set(wanted.map(\.queue.options.name))
        let full = open.filter { !wantedNames.contains($0.queue.options.name) }
        guard full.allSatisfy({ $0.queue.wakeWhenWanted() }) else { return popped }
        return try await popOne(wanted, known) ?? popped
    }

    private func popAvailable(_ all: [Wanted], _ known: LimitCache.Limits) async throws -> Popped {
        let count = all.reduce(0) { $0 + $1.lanes.count }
        let isSample = count > Self.directLanes
        let wanted = isSample ? try await sample(all) : all
        guard !wanted.isEmpty else { return Popped(counts: all.map { ($0.queue, 0) }) }
        let answer = try await window.pop(
            wanted.map { queue, lanes, count in
                ReadyWindow.Demand(
                    lanes: lanes, count: min(count, known[queue.options.name]?.most ?? count))
            }, isSample: isSample)
        var popped = Popped()
        for ((queue, _, _), ids) in zip(wanted, answer.ids) {
            popped.ids += ids
            if !known.isEmpty, !ids.isEmpty { popped.groups.append((queue, ids)) }
            popped.counts.append((queue, ids.count))
        }
        // The popped ids first: they are in memory only.
        if answer.addedAt != addedAt { nextWatch = .now }
        return popped
    }

    /// Returns those of many queues that have ids, as far as a sample of the lanes shows.
    private func sample(_ wanted: [Wanted]) async throws -> [Wanted] {
        let names = Set(try await window.someFilled(Self.sampleSize).map(\.queue))
        return shares(
            wanted.filter { names.contains($0.queue.options.name) }
                .map { WorkerLanes.Open(queue: $0.queue, lanes: $0.lanes) })
    }

    /// Waits for one id of the queues, or for a new lane in use.
    private func popOne(_ wanted: [Wanted], _ known: LimitCache.Limits) async throws -> Popped? {
        try await window.connection.confirmMaster()
        let lanes = wanted.flatMap(\.lanes)
        // A different one comes first each time.
        let first = lanes.isEmpty ? 0 : turn % lanes.count
        // Older servers round times below a millisecond to zero, which means no limit.
        let woken = try await window.popOne(
            from: Array(lanes[first...] + lanes[..<first]), worker: worker.id,
            waiting: max(min(timeout, untilRelease(known)), .milliseconds(1)))
        switch woken {
        case .nothing: return Popped()
        case .lane(let lane):
            self.lanes.use([lane])
            return nil
        case .id(let id, let key):
            var lone = Popped(ids: [id])
            if !known.isEmpty, let lane = window.keys.lane(ofWindow: key),
                let queue = self.lanes.queue(named: lane.queue)
            {
                lone.groups = [(queue, lone.ids)]
            }
            return lone
        }
    }
}
