import FoundationEssentials
import ErrandPostgres
import Synchronization

/// What one process at a time does for all of a database.
package enum Lead: String, Sendable, CaseIterable {
    /// Feeding, rescuing, retention.
    case duties
    /// Running the schedules.
    case scheduler

    /// Which advisory lock it is: "errand" and "schedule" as numbers.
    package var lock: Int64 {
        switch self {
        case .duties: 0x65_72_72_61_6e_64
        case .scheduler: 0x73_63_68_65_64_75_6c_65
        }
    }

    /// How the sessions that hold or want the lock are named.
    package var sessionName: String {
        switch self {
        case .duties: "errand-feed"
        case .scheduler: "errand-schedule"
        }
    }

    /// The same for the session of a worker, so that one who stands by can be told.
    package func sessionName(of worker: Int64) -> String { "\(sessionName) \(worker)" }
}

/// Which of several processes leads in something: the one that holds an advisory lock.
struct LeaderLock: Sendable {
    let key: Int64
    /// A leader asks something every second; one that has asked nothing for so long is stopped or
    /// hangs.
    let patience: Duration

    /// Takes the lock if it is free.
    ///
    /// From a leader that asks nothing it is taken by ending its connection: the next attempt
    /// gets it.
    func take(on session: Session) async throws -> Bool {
        try await session.requireOwnProcess(for: "a leader")
        let lock = Parameter.int64(key)
        let isOurs = try await session.query("SELECT pg_try_advisory_lock($1)", [lock]).bool(0, 0)
        if isOurs { return true }
        let seconds = Double(max(patience, .seconds(3)).milliseconds) / 1000
        _ = try await session.query(Statements.endSilentLeader, [lock, .double(seconds)])
        return false
    }
}

/// A process's place in one lead: who it is, and whether it was asked to let go.
final class LeadSeat: Sendable {
    /// Ends the leading that an operator asked to end.
    struct Resigned: Error, CustomStringConvertible {
        var description: String { "an operator asked this leader to let go" }
    }

    let lead: Lead
    private let host: String
    private let worker: WorkerIdentity?
    private struct State {
        /// Of the newest signature, which lead and session it is of.
        var signature: String?
        var isAsked = false
    }

    private let state = Mutex(State())
    private let signal = Signal()

    init(_ lead: Lead, host: String = "", worker: WorkerIdentity? = nil) {
        self.lead = lead
        self.host = host
        self.worker = worker
    }

    /// Signs for the lead, on the session that has just taken its lock.
    func sign(on session: Session) async throws {
        state.withLock { $0 = State() }
        let signature = try await session.query(
            Statements.signLead,
            [
                .text(lead.rawValue), .optional(worker?.id), .text(host),
                .int32(ProcessInfo.processInfo.processIdentifier),
            ]
        ).text(0, 0)
        state.withLock { $0.signature = signature }
    }

    /// Lets go of the lead if its signature is among those that are to.
    ///
    /// One of an earlier time may have been read just before the last was given.
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

    /// Waits until it is asked to let go, and then throws.
    func resignation() async throws {
        while !state.withLock(\.isAsked) {
            try Task.checkCancellation()
            await signal.wait()
        }
        throw Resigned()
    }
}

/// Leads in one thing whenever it can: any number of processes may try, one does.
///
/// One process holds an advisory lock in PostgreSQL and the others stand by, to save cost and not
/// for correctness.
struct LeadLoop: Sendable {
    let seat: LeadSeat
    /// Holds the lock.
    let session: Session
    let patience: Duration
    let log: Log
    /// What is said of a lead that ended by itself, and of one that is well again.
    let interrupted: String
    let resolved: String
    /// Of a process that does nothing else; a worker's heart tells more.
    var vitals: Vitals?

    /// One who let go holds back for so long: whoever stands by asks every second.
    private static let restraint = Duration.seconds(3)
    private static let pollInterval = Duration.seconds(1)
    /// After a second failure in a row: longer than others wait between two attempts, so that one
    /// who reaches both servers takes over from one who does not.
    private static let retreat = Duration.milliseconds(1_500)

    /// Leads until the task is cancelled; `work` calls what it is given when a round went well.
    func run(_ work: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Void)
        async
    {
        let complaint = Complaint()
        var failures = 0
        while !Task.isCancelled {
            let led = ContinuousClock.now
            vitals?.turned()
            var pause: Duration?
            do {
                guard try await take() else {
                    vitals?.beat()
                    try await Task.sleep(for: Self.pollInterval)
                    continue
                }
                try await lead {
                    try await work {
                        complaint.resolved(log, resolved)
                        vitals?.turned()
                        vitals?.beat()
                    }
                }
            } catch  where error is CancellationError || Task.isCancelled {
                // Asked to end: connections that were interrupted for it are no news.
                break
            } catch  where error is LeadSeat.Resigned {
                log.info("letting go of the lead in \(seat.lead.rawValue), as an operator asked")
                pause = Self.restraint
            } catch {
                failures = ContinuousClock.now - led > .seconds(10) ? 1 : failures + 1
                complaint.warn(log, "\(interrupted): \(error)")
                vitals?.missedBeat("\(error)")
            }
            // Ends the session and with it the lock: another process may be better off.
            await session.close()
            try? await Task.sleep(for: pause ?? (failures > 1 ? Self.retreat : .milliseconds(50)))
        }
        await session.close()
    }

    private func take() async throws -> Bool {
        let lock = LeaderLock(key: seat.lead.lock, patience: patience)
        guard try await lock.take(on: session) else { return false }
        try await seat.sign(on: session)
        return true
    }

    private func lead(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask { try await seat.resignation() }
            defer { group.cancelAll() }
            do { try await group.next() } catch let error as LeadSeat.Resigned {
                // The lock goes at once: what is under way on other sessions may take its time.
                group.cancelAll()
                await session.close()
                throw error
            }
        }
    }
}
