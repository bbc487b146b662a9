import Postgres
package import Recurrence

/// Runs the schedules of a database.
///
/// Any number of these may run, with any number of `errand schedule tick` beside them: each
/// occurrence is made once. To save cost one at a time leads and the others stand by.
package struct Scheduler: Sendable {
    private let session: Session
    private let clock: ScheduleClock
    private let zones: ZoneDatabase
    private let log: Log
    private let patience: Duration
    private let wake = Signal()

    /// "schedule" as a number: which advisory lock it is.
    static let lock: Int64 = 0x73_63_68_65_64_75_6c_65
    /// Occurrences whose overlap is allowed get their jobs this much ahead; so the way through
    /// the database is over when they are due.
    private static let ahead = Duration.seconds(2)
    private static let pollInterval = Duration.seconds(1)
    /// How often to look while an occurrence waits for the end of a job.
    private static let settleInterval = Duration.milliseconds(250)
    private static let refreshInterval = Duration.seconds(60)

    /// - Parameter patience: a leader that asks nothing for so long has lost its place.
    package init(
        database: String, clock: ScheduleClock = .server, zones: ZoneDatabase, patience: Duration,
        log: Log
    ) {
        session = Session(
            SessionSettings(
                database, name: "errand-schedule",
                setup: Statements.poolSetup + ["SET statement_timeout = '60s'"]))
        self.clock = clock
        self.zones = zones
        self.patience = patience
        self.log = log
    }

    /// Leads whenever it can, until the task is cancelled.
    package func run() async {
        let complaint = Complaint()
        var failures = 0
        while !Task.isCancelled {
            let led = ContinuousClock.now
            do {
                guard try await LeaderLock(key: Self.lock, patience: patience).take(on: session)
                else {
                    try await Task.sleep(for: Self.pollInterval)
                    continue
                }
                log.debug("leading: schedules run here, with time-zone data \(zones.version)")
                try await lead { complaint.resolved(log, "schedules run again") }
            } catch  where error is CancellationError || Task.isCancelled {
                break
            } catch {
                failures = ContinuousClock.now - led > .seconds(10) ? 1 : failures + 1
                complaint.warn(log, "the schedules were interrupted: \(error)")
            }
            // Ends the session and with it the lock: another process may be better off.
            await session.close()
            try? await Task.sleep(for: .milliseconds(min(50 << min(failures, 5), 1_000)))
        }
        await session.close()
    }

    private struct LockLost: Error, CustomStringConvertible {
        var description: String { "the connection was lost, and with it the lead" }
    }

    /// Does once what a leader does all the time: all that is due now.
    package func tick() async throws -> PassSummary {
        let pass = SchedulePass(session: session, zones: zones, clock: clock, log: log)
        let now = try await pass.read(ahead: .zero).now
        try await pass.refreshPlans(at: now)
        let settling = Settling(session: session, clock: clock, log: log)
        _ = try await settling.all(at: now)
        let done = try await pass.fire(at: now)
        // What a run has just made way for need not wait for the next tick.
        if done.held > 0 { _ = try await settling.all(at: now) }
        await session.close()
        return done
    }

    private func lead(_ onPassed: () -> Void) async throws {
        let lost = Stop()
        try await session.listen(["errand_schedules"]) { [wake] _ in
            wake.raise()
        } onReset: { [wake] in
            lost.stop()
            wake.raise()
        }
        let pass = SchedulePass(session: session, zones: zones, clock: clock, log: log)
        let ahead = clock.isReal ? Self.ahead : .zero
        var nextRefresh = ContinuousClock.now
        var place = Settling.Place()
        while !Task.isCancelled {
            guard !lost.isStopped else { throw LockLost() }
            let asked = ContinuousClock.now
            if zones.refresh() {
                log.info("time-zone data is now \(zones.version)")
                nextRefresh = asked
            }
            let reading = try await pass.read(ahead: ahead)
            if asked >= nextRefresh {
                try await pass.refreshPlans(at: reading.now)
                nextRefresh = asked + Self.refreshInterval
            }
            // One page of them each time: a backlog of a million open jobs is read in turns.
            let settled = try await Settling(session: session, clock: clock, log: log)
                .page(after: place, at: reading.now)
            place = settled.next ?? Settling.Place()
            var isHolding = settled.holds
            var exact = reading.exact
            if let head = reading.head, head <= reading.now.adding(ahead) {
                let done = try await pass.fire(at: reading.now, ahead: ahead)
                isHolding = isHolding || done.held > 0
                exact = try await pass.read(ahead: ahead).exact
            }
            onPassed()
            var wait = isHolding ? Self.settleInterval : Self.pollInterval
            if let exact {
                wait = min(wait, clock.wait(for: exact.durationSince(reading.now)) - (.now - asked))
            }
            if wait > .zero { await wake.wait(upTo: wait) }
        }
    }
}
