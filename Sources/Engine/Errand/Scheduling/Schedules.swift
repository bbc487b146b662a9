import FoundationEssentials
package import ErrandPostgres
package import ErrandRecurrence

/// Listings and changes of schedules, for operators.
package struct Schedules: Sendable {
    let session: Session
    let zones: ZoneDatabase

    package init(session: Session, zones: ZoneDatabase) {
        self.session = session
        self.zones = zones
    }

    /// A schedule in a listing.
    package struct Listing: Sendable {
        package var schedule: StoredSchedule
        /// The settings that an operator changed from the program's declaration.
        package var changed: [String]
        /// The settings, as a JSON object with the names of the columns.
        package var settings: [UInt8]
        /// The declared settings, likewise; nil for a schedule that an operator added.
        package var declared: [UInt8]?
        /// The latest individually processed occurrence, and its outcome.
        package var last: (due: Instant, outcome: String)?

        init(_ row: Row) throws {
            schedule = try StoredSchedule(row)
            changed = try row.textArray("changed")
            settings = try row.json("settings")
            declared = try row.optionalJSON("declared")
        }
    }

    /// Returns all schedules, ordered by name, or the one of that name.
    package func list(named name: String? = nil) async throws -> [Listing] {
        let answers = try await session.pipeline([
            Statement(Statements.schedules, [.optional(name)]),
            Statement(Statements.lastOccurrences, [.optional(name)]),
        ])
        var last: [Int64: (Instant, String)] = [:]
        for row in answers[1] {
            last[try row.int64("id")] = (try row.timestamp("due_at"), try row.text("outcome"))
        }
        return try answers[0].map { row in
            var listing = try Listing(row)
            listing.last = last[listing.schedule.id]
            return listing
        }
    }

    /// Adds a schedule or changes its settings.
    ///
    /// - Parameters:
    ///   - settings: a JSON object with the names of the columns; other settings are unchanged.
    ///   - args: the arguments as JSON; nil leaves them unchanged.
    /// - Returns: whether the schedule is new.
    /// - Throws: ``JobError/invalid(_:)`` for an invalid expression or zone.
    package func put(
        _ name: String, settings: [UInt8], args: [UInt8]?, by operatorName: String
    ) async throws -> Bool {
        try await session.transaction { session in
            try put(name, settings: settings, args: args, by: operatorName, session)
        }
    }

    func put(
        _ name: String, settings: [UInt8], args: [UInt8]?, by operatorName: String,
        _ session: isolated Session
    ) throws -> Bool {
        let isNew = try session.query(
            Statements.putSchedule,
            [.text(name), .json(settings), .optionalJSON(args), .text(operatorName)]
        ).bool(0, 0)
        // Check the whole row: a change of one setting may invalidate another.
        let row = try session.query(Statements.lockSchedule, [.text(name)])[0]
        let stored = try StoredSchedule(row)
        let plan = try Plan(stored, zones: zones)
        // An ended schedule can still be changed in other settings.
        guard stored.replan == nil || plan.next(after: stored.replanAt) != nil else {
            throw JobError.invalid("it would never run: it has no occurrence before its end")
        }
        return isNew
    }

    /// Deletes a schedule and its history; returns false if there is none of that name.
    package func remove(
        _ name: String, by operatorName: String = "unknown", reason: String? = nil
    ) async throws -> Bool {
        try await noted("rm", name, by: operatorName) { session in
            let settings = try session.query(Statements.schedules, [.text(name)]).first
                .map { try $0.json("settings") }
            let isRemoved =
                try session.query(Statements.removeSchedule, [.text(name)]).affected == 1
            return (isRemoved, reason, settings)
        }
    }

    /// Executes a change and, if it had an effect, writes its line of the audit log.
    ///
    /// - Parameter change: executes the change and returns whether it had an effect, and its
    ///   description for the audit log.
    private func noted(
        _ verb: String, _ name: String, by operatorName: String,
        _ change:
            @Sendable (isolated Session) throws -> (
                isDone: Bool, reason: String?, change: [UInt8]?
            )
    ) async throws -> Bool {
        try await session.transaction { session in
            let done = try change(session)
            guard done.isDone else { return false }
            try Self.note(
                verb, name, by: operatorName, reason: done.reason, change: done.change, session)
            return true
        }
    }

    /// Writes a line of the audit log.
    static func note(
        _ verb: String, _ name: String, by operatorName: String, reason: String? = nil,
        change: [UInt8]? = nil, _ session: isolated Session
    ) throws {
        let line = AuditLine(
            operatorName: operatorName, action: "schedule \(verb)", subject: name, reason: reason,
            change: change)
        _ = try session.query(line.statement)
    }

    /// Pauses a schedule; returns false if there is none of that name.
    package func pause(
        _ name: String, by operatorName: String, note: String?
    ) async throws -> Bool {
        try await noted("pause", name, by: operatorName) { session in
            let paused = try session.query(
                Statements.pauseSchedule, [.text(name), .text(operatorName), .optional(note)])
            return (paused.affected == 1, note, nil)
        }
    }

    /// Resumes a paused schedule from now on; returns false if it was not paused.
    package func resume(
        _ name: String, by operatorName: String = "unknown", reason: String? = nil
    ) async throws -> Bool {
        try await noted("resume", name, by: operatorName) { session in
            (try session.query(Statements.resumeSchedule, [.text(name)]).count == 1, reason, nil)
        }
    }

    /// Creates a job of a schedule now, regardless of its times.
    ///
    /// - Returns: the job; nil if there is no such schedule.
    package func trigger(
        _ name: String, by operatorName: String = "unknown", reason: String? = nil
    ) async throws -> Int64? {
        try await session.transaction { session in
            guard let schedule = try Self.locked(name, session) else { return nil }
            let now = try session.query("SELECT clock_timestamp()", []).timestamp(0, 0)
            var firing = OccurrenceWrites()
            try firing.add(schedule, due: now, origin: "trigger", runAt: nil)
            let made = try session.pipeline(firing.statements())[0]
            guard !made.isEmpty else { return nil }
            let job = try made.int64(0, 0)
            try Self.note(
                "trigger", name, by: operatorName, reason: reason,
                change: try AuditLine.json(["job": job]),
                session)
            return job
        }
    }

    private static func locked(
        _ name: String, _ session: isolated Session
    ) throws -> StoredSchedule? {
        try session.query(Statements.lockSchedule, [.text(name)]).first.map(StoredSchedule.init)
    }

    // MARK: History

    /// The outcome of an occurrence, or of consecutive missed ones.
    package struct HistoryEntry: Sendable {
        package var firstDue: Instant
        package var lastDue: Instant
        /// The number of occurrences; nil if there were too many to count.
        package var count: Int?
        package var decidedAt: Instant
        package var job: Int64?
        package var origin: String
        package var outcome: String
        package var reason: String?
        package var mergedInto: Instant?
        package var endedAt: Instant?
    }

    /// Returns the newest entries of a schedule before a time.
    package func history(
        of schedule: StoredSchedule, before: Instant = .infinity, limit: Int
    ) async throws -> [HistoryEntry] {
        try await session.query(
            Statements.scheduleHistory,
            [.int64(schedule.id), .timestamp(before), .int32(Int32(limit))]
        ).map { row in
            HistoryEntry(
                firstDue: try row.timestamp("due_at"), lastDue: try row.timestamp("last_due"),
                count: try row.optionalInt32("count").map(Int.init),
                decidedAt: try row.timestamp("decided_at"),
                job: try row.optionalInt64("job_id"), origin: try row.text("origin"),
                outcome: try row.text("outcome"), reason: try row.optionalText("reason"),
                mergedInto: try row.optionalTimestamp("merged_into"),
                endedAt: try row.optionalTimestamp("ended_at"))
        }
    }

    // MARK: Backfill

    /// The plan of a backfill.
    package struct Backfill: Sendable {
        package var schedule: StoredSchedule
        /// The occurrences without a job, oldest first.
        package var missing: [Instant]
        /// The number of occurrences that already have a job.
        package var taken: Int
        /// Whether there are more occurrences than the limit.
        package var isCut: Bool
    }

    /// Plans a backfill of the occurrences from a time up to, but not including, another.
    ///
    /// - Returns: nil if there is no such schedule.
    package func backfill(
        _ name: String, from: Instant, to end: Instant, limit: Int
    ) async throws -> Backfill? {
        guard let listing = try await list(named: name).first else { return nil }
        let plan = try Plan(listing.schedule, zones: zones)
        let taken = Set(
            try await session.query(
                Statements.takenOccurrences,
                [.int64(listing.schedule.id), .timestamp(from), .timestamp(end)]
            ).map { try $0.timestamp(0) })
        var made = Backfill(schedule: listing.schedule, missing: [], taken: 0, isCut: false)
        var moment = from.adding(.microseconds(-1))
        while let next = plan.next(after: moment), next.due < end {
            guard made.missing.count < limit else {
                made.isCut = true
                break
            }
            if taken.contains(next.due) { made.taken += 1 } else { made.missing.append(next.due) }
            moment = next.due
        }
        return made
    }

    /// Creates the jobs of a backfill, except for occurrences that were processed meanwhile.
    ///
    /// - Returns: the number of created jobs.
    package func run(
        _ backfill: Backfill, by operatorName: String = "unknown", reason: String? = nil,
        onProgress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> Int {
        let name = backfill.schedule.name
        var made = 0
        var rest = backfill.missing[...]
        while !rest.isEmpty, !Task.isCancelled {
            let part = rest.prefix(500)
            rest = rest.dropFirst(500)
            let change = try AuditLine.json([
                "from": part.first?.description ?? "", "to": part.last?.description ?? "",
            ])
            made += try await session.transaction { session in
                guard let schedule = try Self.locked(name, session) else {
                    return 0
                }
                var firing = OccurrenceWrites()
                for due in part {
                    try firing.add(schedule, due: due, origin: "backfill", runAt: nil)
                }
                let statements = firing.statements(retaking: [.skipped])
                let count = try session.pipeline(statements)[0].count
                // A line for each transaction, because its jobs remain if a later one fails.
                if count > 0 {
                    try Self.note(
                        "backfill", name, by: operatorName, reason: reason, change: change,
                        session)
                }
                return count
            }
            onProgress(made)
        }
        return made
    }
}
