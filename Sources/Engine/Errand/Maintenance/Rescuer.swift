import ErrandPostgres

/// Recovers the jobs of dead workers.
///
/// The lost attempt counts and gets an error record. A job whose last attempt was lost becomes a
/// dead letter.
package struct Rescuer: Sendable {
    private let session: MaintenanceSession
    private let offer: @Sendable (Staged, Lane) -> Void
    private let log: Log

    init(
        _ session: MaintenanceSession, offer: @escaping @Sendable (Staged, Lane) -> Void, log: Log
    ) {
        self.session = session
        self.offer = offer
        self.log = log
    }

    /// The text by which an error record shows that the worker died.
    package static let heldWhenDead = "died or hung while it held this job"

    /// Recovers the jobs of workers whose lease has run out.
    func rescueUnresponsive() async throws {
        let unresponsive = try await session.query(Statements.unresponsiveWorkers, [])
        guard unresponsive.count > 0 else { return }
        var dead: [(id: Int64, reason: String)] = []
        for row in unresponsive {
            let id = try row.int64("id")
            let name = "worker \(id) (\(try row.text("host")), pid \(try row.int32("pid")))"
            let seen = try row.timestamp("last_seen_at")
            dead.append((id, "\(name) \(Self.heldWhenDead); last seen \(seen)"))
            log.warning("\(name) has sent no heartbeat since \(seen): recovering its jobs")
        }
        try await free(dead)
    }

    /// Recovers jobs claimed by workers that are not in the table of workers.
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

    /// Returns the name of a worker's sessions for handlers.
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
        log.info("recovered \(freed.count) jobs of dead workers; \(buried) became dead letters")
        if buried + freed.count == held.count {
            _ = try await session.query(Statements.forgetWorkers, [workers])
        } else {
            // Open transactions lock the other jobs: end these, and recover them in the next round.
            let names = Parameter.textArray(dead.map { Self.poolName(of: $0.id) })
            _ = try await session.query(Statements.endTransactions, [names])
        }
    }
}
