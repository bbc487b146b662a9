import ErrandPostgres

/// Recovers the jobs of dead workers.
///
/// The lost attempt counts and gets an error record. A job becomes a dead letter when its last
/// attempt was lost, or when three workers died in their first moments with it alone.
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
        var dead: [Death] = []
        for row in unresponsive {
            let id = try row.int64("id")
            let name = "worker \(id) (\(try row.text("host")), pid \(try row.int32("pid")))"
            let seen = try row.timestamp("last_seen_at")
            dead.append(
                Death(
                    worker: id, reason: "\(name) \(Self.heldWhenDead); last seen \(seen)",
                    seen: seen))
            log.warning("\(name) has sent no heartbeat since \(seen): recovering its jobs")
        }
        try await free(dead)
    }

    /// Recovers jobs claimed by workers that are not in the table of workers.
    func rescueOrphans() async throws {
        let orphans = try await session.query(Statements.orphanedWorkers, [])
        guard orphans.count > 0 else { return }
        var dead: [Death] = []
        for row in orphans {
            let id = try row.int64("id")
            dead.append(Death(worker: id, reason: "worker \(id) was gone while it held this job"))
        }
        try await free(dead)
    }

    /// Returns the name of a worker's sessions for handlers.
    static func poolName(of worker: Int64) -> String { "errand-pool \(worker)" }

    private struct Death {
        var worker: Int64
        var reason: String
        /// Its last heartbeat, if it is known.
        var seen: Instant?
    }

    private func free(_ dead: [Death]) async throws {
        let workers = Parameter.int64Array(dead.map(\.worker))
        let held = try await session.query(
            Statements.heldBy, [workers, .timestampArray(dead.map(\.seen))])
        let parameters: [Parameter] = [
            workers, .textArray(dead.map(\.reason)),
            .int64Array(try held.map { try $0.int64("id") }),
            .nullableInt64Array(try held.map { try $0.optionalInt64("started_together") }),
        ]
        let answers = try await session.pipeline([
            Statement(Statements.buryRescued, parameters),
            Statement(Statements.rescue, parameters),
        ])
        let buried = Int(try answers[0].int64(0, 0))
        let freed = answers[1]
        for (place, row) in freed.enumerated() where try !row.bool("is_later") {
            offer(try Staged(freed, place), try Lane(freed, place))
        }
        log.info("recovered \(freed.count) jobs of dead workers; \(buried) became dead letters")
        if buried + freed.count == held.count {
            _ = try await session.query(Statements.forgetWorkers, [workers])
        } else {
            // Open transactions lock the other jobs: end these, and recover them in the next round.
            let names = Parameter.textArray(dead.map { Self.poolName(of: $0.worker) })
            _ = try await session.query(Statements.endTransactions, [names])
        }
    }
}
