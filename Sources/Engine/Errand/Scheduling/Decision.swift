package import ErrandPostgres

/// The decision about one schedule at one time: runs, skips, misses and cancellations.
///
/// It reads no clock and no database, so tests can simulate an outage, a clock step or a quarter,
/// and `tick --dry-run` can show the decisions.
package struct Decision: Sendable, Equatable {
    /// An occurrence for which a job is created.
    package struct Run: Sendable, Equatable {
        package var due: Plan.Due
        package var isLate: Bool
        /// The earlier occurrences that are merged into it, oldest first.
        package var merged: [Instant] = []
    }

    /// An occurrence for which no job is created.
    package struct Skip: Sendable, Equatable {
        package var due: Instant
        package var reason: String
    }

    /// Consecutive occurrences that were missed for one reason.
    package struct Miss: Sendable, Equatable {
        package var first: Instant
        package var last: Instant
        /// The number of occurrences; nil if there were too many to count.
        package var count: Int?
        package var reason: String
    }

    /// The jobs to create, oldest first.
    package var runs: [Run] = []
    package var skips: [Skip] = []
    package var misses: [Miss] = []
    /// The occurrence to hold until the job of the previous one has finished; at most one is held.
    package var held: Run?
    /// The held occurrence that another one replaces.
    package var unheld: Skip?
    /// The jobs of this schedule to cancel, waiting or running.
    package var cancels: [Int64] = []
    package var cancelsRunning = false
    /// The next occurrence; nil if there is none.
    package var next: Plan.Due?
    /// The latest processed occurrence.
    package var lastDue: Instant?

    /// An earlier run of the schedule that is unfinished.
    package struct Open: Sendable, Equatable {
        package var due: Instant
        package var job: Int64
        package var isWaiting: Bool
    }

    /// The delay up to which an occurrence counts as on time.
    package static let tolerance = Duration.seconds(60)
    /// The maximum number of occurrences of one schedule that are enumerated.
    private static let walkLimit = 1_000

    /// Decides on the due occurrences of a schedule.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - horizon: the end of the decided period: `now`, or somewhat later for schedules that
    ///     allow overlap.
    ///   - open: earlier unfinished runs, oldest first.
    ///   - heldDue: the occurrence that is already held.
    package init(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant, horizon: Instant, open: [Open],
        heldDue: Instant?
    ) {
        lastDue = schedule.lastDue
        // A wrong clock may have set it in the future.
        if schedule.replan == .clock, let last = lastDue, last > now { lastDue = nil }
        next = Self.firstDue(schedule, plan, now: now, &misses)
        // A newly computed occurrence usually lies in the future.
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

    /// Applies the run limit: keeps the first `left` runs, and ends the schedule after the last.
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

    private static let limitReached = "the run limit was reached"

    /// Returns the first occurrence to decide on, and adds those that a pause or a change skipped
    /// to `misses`.
    private static func firstDue(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant, _ misses: inout [Miss]
    ) -> Plan.Due? {
        // Not the row's next_at, which may have been postponed.
        let present = schedule.nextDue.map { plan.timed($0) }
        guard let replan = schedule.replan else { return present }
        if let limit = schedule.runLimit, schedule.runs >= limit { return nil }
        let asked = min(schedule.replanAt, now)
        switch replan {
        case .tzdata:
            return underNewRules(schedule, plan, now: now)
        case .clock:
            // The wrong clock may have stopped before the current time.
            return plan.next(after: min(schedule.lastDue ?? now, now))
        case .new: return plan.firstMade(after: asked)
        case .edited:
            guard let present else { return plan.firstMade(after: asked) }
            // A time of both the old and the new schedule stays due.
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

    /// Returns the first occurrence under changed time-zone rules.
    ///
    /// The rules may move an occurrence before now. It is then late, unless it is the moved form of
    /// the one that was last run: it counts as the nearer of that and of the planned next one.
    private static func underNewRules(
        _ schedule: StoredSchedule, _ plan: Plan, now: Instant
    ) -> Plan.Due? {
        guard let last = schedule.lastDue else { return plan.next(after: now) }
        guard let first = plan.next(after: last), first.due <= now, let old = schedule.nextDue
        else { return plan.next(after: last) }
        let isNextOne = old.durationSince(first.due) < first.due.durationSince(last)
        return isNextOne ? first : plan.next(after: first.due)
    }

    /// The past occurrences; if there are too many, the newest that a policy can use.
    private struct Passed {
        var list: [Plan.Due]
        /// The first and the last occurrence that are not in the list.
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
        var reason = "no scheduler ran; catch-up is \(policy.policy)"
        switch policy {
        case .none: taken = []
        case .latest:
            if !onTime.isEmpty { taken = [] }
            reason =
                reachable.isEmpty ? tooOld(policy) : "no scheduler ran; only the latest was run"
        case .all, .merge:
            reason =
                taken.count == policy.limit
                ? "no scheduler ran; catch-up is limited to \(policy.limit)"
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
        return "no scheduler ran; older than the catch-up window of \(length)"
    }

    /// Adds missed occurrences.
    ///
    /// - Parameter cut: the earlier occurrences that were too many to enumerate.
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

    /// Applies the overlap rule to each run.
    private mutating func overlapped(
        _ wanted: [Run], _ rule: Overlap, _ open: [Open], _ heldDue: Instant?
    ) {
        var isBusy = !open.isEmpty || heldDue != nil
        let last = open.last.map { "job \($0.job) of \($0.due) was unfinished" }
        for run in wanted {
            switch rule {
            case .allow: runs.append(run)
            case .skip:
                if isBusy {
                    skips.append(
                        Skip(due: run.due.due, reason: last ?? "the previous run was unfinished"))
                } else {
                    runs.append(run)
                }
                isBusy = true
            case .bufferOne:
                if !isBusy {
                    runs.append(run)
                } else if let waiting = held?.due.due ?? heldDue {
                    skips.append(
                        Skip(
                            due: run.due.due,
                            reason: "the occurrence of \(waiting) was already waiting"))
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
        // Not the jobs of this or later occurrences, which a backfill or another clock may have
        // created.
        let earlier = open.filter { $0.due < newest.due.due }
        switch rule {
        case .allow, .skip, .bufferOne: break
        case .replace: cancels = earlier.filter(\.isWaiting).map(\.job)
        case .cancel:
            cancels = earlier.map(\.job)
            cancelsRunning = true
            if let heldDue, heldDue < newest.due.due {
                unheld = Skip(
                    due: heldDue, reason: "replaced by the occurrence of \(newest.due.due)")
            }
        }
    }

    private mutating func giveWay(_ earlier: [Run], to run: Run) {
        skips += earlier.map {
            Skip(due: $0.due.due, reason: "replaced by the occurrence of \(run.due.due)")
        }
    }
}
