import ErrandPostgres

/// The reading of jobs that become due soon.
extension Feeder {
    /// The seconds for which delayed jobs are read ahead, so that they are staged when due.
    private static let lookAhead = 1.2
    private static let lookAheadLimit: Int32 = 20_000

    /// Reads the jobs of the given lanes that become due before the next poll.
    func lookAhead(_ lanes: Set<Lane>, _ memory: inout Memory) async throws {
        let lanes = lanes.filter { memory.lanes[$0] != nil }
        guard !lanes.isEmpty else { return }
        let list = Array(lanes)
        let rows = try await session.query(
            Statements.lookAhead,
            [.int32Array(list.indices.map(Int32.init))] + list.columns
                + [.int32(Self.lookAheadLimit), .double(Self.lookAhead)])
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
        for lane in Set(memory.upcoming.map(\.lane)) { memory.usedAt[lane] = .now }
        guard rows.count > 0 else { return }
        // PostgreSQL read its clock before the answer arrived, so this is a lower bound: no job is
        // staged before it can be claimed.
        memory.clockSkew = try rows.timestamp(rows.count - 1, 4).durationSince(.now())
        memory.upcoming.sort { $0.job.runAt > $1.job.runAt }
    }

    func untilUpcoming(_ memory: Memory) -> Duration {
        guard let next = memory.upcoming.last else { return .seconds(3_600) }
        return next.job.runAt.durationSince(.now()) - memory.clockSkew
    }

    /// Stages the jobs that became due if the windows have room; the others are read in order.
    func stageUpcoming(_ memory: inout Memory) async throws {
        let now = Instant.now().adding(memory.clockSkew)
        var due: [Lane: [Staged]] = [:]
        while let next = memory.upcoming.last, next.job.runAt <= now {
            due[next.lane, default: []].append(next.job)
            memory.upcoming.removeLast()
        }
        for (lane, jobs) in due { _ = try await window.offer(jobs, to: lane) }
    }
}
