package import ErrandPostgres
package import ErrandRecurrence

/// Runs the schedules of a database.
///
/// Any number of schedulers and of `errand schedule tick` may run at once: each occurrence runs
/// once. To save cost, one scheduler at a time works and the others stand by.
package struct Scheduler: Sendable {
    private let session: Session
    private let standby: Session?
    private let clock: ScheduleClock
    private let zones: ZoneDatabase
    private let log: Log
    private let timeout: Duration
    private let wake = Signal()
    private let leadership: LeadershipRole
    private let stats: WorkerStats?

    /// How early the jobs of occurrences that allow overlap are created, so that they are committed
    /// when they are due.
    private static let ahead = Duration.seconds(2)
    private static let pollInterval = Duration.seconds(1)
    /// How often to check whether the job that a held occurrence waits for has finished.
    private static let settleInterval = Duration.milliseconds(250)
    private static let refreshInterval = Duration.seconds(60)
    /// How often to retry a due schedule that another process has locked.
    private static let lockedInterval = Duration.milliseconds(20)

    /// - Parameter timeout: the time without a query after which another process takes over.
    package init(
        database: String, clock: ScheduleClock = .server, pooling: Pooling = .detected,
        zones: ZoneDatabase, timeout: Duration, log: Log, stats: WorkerStats? = nil
    ) {
        var settings = SessionSettings(
            database, name: Role.scheduler.sessionName, setup: Self.setup)
        settings.pooling = pooling
        self.init(
            settings, clock: clock, zones: zones, timeout: timeout,
            leadership: LeadershipRole(.scheduler), log: log, stats: stats)
    }

    static let setup = Statements.poolSetup + ["SET statement_timeout = '60s'"]

    /// - Parameters:
    ///   - settings: the settings of its session.
    ///   - standby: the session over which it asks for the lock while another process holds it.
    init(
        _ settings: SessionSettings, standby: Session? = nil, clock: ScheduleClock = .server,
        zones: ZoneDatabase, timeout: Duration, leadership: LeadershipRole, log: Log,
        stats: WorkerStats? = nil
    ) {
        session = Session(settings)
        self.standby = standby
        self.clock = clock
        self.zones = zones
        self.timeout = timeout
        self.leadership = leadership
        self.log = log
        self.stats = stats
    }

    /// Runs as the scheduler, or stands by, until the task is cancelled.
    package func run() async {
        let loop = LeaderLoop(
            leadership: leadership, session: session, standby: standby, timeout: timeout, log: log,
            interrupted: "the scheduler was interrupted", resolved: "the scheduler runs again",
            stats: stats)
        await loop.run { onPassed in
            log.debug("this process is the scheduler, with time-zone data \(zones.version)")
            try await lead(onPassed)
        }
    }

    private struct LockLost: Error, CustomStringConvertible {
        var description: String { "the connection that held the role of the scheduler was lost" }
    }

    /// Processes all due occurrences once.
    package func tick() async throws -> PassSummary {
        let pass = SchedulePass(session: session, zones: zones, clock: clock, log: log)
        let now = try await pass.read(ahead: .zero).now
        try await pass.refreshPlans(at: now)
        let results = OccurrenceResults(session: session, clock: clock, log: log)
        try await results.all(at: now)
        let done = try await pass.fire(at: now)
        // Release held occurrences now that an earlier run has made way, not at the next tick.
        if done.held > 0 { _ = try await results.releaseHeld(at: now) }
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
            results: OccurrenceResults(session: session, clock: clock, log: log), zones: zones,
            ahead: clock.isReal ? Self.ahead : .zero, log: log)
        var next = ContinuousClock.now
        // A due schedule that was skipped is locked by another process: do not retry it earlier.
        var timeout = ContinuousClock.now
        while !Task.isCancelled {
            guard !lost.isStopped else { throw LockLost() }
            let reading = try await round.pass.read(ahead: round.ahead)
            let asked = ContinuousClock.now
            if let exact = reading.exact, exact <= reading.now, asked >= timeout {
                // First, because these occurrences must be decided on at their due time.
                let done = try await round.pass.fireUrgent(at: reading.now)
                if done.schedules == 0 { timeout = .now + Self.lockedInterval }
                if done.held > 0 { next = min(next, .now + Self.settleInterval) }
            } else if asked >= next {
                next = .now + (try await round.run(reading))
            } else {
                let exact = reading.exact.map {
                    max(asked + clock.wait(for: $0.durationSince(reading.now)), timeout)
                }
                let end = min(next, exact ?? next)
                await wake.wait(upTo: end - .now)
                // Woken early: a schedule was changed.
                if ContinuousClock.now < end { next = .now }
            }
            onPassed()
        }
    }

    /// The work of a scheduler about once a second.
    private struct Round {
        let pass: SchedulePass
        let results: OccurrenceResults
        let zones: ZoneDatabase
        let ahead: Duration
        let log: Log
        private var nextRefresh = ContinuousClock.now
        private var place = OccurrenceResults.Place()

        init(
            pass: SchedulePass, results: OccurrenceResults, zones: ZoneDatabase, ahead: Duration,
            log: Log
        ) {
            self.pass = pass
            self.results = results
            self.zones = zones
            self.ahead = ahead
            self.log = log
        }

        /// - Returns: the wait before the next round.
        mutating func run(_ reading: SchedulePass.Reading) async throws -> Duration {
            if zones.refresh() {
                log.info("time-zone data is now \(zones.version)")
                nextRefresh = .now
            }
            if ContinuousClock.now >= nextRefresh {
                try await pass.refreshPlans(at: reading.now)
                nextRefresh = .now + Scheduler.refreshInterval
            }
            // Read one page per round, as there may be a million open jobs.
            place =
                try await results.page(after: place, at: reading.now) ?? OccurrenceResults.Place()
            let isHolding = try await results.releaseHeld(at: reading.now)
            if let head = reading.head, head <= reading.now.adding(ahead) {
                let done = try await pass.fireSome(at: reading.now, ahead: ahead)
                // Process part of a large number, so that punctual schedules need not wait for all.
                if done.hasMore { return .zero }
                if done.summary.held > 0 { return Scheduler.settleInterval }
            }
            if isHolding { return Scheduler.settleInterval }
            return ahead > .zero ? Self.untilHalf(after: reading.now) : Scheduler.pollInterval
        }

        /// Returns the time until halfway between two seconds; jobs start at whole seconds.
        private static func untilHalf(after now: Instant) -> Duration {
            let second: Int64 = 1_000_000
            let passed = ((now.microseconds + second / 2) % second + second) % second
            let left = second - passed
            return .microseconds(left < second / 10 ? left + second : left)
        }
    }
}
