package import ErrandPostgres
package import ErrandRecurrence

/// The totals of one pass over the schedules.
package struct PassSummary: Sendable, Equatable {
    /// The created jobs.
    package var enqueued = 0
    /// The occurrences that were skipped because an earlier run was unfinished.
    package var skipped = 0
    /// The periods of missed occurrences.
    package var missed = 0
    /// The occurrences that wait for an earlier run.
    package var held = 0
    /// The processed schedules.
    package var schedules = 0

    static func += (sum: inout Self, part: Self) {
        sum.enqueued += part.enqueued
        sum.skipped += part.skipped
        sum.missed += part.missed
        sum.held += part.held
        sum.schedules += part.schedules
    }
}

/// Decides on due occurrences and creates their jobs, in transactions of some hundred schedules.
///
/// Any number of passes may run at once: each locks the rows of its schedules, and the primary key
/// of the occurrences ensures that each is processed once.
package struct SchedulePass: Sendable {
    let session: Session
    let zones: ZoneDatabase
    let clock: ScheduleClock
    let log: Log

    static let batchSize = 500
    /// The approximate maximum number of jobs of one transaction.
    private static let jobLimit = 5_000

    package init(session: Session, zones: ZoneDatabase, clock: ScheduleClock, log: Log) {
        self.session = session
        self.zones = zones
        self.clock = clock
        self.log = log
    }

    /// A decision of a dry run.
    package struct Preview: Sendable {
        package var schedule: StoredSchedule
        package var decision: Decision
    }

    /// The current time and the next due times.
    package struct Reading: Sendable {
        package var now: Instant
        /// The due time of the next occurrence; nil if there is none.
        package var head: Instant?
        /// The due time of the next occurrence that must not be decided on early, if it is near.
        package var exact: Instant?
    }

    /// Reads the current time and the next due times.
    package func read(ahead: Duration) async throws -> Reading {
        let row = try await session.query(
            Statements.scheduleClock,
            [.optional(clock.now), .double(Double(ahead.milliseconds) / 1000)]
        )[0]
        return Reading(
            now: try row.timestamp("now"), head: try row.optionalTimestamp("head"),
            exact: try row.optionalTimestamp("exact"))
    }

    /// Marks schedules that were planned with other time-zone data or a wrong clock for replanning.
    package func refreshPlans(at now: Instant) async throws {
        let changed = try await session.query(
            Statements.refreshPlans, [.timestamp(now), .text(zones.version)]
        ).affected
        if changed > 0 {
            log.info("computing the next times of \(changed) schedules again")
        }
    }

    /// Processes all due occurrences.
    ///
    /// - Parameter ahead: how early an occurrence that allows overlap may be decided on; its job
    ///   then waits for the due time.
    package func fire(at now: Instant, ahead: Duration = .zero) async throws -> PassSummary {
        var sum = PassSummary()
        while !Task.isCancelled {
            let part = try await fireSome(at: now, ahead: ahead)
            sum += part.summary
            guard part.hasMore else { break }
        }
        return sum
    }

    /// Processes occurrences that have just become due, but no new schedules and no late
    /// occurrences.
    func fireUrgent(at now: Instant) async throws -> PassSummary {
        try await fireSome(at: now, since: now.adding(.zero - Decision.tolerance)).summary
    }

    /// Processes some schedules in one transaction, the longest overdue first.
    ///
    /// - Returns: the totals, and whether more schedules may be due.
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
                // Leave the rest to the next transaction: a long outage of many schedules must not
                // become one transaction with a million jobs.
                guard jobCount < Self.jobLimit else { break }
                sum.schedules += 1
                guard let decision else {
                    unreadable.append(schedule.id)
                    continue
                }
                decided.append((schedule, decision))
                jobCount += decision.runs.count
            }
            var writes = OccurrenceWrites()
            let free = try unlocked(decided.flatMap(\.decision.cancels), session)
            for (schedule, decision) in decided {
                try writes.add(
                    decision, for: schedule, cancelling: decision.cancels.filter(free.contains),
                    isRealTime: clock.isReal)
                sum.skipped += decision.skips.count
                sum.missed += decision.misses.count
                sum.held += decision.held == nil ? 0 : 1
            }
            var statements = writes.statements(plannedWith: zones.version)
            if !unreadable.isEmpty {
                statements.append(
                    Statement(
                        Statements.putOffSchedules, [.int64Array(unreadable), .timestamp(now)]))
            }
            sum.enqueued = try session.pipeline(statements)[0].count
            return (sum, sum.schedules < list.count || list.count == Self.batchSize)
        }
    }

    /// Returns the decision on each schedule; nil for one that is invalid here.
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
                "schedule \(schedule.name) is invalid here; retrying in a minute: \(error)")
            return nil
        }
    }

    /// Returns the decisions for a time without executing them: a dry run.
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

    /// Reads the open runs of the schedules whose overlap rule needs them.
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
