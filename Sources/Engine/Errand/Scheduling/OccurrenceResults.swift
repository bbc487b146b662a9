import ErrandPostgres

/// Records the results of the jobs of occurrences, counts failures, and creates the jobs of held
/// occurrences.
struct OccurrenceResults: Sendable {
    let session: Session
    let clock: ScheduleClock
    let log: Log

    private static let pageSize: Int32 = 2_000

    /// The position of the next page.
    struct Place: Sendable, Equatable {
        var schedule: Int64 = .min
        var due: Instant = .negativeInfinity
    }

    private struct Ended: Sendable {
        var schedule: Int64
        var due: Instant
        var job: Int64
    }

    /// Processes one page of open occurrences.
    ///
    /// - Returns: the position of the next page; nil after the last.
    func page(after place: Place, at now: Instant) async throws -> Place? {
        let rows = try await session.query(
            Statements.openPage,
            [.int64(place.schedule), .timestamp(place.due), .int32(Self.pageSize)])
        var ended: [Ended] = []
        var last: Place?
        for row in rows {
            let (schedule, due) = (try row.int64("schedule_id"), try row.timestamp("due_at"))
            if try row.bool("has_ended") {
                ended.append(Ended(schedule: schedule, due: due, job: try row.int64("job_id")))
            }
            last = Place(schedule: schedule, due: due)
        }
        if !ended.isEmpty { try await close(ended, at: now) }
        return rows.count == Int(Self.pageSize) ? last : nil
    }

    /// Processes all pages, then releases held occurrences.
    func all(at now: Instant) async throws {
        var place: Place? = Place()
        while let from = place, !Task.isCancelled { place = try await page(after: from, at: now) }
        _ = try await releaseHeld(at: now)
    }

    /// Creates the jobs of held occurrences whose schedules have no open run.
    ///
    /// - Returns: whether any occurrence is still held.
    func releaseHeld(at now: Instant) async throws -> Bool {
        var free: [Int64] = []
        var isHolding = false
        for row in try await session.query(Statements.holdingSchedules) {
            if try row.bool("is_free") {
                free.append(try row.int64("schedule_id"))
            } else {
                isHolding = true
            }
        }
        if !free.isEmpty { try await release(free, at: now) }
        return isHolding
    }

    // MARK: Ends

    private struct Close: Sendable {
        var schedule: Int64
        var due: Instant
        var outcome: String
        var endedAt: Instant?
        var reason: String?
    }

    private func close(_ ended: [Ended], at now: Instant) async throws {
        var outcomes: [Int64: (outcome: String, at: Instant?, reason: String?)] = [:]
        for row in try await session.query(
            Statements.jobOutcomes, [.int64Array(ended.map(\.job))])
        {
            outcomes[try row.int64("id")] = (
                try row.text("outcome"), try row.optionalTimestamp("finished_at"),
                try row.optionalText("reason")
            )
        }
        // A job without a record was completed: dead letters are always kept.
        let closes = ended.map { entry in
            let found = outcomes[entry.job]
            return Close(
                schedule: entry.schedule, due: entry.due, outcome: found?.outcome ?? "ended",
                endedAt: found?.at, reason: found?.reason)
        }
        try await session.transaction { session in
            let ids = Set(closes.map(\.schedule)).sorted()
            let locked = try session.query(Statements.lockSchedules, [.int64Array(ids)])
                .map { try StoredSchedule($0) }
            // Another process closes the locked ones, or this one does in the next round.
            let ours = Set(locked.map(\.id))
            let taken = closes.filter { ours.contains($0.schedule) }
            guard !taken.isEmpty else { return }
            let closed = try session.query(
                Statements.closeOccurrences,
                [
                    .int64Array(taken.map(\.schedule)), .timestampArray(taken.map(\.due)),
                    .textArray(taken.map(\.outcome)), .timestampArray(taken.map(\.endedAt)),
                    .nullableTextArray(taken.map(\.reason)),
                ])
            let counted = try closed.map { row in
                Close(
                    schedule: try row.int64("schedule_id"), due: try row.timestamp("due_at"),
                    outcome: try row.text("outcome"))
            }
            try count(counted, of: locked, at: now, session)
        }
    }

    private func count(
        _ closes: [Close], of schedules: [StoredSchedule], at now: Instant,
        _ session: isolated Session
    ) throws {
        let bySchedule = Dictionary(grouping: closes, by: \.schedule)
        var counts: [(id: Int64, failures: Int, note: String?)] = []
        for schedule in schedules {
            var failures = schedule.failures
            for close in bySchedule[schedule.id, default: []].sorted(by: { $0.due < $1.due }) {
                switch close.outcome {
                case "dead": failures += 1
                case "completed", "ended": failures = 0
                default: break
                }
            }
            guard failures != schedule.failures else { continue }
            var note: String?
            if let limit = schedule.pauseAfter, failures >= limit, schedule.pausedAt == nil {
                note = "\(failures) runs in a row failed"
                log.error(
                    "schedule \(schedule.name) is paused: \(failures) runs in a row failed; "
                        + "'errand schedule history \(schedule.name)' lists them, "
                        + "'errand schedule resume \(schedule.name)' resumes it")
            }
            counts.append((schedule.id, failures, note))
        }
        guard !counts.isEmpty else { return }
        _ = try session.query(
            Statements.countFailures,
            [
                .int64Array(counts.map(\.id)), .int32Array(counts.map { Int32($0.failures) }),
                .nullableTextArray(counts.map(\.note)), .timestamp(now),
            ])
    }

    // MARK: Held occurrences

    private func release(_ schedules: [Int64], at now: Instant) async throws {
        try await session.transaction { session in
            let locked = try session.query(Statements.lockSchedules, [.int64Array(schedules)])
                .map { try StoredSchedule($0) }
                .filter { $0.pausedAt == nil }
            guard !locked.isEmpty else { return }
            var held: [Int64: Instant] = [:]
            var busy: Set<Int64> = []
            for row in try session.query(
                Statements.openOccurrences, [.int64Array(locked.map(\.id))])
            {
                let id = try row.int64("schedule_id")
                if try row.bool("is_held") {
                    held[id] = min(held[id] ?? .infinity, try row.timestamp("due_at"))
                } else {
                    busy.insert(id)
                }
            }
            let freed = locked.filter { !busy.contains($0.id) && held[$0.id] != nil }
            var merged: [Int64: [Instant]] = [:]
            for row in try session.query(
                Statements.mergedInto,
                [
                    .int64Array(freed.map(\.id)), .timestampArray(freed.map { held[$0.id] }),
                ])
            {
                merged[try row.int64("schedule_id"), default: []].append(
                    try row.timestamp("due_at"))
            }
            var writes = OccurrenceWrites()
            for schedule in freed {
                guard let due = held[schedule.id] else { continue }
                try writes.add(
                    schedule, due: due, merged: merged[schedule.id, default: []],
                    origin: "schedule", runAt: nil)
            }
            guard writes.jobCount > 0 else { return }
            _ = try session.pipeline(
                writes.statements(retaking: [.held]))
        }
    }
}
