import FoundationEssentials
import ErrandPostgres
import Synchronization

/// A role that one process at a time holds for a database.
package enum Role: String, Sendable, CaseIterable {
    /// Stages jobs, recovers those of dead workers, and applies retention.
    case feeder
    /// Creates the jobs of schedules.
    case scheduler

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

    /// Takes the role for the process if nobody holds it, and returns whether it did.
    ///
    /// It is held until `session` ends. The connection of a hung leader is terminated, so that the
    /// next attempt succeeds.
    ///
    /// - Parameter timeout: the time without a query after which a leader is considered hung. A
    ///   live one sends a query every second.
    func take(on session: Session, timeout: Duration) async throws -> Bool {
        try await session.requireOwnProcess(for: "a leader")
        state.withLock { $0 = State() }
        let signatures = try await session.query(
            Statements.takeLeadership,
            [
                .text(role.rawValue), .optional(worker?.id), .text(host),
                .int32(ProcessInfo.processInfo.processIdentifier),
            ])
        guard let signature = try signatures.first?.text(0) else {
            try await endUnresponsive(on: session, timeout)
            return false
        }
        state.withLock { $0.signature = signature }
        return true
    }

    /// Returns whether nobody holds the role, over a session that is not to hold it.
    func isFree(on session: Session, timeout: Duration) async throws -> Bool {
        let isLed = try await session.query(Statements.isLed, [.text(role.rawValue)]).bool(0, 0)
        if isLed { try await endUnresponsive(on: session, timeout) }
        return !isLed
    }

    private func endUnresponsive(on session: Session, _ timeout: Duration) async throws {
        let seconds = Double(max(timeout, .seconds(3)).milliseconds) / 1000
        _ = try await session.query(
            Statements.endUnresponsiveLeader, [.text(role.rawValue), .double(seconds)])
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

/// The loop of a candidate for a role: it works while it holds the role.
///
/// One process holds it and the others stand by. This saves cost; correctness does not depend on
/// it.
struct LeaderLoop: Sendable {
    let leadership: LeadershipRole
    /// The session by whose life the role is held.
    let session: Session
    /// The session over which a standby looks for a leader, so that ``session`` needs no connection
    /// until there is none; nil for ``session`` itself.
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
            // Release the role with the session: another process may reach the servers.
            await session.close()
            try? await Task.sleep(for: pause ?? (failures > 1 ? Self.retreat : .milliseconds(50)))
        }
        await session.close()
    }

    private func take() async throws -> Bool {
        if let standby {
            guard try await leadership.isFree(on: standby, timeout: timeout) else { return false }
        }
        let isTaken = try await leadership.take(on: session, timeout: timeout)
        if !isTaken, standby != nil { await session.close() }
        return isTaken
    }

    private func lead(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask { try await leadership.resignation() }
            defer { group.cancelAll() }
            do { try await group.next() } catch let error as LeadershipRole.Resigned {
                // Release the role at once, before the work on other sessions has finished.
                group.cancelAll()
                await session.close()
                throw error
            }
        }
    }
}
