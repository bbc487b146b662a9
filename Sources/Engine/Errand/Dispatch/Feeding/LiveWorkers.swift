import ErrandPostgres

/// The live workers, and the lanes that they can run.
struct LiveWorkers: Sendable {
    private struct Abilities: Hashable {
        var queues: Set<String>
        var patterns: Set<QueuePattern>
        var kinds: Set<String>
    }

    private var workers: [Int64: Abilities] = [:]
    /// The different ones: most workers are alike.
    private var abilities: Set<Abilities> = []

    /// A change of the live workers.
    struct Change {
        var hasNew = false
        var hasLost = false
    }

    /// Reads which workers live.
    ///
    /// The queues and kinds of a worker do not change while it keeps its id, so they are read once.
    mutating func refresh(on session: Session) async throws -> Change {
        let ids = try await session.query(Statements.liveWorkers, []).map { try $0.int64(0) }
        let live = Set(ids)
        let known = workers.count
        workers = workers.filter { live.contains($0.key) }
        var change = Change(hasLost: workers.count < known)
        let new = ids.filter { workers[$0] == nil }
        if !new.isEmpty {
            change.hasNew = true
            for row in try await session.query(Statements.abilities, [.int64Array(new)]) {
                let served = try row.textArray("queues").map(QueuePattern.init)
                workers[try row.int64("id")] = Abilities(
                    queues: Set(served.filter { !$0.isPattern }.map(\.text)),
                    patterns: Set(served.filter(\.isPattern)),
                    kinds: Set(try row.textArray("kinds")))
            }
        }
        if change.hasNew || change.hasLost { abilities = Set(workers.values) }
        return change
    }

    /// Returns whether a live worker can run the lane's jobs.
    func canRun(_ lane: Lane) -> Bool {
        let kind = lane.capability
        return abilities.contains { worker in
            worker.kinds.contains(kind)
                && (worker.queues.contains(lane.queue)
                    || worker.patterns.contains { $0.matches(lane.queue) })
        }
    }
}
