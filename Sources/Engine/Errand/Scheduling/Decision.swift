package import ErrandPostgres

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
        let wanted = caughtUp(passed, schedule.catchUp, now: now)
        overlapped(wanted, schedule.overlap, open, heldDue)
        if let limit = schedule.runLimit {
            end(after: limit - schedule.runs - (heldDue == nil || unheld != nil ? 0 : 1))
        }
    }

    /// Keeps to a limit of runs: the first of them take place, and with the last it ends.
    private mutating func end(after left: Int64) {
        let left = Int(max(left, 0))
        guard runs.count + (held == nil ? 0 : 1) >= left else { return }
        next = nil
        let surplus = runs.dropFirst(left).map(\.due.due)
        runs = Array(runs.prefix(left))
        skips += surplus.map { Skip(due: $0, reason: Self.limitReached) }
        if let late = held, runs.count == left {
            held = nil
            skips.append(Skip(due: late.due.due, reason: Self.limitReached))
        }
    }

    private static let limitReached = "its limit of runs was reached"

    /// Where to begin; what a pause or a change passed over is noted as missed.
    private static func firstDue(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant, _ misses: inout [Miss]
    ) -> Plan.Due? {
        // Not the row's own next_at: that may have been put off.
        let present = schedule.nextDue.map { plan.timed($0) }
        guard let replan = schedule.replan else { return present }
        if let limit = schedule.runLimit, schedule.runs >= limit { return nil }
        let asked = min(schedule.replanAt, now)
        switch replan {
        case .tzdata:
            return underNewRules(schedule, plan, now: now)
        case .clock:
            // By another clock it may have been dealt with less far than it is now here.
            return plan.next(after: min(schedule.lastDue ?? now, now))
        case .new: return plan.firstMade(after: asked)
        case .edited:
            guard let present else { return plan.firstMade(after: asked) }
            // A time that both have is as due as it was.
            if plan.contains(present.due) { return present }
            if present.due <= asked {
                misses.append(
                    Miss(
                        first: present.due, last: present.due, count: 1,
                        reason: "its times were changed"))
            }
            return plan.firstMade(after: max(asked, schedule.lastDue ?? asked))
        case .resumed:
            let next = plan.firstMade(after: asked)
            if let present, present.at <= asked,
                let last = plan.previous(before: next?.due ?? asked.adding(.microseconds(1)))
            {
                misses.append(
                    Miss(
                        first: present.due, last: max(last.due, present.due),
                        count: last.due <= present.due ? 1 : nil, reason: "paused"))
            }
            return next
        }
    }

    /// The first occurrence by rules that put times elsewhere.
    ///
    /// One that they put before now is late, unless it stands for the one that was last run, by
    /// the rules of then: to which of the two it is nearer tells.
    private static func underNewRules(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant
    ) -> Plan.Due? {
        guard let last = schedule.lastDue else { return plan.next(after: now) }
        guard let first = plan.next(after: last), first.due <= now, let old = schedule.nextDue
        else { return plan.next(after: last) }
        let isNextOne = old.durationSince(first.due) < first.due.durationSince(last)
        return isNextOne ? first : plan.next(after: first.due)
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
            while let next = plan.next(after: list[list.count - 1].due), next.at <= horizon {
                guard list.count < walkLimit else { break }
                list.append(next)
            }
            guard list.count == walkLimit, let next = plan.next(after: list[walkLimit - 1].due),
                next.at <= horizon
            else { return }
            list = []
            var lateCount = 0
            var moment = horizon.adding(.seconds(1))
            while lateCount < max(policy.limit, 1),
                let previous = plan.previous(before: moment), previous.due >= first.due
            {
                moment = previous.due
                guard previous.at <= horizon else { continue }
                list.append(previous)
                lateCount += now.durationSince(previous.at) > tolerance ? 1 : 0
            }
            list.reverse()
            if let last = plan.previous(before: moment), last.due >= first.due {
                cut = (first.due, last.due)
            }
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
                taken.count == policy.limit
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
        // Not those that a backfill or another clock has made of this one or of later ones.
        let earlier = open.filter { $0.due < newest.due.due }
        switch rule {
        case .allow, .skip, .bufferOne: break
        case .replace: cancels = earlier.filter(\.isWaiting).map(\.job)
        case .cancel:
            cancels = earlier.map(\.job)
            cancelsRunning = true
            if let heldDue, heldDue < newest.due.due {
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
