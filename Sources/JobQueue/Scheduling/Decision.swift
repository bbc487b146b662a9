package import Postgres

/// What is to be done about one schedule at one moment.
///
/// Pure: it asks no clock and no database, so that an outage, a clock step or a quarter can be
/// run in a test, and `tick --dry-run` can say what would be done.
package struct Decision: Sendable, Equatable {
    /// An occurrence that gets a job.
    package struct Run: Sendable, Equatable {
        package var due: Plan.Due
        package var isLate: Bool
        /// Earlier ones that are merged into it, oldest first.
        package var merged: [Instant] = []
    }

    /// An occurrence that gets none.
    package struct Skip: Sendable, Equatable {
        package var due: Instant
        package var reason: String
    }

    /// Times that went by, without a break, for one reason.
    package struct Miss: Sendable, Equatable {
        package var first: Instant
        package var last: Instant
        /// Nil: too many to count.
        package var count: Int?
        package var reason: String
    }

    /// Jobs to be made, oldest first.
    package var runs: [Run] = []
    package var skips: [Skip] = []
    package var misses: [Miss] = []
    /// Occurrences that wait until the job of the last one has ended; of two, one is held.
    package var held: Run?
    /// A held one that gives way.
    package var unheld: Skip?
    /// Jobs of this schedule to cancel, with the reason; running ones too if asked.
    package var cancels: [Int64] = []
    package var cancelsRunning = false
    /// The next occurrence; nil when nothing more is to come.
    package var next: Plan.Due?
    /// The latest occurrence dealt with.
    package var lastDue: Instant?

    /// An earlier run of the schedule that has not ended.
    package struct Open: Sendable, Equatable {
        package var due: Instant
        package var job: Int64
        package var isWaiting: Bool
    }

    /// An occurrence that is less late than this is on time.
    package static let tolerance = Duration.seconds(60)
    /// Occurrences of one schedule that are walked through one by one.
    private static let walkLimit = 1_000

    /// - Parameters:
    ///   - now: the clock.
    ///   - horizon: occurrences up to here are decided on: `now`, or somewhat later for schedules
    ///     whose overlap is allowed.
    ///   - open: earlier runs that have not ended, oldest first.
    ///   - heldDue: an occurrence that is held already.
    package init(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant, horizon: Instant, open: [Open],
        heldDue: Instant?
    ) {
        lastDue = schedule.lastDue
        // A clock that was wrong has left it somewhere in the future.
        if schedule.replan == .clock, let last = lastDue, last > now { lastDue = nil }
        next = Self.firstDue(schedule, plan, now: now, &misses)
        // What was planned anew lies ahead, mostly.
        guard let first = next, first.at <= horizon else { return }
        let passed = Passed(plan, from: first, to: horizon, now: now, schedule.catchUp)
        let last = passed.list.last?.due ?? first.due
        lastDue = max(last, lastDue ?? .negativeInfinity)
        next = plan.next(after: last)
        var wanted = caughtUp(passed, schedule.catchUp, now: now)
        if let limit = schedule.runLimit {
            let left = max(limit - schedule.runs, 0)
            if wanted.count >= left {
                wanted = Array(wanted.prefix(Int(left)))
                next = nil
            }
        }
        overlapped(wanted, schedule.overlap, open, heldDue)
    }

    /// Where to begin; what a pause or a change passed over is noted as missed.
    private static func firstDue(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant, _ misses: inout [Miss]
    ) -> Plan.Due? {
        let present = schedule.nextDue.map { due in
            Plan.Due(due: due, at: schedule.replan == nil ? schedule.nextAt ?? due : due)
        }
        guard let replan = schedule.replan else { return present }
        if let limit = schedule.runLimit, schedule.runs >= limit { return nil }
        switch replan {
        case .tzdata:
            // From the last one on: an occurrence that the new rules put before now is late.
            return plan.next(after: schedule.lastDue ?? now)
        case .clock:
            // By another clock it may have been dealt with less far than it is now here.
            return plan.next(after: min(schedule.lastDue ?? now, now))
        case .new:
            return plan.next(after: now)
        case .edited, .resumed:
            let isMissed = present.map { $0.due <= now } ?? false
            if let first = present, isMissed {
                let reason = replan == .resumed ? "paused" : "its times were changed"
                // The old times are gone with an edit; a pause has changed none.
                let last =
                    replan == .resumed ? plan.previous(before: now)?.due ?? first.due : first.due
                misses.append(
                    Miss(
                        first: first.due, last: max(last, first.due),
                        count: last <= first.due ? 1 : nil, reason: reason))
            }
            return plan.next(after: now)
        }
    }

    /// Occurrences that have come; when there are too many, the newest, as far as any policy looks.
    private struct Passed {
        var list: [Plan.Due]
        /// The first and the last of those that are not in the list.
        var cut: (first: Instant, last: Instant)?

        init(
            _ plan: Plan, from first: Plan.Due, to horizon: Instant, now: Instant,
            _ policy: CatchUp
        ) {
            list = [first]
            while list.count < walkLimit {
                guard let next = plan.next(after: list[list.count - 1].due), next.at <= horizon
                else { return }
                list.append(next)
            }
            list = []
            var lateCount = 0
            var moment = horizon.adding(.seconds(1))
            while lateCount < max(policy.limit, 1),
                let previous = plan.previous(before: moment), previous.due > first.due
            {
                moment = previous.due
                guard previous.at <= horizon else { continue }
                list.append(previous)
                lateCount += now.durationSince(previous.at) > tolerance ? 1 : 0
            }
            list.reverse()
            cut = (first.due, plan.previous(before: moment)?.due ?? first.due)
        }
    }

    private mutating func caughtUp(
        _ passed: Passed, _ policy: CatchUp, now: Instant
    ) -> [Run] {
        func isLate(_ due: Plan.Due) -> Bool { now.durationSince(due.at) > Self.tolerance }
        let late = passed.list.prefix { isLate($0) }
        let onTime = passed.list.dropFirst(late.count).map { Run(due: $0, isLate: false) }
        guard !late.isEmpty else { return onTime }
        let reachable = late.filter { now.durationSince($0.at) <= policy.window }
        var taken: ArraySlice<Plan.Due> = reachable.suffix(policy.limit)
        var reason = "no scheduler ran, and catch-up is \(policy.policy)"
        switch policy {
        case .none: taken = []
        case .latest:
            if !onTime.isEmpty { taken = [] }
            reason =
                reachable.isEmpty ? tooOld(policy) : "no scheduler ran; the latest stands for it"
        case .all, .merge:
            reason =
                reachable.count > taken.count
                ? "no scheduler ran, and catch-up takes no more than \(policy.limit)"
                : tooOld(policy)
        }
        note(late.prefix(late.count - taken.count), after: passed.cut, reason)
        let runs = taken.map { Run(due: $0, isLate: true) } + onTime
        guard case .merge = policy, let last = runs.last, runs.count > 1 else { return runs }
        return [
            Run(due: last.due, isLate: last.isLate, merged: runs.dropLast().map(\.due.due))
        ]
    }

    private func tooOld(_ policy: CatchUp) -> String {
        let seconds = policy.window.components.seconds
        let length = seconds % 86_400 == 0 ? "\(seconds / 86_400) d" : "\(seconds) s"
        return "no scheduler ran, and it lies further back than the catch-up window of \(length)"
    }

    /// - Parameter cut: those before them that were too many to walk through.
    private mutating func note(
        _ missed: ArraySlice<Plan.Due>, after cut: (first: Instant, last: Instant)?,
        _ reason: String
    ) {
        guard let first = cut?.first ?? missed.first?.due,
            let last = missed.last?.due ?? cut?.last
        else { return }
        misses.append(
            Miss(
                first: first, last: last, count: cut == nil ? missed.count : nil, reason: reason))
    }

    /// What an unended earlier run does to each.
    private mutating func overlapped(
        _ wanted: [Run], _ rule: Overlap, _ open: [Open], _ heldDue: Instant?
    ) {
        var isBusy = !open.isEmpty || heldDue != nil
        let last = open.last.map { "job \($0.job) of \($0.due) had not ended" }
        for run in wanted {
            switch rule {
            case .allow: runs.append(run)
            case .skip:
                if isBusy {
                    skips.append(
                        Skip(due: run.due.due, reason: last ?? "the run before it had not ended"))
                } else {
                    runs.append(run)
                }
                isBusy = true
            case .bufferOne:
                if !isBusy {
                    runs.append(run)
                } else if let waiting = held?.due.due ?? heldDue {
                    skips.append(
                        Skip(due: run.due.due, reason: "that of \(waiting) was waiting already"))
                } else {
                    held = run
                }
                isBusy = true
            case .replace:
                giveWay(runs, to: run)
                runs = [run]
            case .cancel:
                giveWay(held.map { [$0] } ?? runs, to: run)
                (runs, held) = isBusy ? ([], run) : ([run], nil)
            }
        }
        guard let newest = wanted.last else { return }
        switch rule {
        case .allow, .skip, .bufferOne: break
        case .replace: cancels = open.filter(\.isWaiting).map(\.job)
        case .cancel:
            cancels = open.map(\.job)
            cancelsRunning = true
            if let heldDue {
                unheld = Skip(due: heldDue, reason: "replaced by that of \(newest.due.due)")
            }
        }
    }

    private mutating func giveWay(_ earlier: [Run], to run: Run) {
        skips += earlier.map {
            Skip(due: $0.due.due, reason: "replaced by that of \(run.due.due)")
        }
    }
}
