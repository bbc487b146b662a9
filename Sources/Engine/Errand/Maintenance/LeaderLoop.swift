import FoundationEssentials
import ErrandPostgres
import Synchronization

/// A role that one process at a time holds for a database.
package enum Role: String, Sendable, CaseIterable {
    /// Stages jobs, recovers those of dead workers, and applies retention.
    case feeder
    /// Creates the jobs of schedules.
    case scheduler

    /// The key of the advisory lock: "errand" and "schedule" as numbers.
    package var lock: Int64 {
        switch self {
        case .feeder: 0x65_72_72_61_6e_64
        case .scheduler: 0x73_63_68_65_64_75_6c_65
        }
    }

    /// The name of the sessions that hold the lock, or want it without a worker.
    package var sessionName: String {
        switch self {
        case .feeder: "errand-feed"
        case .scheduler: "errand-schedule"
        }
    }

    /// The name of a worker's session that holds the lock.
    package func sessionName(of worker: Int64) -> String { "\(sessionName) \(worker)" }
}

/// The advisory lock that makes one of several processes the leader.
struct LeaderLock: Sendable {
    let key: Int64
    /// The time without a query after which a leader is considered hung.
    ///
    /// A live one sends a query every second.
    let timeout: Duration

    /// Acquires the lock if it is free, and returns whether it did.
    ///
    /// The connection of a hung leader is terminated, so that the next attempt succeeds.
    func take(on session: Session) async throws -> Bool {
        try await session.requireOwnProcess(for: "a leader")
        return try await isGranted("SELECT pg_try_advisory_lock($1)", on: session)
    }

    /// Returns whether no session holds the lock, over a session that is not to hold it.
    func isFree(on session: Session) async throws -> Bool {
        // Of its own transaction and shared: it is in the way of no other candidate for longer.
        try await isGranted("SELECT pg_try_advisory_xact_lock_shared($1)", on: session)
    }

    private func isGranted(_ attempt: String, on session: Session) async throws -> Bool {
        let lock = Parameter.int64(key)
        if try await session.query(attempt, [lock]).bool(0, 0) { return true }
        let seconds = Double(max(timeout, .seconds(3)).milliseconds) / 1000
        _ = try await session.query(Statements.endUnresponsiveLeader, [lock, .double(seconds)])
        return false
    }
}

/// A process's claim to one role: its identity, and whether it was asked to step down.
final class LeadershipRole: Sendable {
    /// Thrown when an operator asked the leader to step down.
    struct Resigned: Error, CustomStringConvertible {
        var description: String { "an operator asked this leader to step down" }
    }

    let role: Role
    private let host: String
    private let worker: WorkerIdentity?
    private struct State {
        /// The newest signature, which identifies the role and the session.
        var signature: String?
        var isAsked = false
    }

    private let state = Mutex(State())
    private let signal = Signal()

    init(_ role: Role, host: String = "", worker: WorkerIdentity? = nil) {
        self.role = role
        self.host = host
        self.worker = worker
    }

    /// Records this process as the leader, on the session that has just acquired the lock.
    func sign(on session: Session) async throws {
        state.withLock { $0 = State() }
        let signature = try await session.query(
            Statements.signLeadership,
            [
                .text(role.rawValue), .optional(worker?.id), .text(host),
                .int32(ProcessInfo.processInfo.processIdentifier),
            ]
        ).text(0, 0)
        state.withLock { $0.signature = signature }
    }

    /// Steps down if the current signature is among those of the requests.
    ///
    /// A request for an earlier signature is ignored.
    func resign(ifSigned signatures: [String]) {
        let isMeant = state.withLock { state in
            guard let signature = state.signature, signatures.contains(signature) else {
                return false
            }
            state.isAsked = true
            return true
        }
        if isMeant { signal.raise() }
    }

    /// Waits for a request to step down, then throws ``Resigned``.
    func resignation() async throws {
        while !state.withLock(\.isAsked) {
            try Task.checkCancellation()
            await signal.wait()
        }
        throw Resigned()
    }
}

/// The loop of a candidate for a role: it works while it holds the role's advisory lock.
///
/// One process holds the lock in PostgreSQL and the others stand by. This saves cost; correctness
/// does not depend on it.
struct LeaderLoop: Sendable {
    let leadership: LeadershipRole
    /// The session that holds the lock.
    let session: Session
    /// The session over which a standby asks for the lock, so that ``session`` needs no connection
    /// until the lock is free; nil for ``session`` itself.
    var standby: Session?
    let timeout: Duration
    let log: Log
    /// The log texts for a failure of the work, and for its recovery.
    let interrupted: String
    let resolved: String
    /// The stats of a process without a worker; a worker's heartbeat updates its own.
    var stats: WorkerStats?

    /// The pause after stepping down.
    ///
    /// Candidates that stand by try every second.
    private static let restraint = Duration.seconds(3)
    private static let pollInterval = Duration.seconds(1)
    /// The pause after consecutive failures: longer than the poll interval, so that a process that
    /// reaches both servers takes over from one that does not.
    private static let retreat = Duration.milliseconds(1_500)

    /// Holds the role, or stands by, until the task is cancelled.
    ///
    /// `work` calls its argument after each successful round.
    func run(_ work: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Void)
        async
    {
        let throttle = LogThrottle()
        var failures = 0
        while !Task.isCancelled {
            let led = ContinuousClock.now
            stats?.turned()
            var pause: Duration?
            do {
                guard try await take() else {
                    stats?.beat()
                    try await Task.sleep(for: Self.pollInterval)
                    continue
                }
                try await lead {
                    try await work {
                        throttle.resolved(log, resolved)
                        stats?.turned()
                        stats?.beat()
                    }
                }
            } catch  where error is CancellationError || Task.isCancelled {
                // Errors of connections that the cancellation interrupted are not logged.
                break
            } catch  where error is LeadershipRole.Resigned {
                log.info("stepping down as \(leadership.role.rawValue), as an operator requested")
                pause = Self.restraint
            } catch {
                failures = ContinuousClock.now - led > .seconds(10) ? 1 : failures + 1
                throttle.warn(log, "\(interrupted): \(error)")
                stats?.missedBeat("\(error)")
            }
            // Release the lock with the session: another process may reach the servers.
            await session.close()
            try? await Task.sleep(for: pause ?? (failures > 1 ? Self.retreat : .milliseconds(50)))
        }
        await session.close()
    }

    private func take() async throws -> Bool {
        let lock = LeaderLock(key: leadership.role.lock, timeout: timeout)
        if let standby {
            guard try await lock.isFree(on: standby) else { return false }
        }
        guard try await lock.take(on: session) else {
            if standby != nil { await session.close() }
            return false
        }
        try await leadership.sign(on: session)
        return true
    }

    private func lead(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask { try await leadership.resignation() }
            defer { group.cancelAll() }
            do { try await group.next() } catch let error as LeadershipRole.Resigned {
                // Release the lock at once, before the work on other sessions has finished.
                group.cancelAll()
                await session.close()
                throw error
            }
        }
    }
}
