package import ErrandPostgres
package import ErrandRecurrence

/// What one pass over the schedules did.
package struct PassSummary: Sendable, Equatable {
    /// Jobs made.
    package var enqueued = 0
    /// Occurrences that got none because an earlier run had not ended.
    package var skipped = 0
    /// Runs of times that went by unused.
    package var missed = 0
    /// Occurrences that wait for an earlier run.
    package var held = 0
    /// Schedules looked at.
    package var schedules = 0

    static func += (sum: inout Self, part: Self) {
        sum.enqueued += part.enqueued
        sum.skipped += part.skipped
        sum.missed += part.missed
        sum.held += part.held
        sum.schedules += part.schedules
    }
}

/// Decides on what is due and makes its jobs, in transactions of some hundred schedules.
///
/// Any number of these may run at once: a schedule's row is locked by one of them, and the
/// primary key of its occurrences lets each be dealt with once.
package struct SchedulePass: Sendable {
    let session: Session
    let zones: ZoneDatabase
    let clock: ScheduleClock
    let log: Log

    static let batchSize = 500
    /// Jobs that one transaction makes, about.
    private static let jobLimit = 5_000

    package init(session: Session, zones: ZoneDatabase, clock: ScheduleClock, log: Log) {
        self.session = session
        self.zones = zones
        self.clock = clock
        self.log = log
    }

    /// One decision, to be shown.
    package struct Preview: Sendable {
        package var schedule: StoredSchedule
        package var decision: Decision
    }

    /// The clock, and when there is something to do.
    package struct Reading: Sendable {
        package var now: Instant
        /// When the next occurrence is due; nil: never.
        package var head: Instant?
        /// The next that must be decided on at its time and not ahead of it, if it is near.
        package var exact: Instant?
    }

    /// Asks what time it is and when something is due.
    package func read(ahead: Duration) async throws -> Reading {
        let row = try await session.query(
            Statements.scheduleClock,
            [.optional(clock.now), .double(Double(ahead.milliseconds) / 1000)]
        )[0]
        return Reading(
            now: try row.timestamp("now"), head: try row.optionalTimestamp("head"),
            exact: try row.optionalTimestamp("exact"))
    }

    /// Has computed anew what other time-zone data or a wrong clock has left behind.
    package func refreshPlans(at now: Instant) async throws {
        let changed = try await session.query(
            Statements.refreshPlans, [.timestamp(now), .text(zones.version)]
        ).affected
        if changed > 0 {
            log.info("the next times of \(changed) schedules are computed anew")
        }
    }

    /// Deals with all that is due.
    ///
    /// - Parameter ahead: how far ahead of its time an occurrence may be decided on whose overlap
    ///   is allowed; its job then waits for the time.
    package func fire(at now: Instant, ahead: Duration = .zero) async throws -> PassSummary {
        var sum = PassSummary()
        while !Task.isCancelled {
            let part = try await fireSome(at: now, ahead: ahead)
            sum += part.summary
            guard part.hasMore else { break }
        }
        return sum
    }

    /// Deals with what has just fallen due: not with what waits for its first time, or is late.
    func fireUrgent(at now: Instant) async throws -> PassSummary {
        try await fireSome(at: now, since: now.adding(.zero - Decision.tolerance)).summary
    }

    /// Deals with some schedules in one transaction, those first that have waited longest.
    ///
    /// - Returns: what was done, and whether there may be more to do at once.
    func fireSome(
        at now: Instant, ahead: Duration = .zero, since: Instant = .negativeInfinity
    ) async throws -> (summary: PassSummary, hasMore: Bool) {
        try await session.transaction { session in
            let horizon = now.adding(ahead)
            let rows = try session.query(
                Statements.lockDueSchedules,
                [
                    .timestamp(now), .timestamp(horizon), .int32(Int32(Self.batchSize)),
                    .timestamp(since),
                ])
            guard rows.count > 0 else { return (PassSummary(), false) }
            let list = try rows.map { try StoredSchedule($0) }
            var sum = PassSummary()
            var decided: [(schedule: StoredSchedule, decision: Decision)] = []
            var unreadable: [Int64] = []
            var jobCount = 0
            for (schedule, decision) in try decisions(on: list, now, horizon: horizon, session) {
                // The rest stays as it is, for the next transaction: an outage of many schedules
                // must not become one of a million jobs.
                guard jobCount < Self.jobLimit else { break }
                sum.schedules += 1
                guard let decision else {
                    unreadable.append(schedule.id)
                    continue
                }
                decided.append((schedule, decision))
                jobCount += decision.runs.count
            }
            var firing = Firing()
            let free = try unlocked(decided.flatMap(\.decision.cancels), session)
            for (schedule, decision) in decided {
                try firing.add(
                    decision, for: schedule, cancelling: decision.cancels.filter(free.contains),
                    isRealTime: clock.isReal)
                sum.skipped += decision.skips.count
                sum.missed += decision.misses.count
                sum.held += decision.held == nil ? 0 : 1
            }
            var statements = firing.statements(plannedWith: zones.version)
            if !unreadable.isEmpty {
                statements.append(
                    Statement(
                        Statements.putOffSchedules, [.int64Array(unreadable), .timestamp(now)]))
            }
            sum.enqueued = try session.pipeline(statements)[0].count
            return (sum, sum.schedules < list.count || list.count == Self.batchSize)
        }
    }

    /// What is to be done about each; nil for one that cannot be read here.
    private func decisions(
        on list: [StoredSchedule], _ now: Instant, horizon: Instant, _ session: isolated Session
    ) throws -> some Sequence<(StoredSchedule, Decision?)> {
        let open = try openRuns(of: list, session)
        return list.lazy.map { schedule in
            let state = open[schedule.id]
            let decision = plan(schedule).map { plan in
                Decision(
                    schedule, plan, now: now, horizon: schedule.overlap == .allow ? horizon : now,
                    open: state?.runs ?? [], heldDue: state?.held)
            }
            return (schedule, decision)
        }
    }

    private func unlocked(_ jobs: [Int64], _ session: isolated Session) throws -> Set<Int64> {
        guard !jobs.isEmpty else { return [] }
        return Set(
            try session.query(Statements.lockJobs, [.int64Array(jobs)]).map { try $0.int64(0) })
    }

    private func plan(_ schedule: StoredSchedule) -> Plan? {
        do throws(JobError) { return try Plan(schedule, zones: zones) } catch {
            log.error(
                "schedule \(schedule.name) cannot be read here, and is tried again in a minute: "
                    + "\(error)")
            return nil
        }
    }

    /// What would be done at a moment, without doing it.
    package func preview(at now: Instant, limit: Int) async throws -> [Preview] {
        let rows = try await session.query(
            Statements.dueSchedules,
            [
                .timestamp(now), .timestamp(now), .int32(Int32(limit)),
                .timestamp(.negativeInfinity),
            ])
        let list = try rows.map { try StoredSchedule($0) }
        return try await session.run { session in
            try decisions(on: list, now, horizon: now, session).compactMap { schedule, decision in
                decision.map { Preview(schedule: schedule, decision: $0) }
            }
        }
    }

    private struct OpenRuns {
        var runs: [Decision.Open] = []
        var held: Instant?
    }

    /// Of those schedules for which it matters.
    private func openRuns(
        of list: [StoredSchedule], _ session: isolated Session
    ) throws -> [Int64: OpenRuns] {
        let ids = list.filter { $0.overlap != .allow }.map(\.id)
        guard !ids.isEmpty else { return [:] }
        var open: [Int64: OpenRuns] = [:]
        for row in try session.query(Statements.openOccurrences, [.int64Array(ids)]) {
            let id = try row.int64("schedule_id")
            let due = try row.timestamp("due_at")
            if try row.bool("is_held") {
                open[id, default: OpenRuns()].held = due
            } else {
                open[id, default: OpenRuns()].runs.append(
                    Decision.Open(
                        due: due, job: try row.int64("job_id"),
                        isWaiting: try row.bool("is_waiting")))
            }
        }
        return open
    }
}
