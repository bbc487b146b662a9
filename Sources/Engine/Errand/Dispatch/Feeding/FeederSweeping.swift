import ErrandPostgres

/// The reading of jobs that lie before the feeder's position: their wake-up was lost, they wait
/// again, or they were committed late.
extension Feeder {
    /// A part of a lane.
    struct Part {
        var lane: Lane
        var priority: Int
        var from: LanePlace
        var to: LanePlace
    }

    /// Stages the jobs between the first live row and the last position of each lane again.
    func sweep(_ memory: inout Memory) async throws {
        let horizon = try await session.query(Statements.horizon, []).timestamp(0, 0)
        var parts: [Part] = []
        for (lane, cursors) in memory.lanes {
            for (priority, cursor) in cursors.enumerated() where cursor.read > cursor.living {
                parts.append(
                    Part(lane: lane, priority: priority, from: cursor.living, to: cursor.read))
            }
        }
        for (part, jobs) in try await sweep(parts) {
            if !jobs.isEmpty { memory.usedAt[part.lane] = .now }
            memory.lanes[part.lane]?[part.priority].swept(
                first: jobs.first.map { LanePlace(at: $0.runAt, id: $0.id) }, horizon: horizon)
        }
        memory.horizon = horizon
    }

    /// Stages the jobs of parts of lanes, and returns them by part.
    @discardableResult
    func sweep(_ parts: [Part]) async throws -> [(part: Part, jobs: [Staged])] {
        guard !parts.isEmpty else { return [] }
        let room = Int32(window.limit * 2)
        let rows = try await session.query(
            Statements.sweep,
            [.int32Array(parts.indices.map(Int32.init))] + parts.map(\.lane).columns
                + [.int16Array(parts.map { Int16($0.priority) })]
                + parts.map(\.from).columns + parts.map(\.to).columns
                + [.int32Array(parts.map { _ in room })])
        var found: [[Staged]] = Array(repeating: [], count: parts.count)
        for row in 0..<rows.count {
            let n = Int(try rows.int32(row, 0))
            found[n].append(
                Staged(
                    id: try rows.int64(row, 1), priority: Int16(parts[n].priority),
                    runAt: try rows.timestamp(row, 2)))
        }
        try await window.stage(
            zip(parts, found).filter { !$1.isEmpty }.map { (lane: $0.lane, jobs: $1) })
        return zip(parts, found).map { (part: $0, jobs: $1) }
    }
}

extension Feeder.Memory {
    /// The last positions of lanes.
    func places(of lanes: Set<Lane>) -> [Lane: [LanePlace]] {
        var places: [Lane: [LanePlace]] = [:]
        for lane in lanes { places[lane] = self.lanes[lane]?.map(\.read) }
        return places
    }

    /// Returns the parts of lanes to sweep now, because requests gave these times or earlier
    /// requests gave others.
    mutating func demandedSweep(of times: [Lane: Instant]) -> [Feeder.Part] {
        since.merge(times.filter { lanes[$0.key] != nil }) { min($0, $1) }
        if !since.isEmpty { sweeps.request() }
        guard sweeps.begins(at: .now) else { return [] }
        defer { since = [:] }
        return missed(since: since)
    }

    /// Returns the parts of lanes that were read already and may have new jobs since these times.
    mutating func missed(since times: [Lane: Instant]) -> [Feeder.Part] {
        var parts: [Feeder.Part] = []
        for (lane, time) in times {
            for priority in lanes[lane, default: []].indices {
                lanes[lane]?[priority].returned(at: time)
            }
            parts += missed(since: time, before: places(of: [lane]))
        }
        return parts
    }

    /// Returns the parts of lanes between a time and the last positions.
    func missed(since time: Instant, before places: [Lane: [LanePlace]]) -> [Feeder.Part] {
        let start = LanePlace(at: time, id: 0)
        return places.flatMap { lane, places in
            places.enumerated().compactMap { priority, end in
                let from = max(start, lanes[lane]?[priority].living ?? start)
                guard from <= end else { return nil }
                return Feeder.Part(lane: lane, priority: priority, from: from, to: end)
            }
        }
    }
}
