import ErrandPostgres

/// Claims for limited queues.
///
/// A claim for a limited queue locks the queue's row, counts the occupied slots, and takes the free
/// ones, in one transaction. If the row is locked, the claimer skips the queue for a moment. Unlike
/// other claims, this one is flushed to disk: if a crash of the server lost it, too many jobs could
/// run.
extension Claimer {
    /// Claims the popped jobs, queue by queue, and passes on each part at once.
    func claim(
        _ groups: [(queue: LocalQueue, ids: [Int64])], under limits: LimitCache.Limits,
        _ hand: ([ClaimedJob]) -> Void
    ) async throws {
        let free = groups.filter { limits[$0.queue.options.name] == nil }.flatMap(\.ids)
        if !free.isEmpty { hand(try await claim(free, outside: limits.keys.sorted())) }
        for (queue, ids) in groups {
            guard limits[queue.options.name] != nil else { continue }
            hand(try await claim(ids, of: queue))
        }
    }

    /// Returns the time until the first held queue may be popped again.
    func untilRelease(_ limits: LimitCache.Limits) -> Duration {
        guard !limits.isEmpty else { return .seconds(3_600) }
        let now = ContinuousClock.now
        let ends = lanes.open.compactMap(\.queue.heldUntil).filter { $0 > now }
        return ends.map { $0 - now }.min() ?? .seconds(3_600)
    }

    private func claim(_ ids: [Int64], of queue: LocalQueue) async throws -> [ClaimedJob] {
        let token = Int64.random(in: .min ... .max)
        let sorted = ids.sorted()
        let frees = queue.frees
        let name = Parameter.text(queue.options.name)
        let left = Statement(Statements.leftWaiting, [.int64Array(sorted), name])
        do {
            let answers = try await claims.pipeline([
                Statement(Statements.lockLimit, [name]),
                Statement(
                    Statements.claimLimited,
                    [.int64Array(sorted), .int64(worker.id), .int64(token), name]),
                left,
            ])
            let jobs = inOrder(try ClaimedJob.read(answers[1], token: token))
            try await putBack(answers[2], of: queue, .full, since: frees)
            return jobs
        } catch let error as PostgresError where error.sqlState == "55P03" {
            // Another worker is claiming for this queue.
            let rows = try await claims.query(left.sql, left.parameters)
            try await putBack(rows, of: queue, .contended, since: frees)
            return []
        } catch let error as PostgresError {
            unsure.append(Unsure(ids: sorted, token: token))
            throw error
        }
    }

    /// Stages jobs that may not start yet again, to be popped later.
    private func putBack(
        _ rows: Rows, of queue: LocalQueue, _ cause: KnownLimit.Pause, since frees: UInt64
    ) async throws {
        guard let first = rows.first else { return }
        let untilStart = try first.optionalDouble("until_start") ?? 0
        let pause = untilStart > 0 ? KnownLimit.Pause.rate(untilStart) : cause
        queue.hold(for: pause.length, since: frees)
        var lanes: [Lane: [Staged]] = [:]
        for row in 0..<rows.count {
            lanes[try Lane(rows, row), default: []].append(try Staged(rows, row))
        }
        do { try await window.stage(lanes.map { (lane: $0.key, jobs: $0.value) }) } catch {
            // The feeder stages them; run the claimed jobs.
        }
    }

    func inOrder(_ jobs: [ClaimedJob]) -> [ClaimedJob] {
        jobs.sorted { ($0.priority, $0.runAt, $0.id) < ($1.priority, $1.runAt, $1.id) }
    }
}
