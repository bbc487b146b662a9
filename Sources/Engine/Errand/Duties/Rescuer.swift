import ErrandPostgres

/// Brings back the jobs of workers that died: the attempt counts, an error record says what
/// happened, and a job that has used up its attempts so goes to the dead letters.
package struct Rescuer: Sendable {
    let session: Session
    let offer: @Sendable (Staged, Lane) -> Void
    let log: Log

    /// What stands in the error of a job whose worker died, and by which it is known.
    package static let heldWhenDead = "died or hung while it held this job"

    /// Frees the jobs of workers whose lease has run out.
    func rescueSilent() async throws {
        let silent = try await session.query(Statements.silentWorkers, [])
        guard silent.count > 0 else { return }
        var dead: [(id: Int64, reason: String)] = []
        for row in silent {
            let id = try row.int64("id")
            let name = "worker \(id) (\(try row.text("host")), pid \(try row.int32("pid")))"
            let seen = try row.timestamp("last_seen_at")
            dead.append((id, "\(name) \(Self.heldWhenDead); last seen \(seen)"))
            log.warning("\(name) has been silent since \(seen): its jobs are freed")
        }
        try await free(dead)
    }

    /// Frees claims that are in no worker's name.
    func rescueOrphans() async throws {
        let orphans = try await session.query(Statements.orphanedWorkers, [])
        guard orphans.count > 0 else { return }
        var dead: [(id: Int64, reason: String)] = []
        for row in orphans {
            let id = try row.int64("id")
            dead.append((id, "worker \(id) was gone while it held this job"))
        }
        try await free(dead)
    }

    /// How a worker's sessions for handlers are named.
    static func poolName(of worker: Int64) -> String { "errand-pool \(worker)" }

    private func free(_ dead: [(id: Int64, reason: String)]) async throws {
        let workers = Parameter.int64Array(dead.map(\.id))
        let held = try await session.query(Statements.heldBy, [workers]).map { try $0.int64(0) }
        let parameters: [Parameter] = [
            workers, .textArray(dead.map(\.reason)), .int64Array(held),
        ]
        let answers = try await session.pipeline([
            Statement(Statements.buryRescued, parameters),
            Statement(Statements.rescue, parameters),
        ])
        let buried = Int(try answers[0].int64(0, 0))
        let freed = answers[1]
        for row in 0..<freed.count { offer(try Staged(freed, row), try Lane(freed, row)) }
        log.info("\(freed.count) jobs of dead workers wait again, \(buried) are dead letters")
        if buried + freed.count == held.count {
            _ = try await session.query(Statements.forgetWorkers, [workers])
        } else {
            // The rest is in transactions that were left open: freed in the next round.
            let names = Parameter.textArray(dead.map { Self.poolName(of: $0.id) })
            _ = try await session.query(Statements.endTransactions, [names])
        }
    }
}
