package import ErrandPostgres
package import ErrandRecurrence

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
    private let seat: LeadSeat
    private let vitals: Vitals?

    /// Occurrences whose overlap is allowed get their jobs this much ahead; so the way through
    /// the database is over when they are due.
    private static let ahead = Duration.seconds(2)
    private static let pollInterval = Duration.seconds(1)
    /// How often to look while an occurrence waits for the end of a job.
    private static let settleInterval = Duration.milliseconds(250)
    private static let refreshInterval = Duration.seconds(60)
    /// How often to look whether a schedule that is due is still locked by somebody.
    private static let lockedInterval = Duration.milliseconds(20)

    /// - Parameter patience: a leader that asks nothing for so long has lost its place.
    package init(
        database: String, clock: ScheduleClock = .server, pooling: Pooling = .detected,
        zones: ZoneDatabase, patience: Duration, log: Log, vitals: Vitals? = nil
    ) {
        var settings = SessionSettings(
            database, name: Lead.scheduler.sessionName, setup: Self.setup)
        settings.pooling = pooling
        self.init(
            settings, clock: clock, zones: zones, patience: patience, seat: LeadSeat(.scheduler),
            log: log, vitals: vitals)
    }

    static let setup = Statements.poolSetup + ["SET statement_timeout = '60s'"]

    /// - Parameter settings: of its session.
    init(
        _ settings: SessionSettings, clock: ScheduleClock = .server, zones: ZoneDatabase,
        patience: Duration, seat: LeadSeat, log: Log, vitals: Vitals? = nil
    ) {
        session = Session(settings)
        self.clock = clock
        self.zones = zones
        self.patience = patience
        self.seat = seat
        self.log = log
        self.vitals = vitals
    }

    /// Leads whenever it can, until the task is cancelled.
    package func run() async {
        let loop = LeadLoop(
            seat: seat, session: session, patience: patience, log: log,
            interrupted: "the schedules were interrupted", resolved: "schedules run again",
            vitals: vitals)
        await loop.run { onPassed in
            log.debug("leading: schedules run here, with time-zone data \(zones.version)")
            try await lead(onPassed)
        }
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
        try await settling.all(at: now)
        let done = try await pass.fire(at: now)
        // What a run has just made way for need not wait for the next tick.
        if done.held > 0 { _ = try await settling.releaseHeld(at: now) }
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
        var round = Round(
            pass: SchedulePass(session: session, zones: zones, clock: clock, log: log),
            settling: Settling(session: session, clock: clock, log: log), zones: zones,
            ahead: clock.isReal ? Self.ahead : .zero, log: log)
        var next = ContinuousClock.now
        // What is due and was passed over is locked by somebody: not looked at before this.
        var patience = ContinuousClock.now
        while !Task.isCancelled {
            guard !lost.isStopped else { throw LockLost() }
            let reading = try await round.pass.read(ahead: round.ahead)
            let asked = ContinuousClock.now
            if let exact = reading.exact, exact <= reading.now, asked >= patience {
                // Before all else: what is decided on at its time is late from now on.
                let done = try await round.pass.fireUrgent(at: reading.now)
                if done.schedules == 0 { patience = .now + Self.lockedInterval }
                if done.held > 0 { next = min(next, .now + Self.settleInterval) }
            } else if asked >= next {
                next = .now + (try await round.run(reading))
            } else {
                let exact = reading.exact.map {
                    max(asked + clock.wait(for: $0.durationSince(reading.now)), patience)
                }
                let end = min(next, exact ?? next)
                await wake.wait(upTo: end - .now)
                // Woken before the time: a schedule was changed.
                if ContinuousClock.now < end { next = .now }
            }
            onPassed()
        }
    }

    /// What a leader does about once a second.
    private struct Round {
        let pass: SchedulePass
        let settling: Settling
        let zones: ZoneDatabase
        let ahead: Duration
        let log: Log
        private var nextRefresh = ContinuousClock.now
        private var place = Settling.Place()

        init(
            pass: SchedulePass, settling: Settling, zones: ZoneDatabase, ahead: Duration, log: Log
        ) {
            self.pass = pass
            self.settling = settling
            self.zones = zones
            self.ahead = ahead
            self.log = log
        }

        /// - Returns: how long to wait until the next.
        mutating func run(_ reading: SchedulePass.Reading) async throws -> Duration {
            if zones.refresh() {
                log.info("time-zone data is now \(zones.version)")
                nextRefresh = .now
            }
            if ContinuousClock.now >= nextRefresh {
                try await pass.refreshPlans(at: reading.now)
                nextRefresh = .now + Scheduler.refreshInterval
            }
            // One page of them each time: a backlog of a million open jobs is read in turns.
            place = try await settling.page(after: place, at: reading.now) ?? Settling.Place()
            let isHolding = try await settling.releaseHeld(at: reading.now)
            if let head = reading.head, head <= reading.now.adding(ahead) {
                let done = try await pass.fireSome(at: reading.now, ahead: ahead)
                // Of many a part each time, so that none that must be on time waits for them all.
                if done.hasMore { return .zero }
                if done.summary.held > 0 { return Scheduler.settleInterval }
            }
            if isHolding { return Scheduler.settleInterval }
            return ahead > .zero ? Self.untilHalf(after: reading.now) : Scheduler.pollInterval
        }

        /// Until the clock stands between two seconds: at the whole ones jobs start.
        private static func untilHalf(after now: Instant) -> Duration {
            let second: Int64 = 1_000_000
            let passed = ((now.microseconds + second / 2) % second + second) % second
            let left = second - passed
            return .microseconds(left < second / 10 ? left + second : left)
        }
    }
}
