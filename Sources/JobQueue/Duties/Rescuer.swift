import Postgres

/// Brings back the jobs of workers that died: the attempt counts, an error record says what
/// happened, and a job that has used up its attempts so goes to the dead letters.
struct Rescuer: Sendable {
    let session: Session
    let offer: @Sendable (Staged, Lane) -> Void
    let log: Log

    /// Frees the jobs of workers whose lease has run out.
    func rescueSilent() async throws {
        let silent = try await session.query(Statements.silentWorkers, [])
        guard silent.count > 0 else { return }
        var dead: [(id: Int64, reason: String)] = []
        for row in silent {
            let id = try row.int64("id")
            let name = "worker \(id) (\(try row.text("host")), pid \(try row.int32("pid")))"
            let seen = try row.timestamp("last_seen_at")
            dead.append((id, "\(name) died or hung while it held this job; last seen \(seen)"))
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

    private func free(_ dead: [(id: Int64, reason: String)]) async throws {
        let parameters: [Parameter] = [
            .int64Array(dead.map(\.id)), .textArray(dead.map(\.reason)),
        ]
        // Together, so that no worker is forgotten while its jobs are still in its name.
        let answers = try await session.pipeline([
            Statement(Statements.buryRescued, parameters),
            Statement(Statements.rescue, parameters),
            Statement(Statements.forgetWorkers, [.int64Array(dead.map(\.id))]),
        ])
        let buried = try answers[0].int64(0, 0)
        let freed = answers[1]
        for row in 0..<freed.count {
            offer(
                Staged(
                    id: try freed.int64(row, 0), priority: try freed.int16(row, 4),
                    runAt: try freed.timestamp(row, 5)),
                Lane(
                    queue: try freed.text(row, 1), kind: try freed.text(row, 2),
                    version: Int(try freed.int16(row, 3))))
        }
        log.info("\(freed.count) jobs of dead workers wait again, \(buried) are dead letters")
    }
}
