import ErrandPostgres

/// Claims where some queue is limited.
///
/// Whoever claims for a limited queue locks its row first, counts what is claimed by the slots,
/// and takes what is free; slots and claims are one transaction. Unlike other claims it is synced
/// to disk: a claim that a crash of the server forgets would let one job too many run. Whoever
/// finds the row locked leaves the queue alone for a moment.
extension Dispatcher {
    /// Claims what was popped, queue by queue, handing over each part as it comes.
    func claim(
        _ groups: [(queue: LocalQueue, ids: [Int64])], under limits: LimitBoard.Limits,
        _ hand: ([ClaimedJob]) -> Void
    ) async throws {
        let free = groups.filter { limits[$0.queue.options.name] == nil }.flatMap(\.ids)
        if !free.isEmpty { hand(try await claim(free, outside: limits.keys.sorted())) }
        for (queue, ids) in groups {
            guard limits[queue.options.name] != nil else { continue }
            hand(try await claim(ids, of: queue))
        }
    }

    /// How long until a held queue may be popped from again.
    func untilRelease(_ limits: LimitBoard.Limits) -> Duration {
        guard !limits.isEmpty else { return .seconds(3_600) }
        let now = ContinuousClock.now
        let ends = queues.compactMap(\.heldUntil).filter { $0 > now }
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
            // Others claim for this queue just now, one after the other.
            let rows = try await claims.query(left.sql, left.parameters)
            try await putBack(rows, of: queue, .contended, since: frees)
            return []
        } catch let error as PostgresError {
            unsure.append((sorted, token))
            throw error
        }
    }

    /// Lets what may not start yet be popped again, later.
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
            // The feeder finds them; what was claimed is run.
        }
    }

    func inOrder(_ jobs: [ClaimedJob]) -> [ClaimedJob] {
        jobs.sorted { ($0.priority, $0.runAt, $0.id) < ($1.priority, $1.runAt, $1.id) }
    }
}
