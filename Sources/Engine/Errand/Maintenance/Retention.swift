import ErrandPostgres

/// Creates the partitions of the coming days, and deletes what has expired.
///
/// Each step is a short transaction. A step that fails, for example because a backup reads a table
/// that is to be dropped, does not keep the others from running.
package struct Retention: Sendable {
    private let session: MaintenanceSession
    private let log: Log

    package init(_ session: MaintenanceSession, log: Log) {
        self.session = session
        self.log = log
    }

    package init(session: Session, log: Log) { self.init(MaintenanceSession(session), log: log) }

    /// Runs every step.
    ///
    /// - Throws: the first error of a step, after the others ran.
    package func run(now: Instant) async throws {
        let today = Parameter.text(
            try await session.query(
                "SELECT ((to_timestamp($1) AT TIME ZONE 'UTC')::date)::text",
                [.double(Double(now.microseconds) / 1_000_000 + 946_684_800)]
            ).text(0, 0))
        let steps: [@Sendable () async throws -> Void] = [
            { try await refile() },
            { try await prepareDays(from: today) },
            { try await dropExpired(today) },
            { try await forget(Statements.forgetLongKept, [today]) },
            { try await forget(Statements.forgetUniqueKeys) },
            { try await forget(Statements.forgetOnceEffects) },
            { try await forget(Statements.forgetActivity) },
            { _ = try await session.query(Statements.gatherActivity, []) },
            { try await forgetOccurrences() },
            { try await forget(Statements.forgetOperations) },
            { try await forget(Statements.forgetDemoLedger) },
            { try await forgetAudit() },
            { try await forgetNames() },
        ]
        var failure: (any Error)?
        for step in steps where !Task.isCancelled {
            do { try await step() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    // MARK: Finished jobs

    /// Moves finished jobs out of the default partition.
    ///
    /// - Returns: how many were moved.
    @discardableResult
    package func refile() async throws -> Int {
        var moved = 0
        while !Task.isCancelled {
            let count = try await count("SELECT errand.refile_finished_jobs(5000)")
            moved += count
            if count < 5_000 { break }
        }
        if moved > 0 { log.info("\(moved) finished jobs without a partition were moved") }
        return moved
    }

    /// Creates the missing partitions of the coming days.
    ///
    /// - Parameter today: the first day, such as `2026-11-24`.
    /// - Returns: the days whose partitions were created.
    @discardableResult
    package func prepareDays(from today: Parameter) async throws -> [String] {
        let missing = try await session.query(Statements.missingDays, [today]).map {
            try $0.text(0)
        }
        var made: [String] = []
        for day in missing where try await create(day) { made.append(day) }
        _ = try await session.query(Statements.raiseDailyDays, [])
        return made
    }

    private func create(_ day: String) async throws -> Bool {
        try await begin(day)
        return try await session.query(Self.createDay, [.text(day)]).bool(0, 0)
    }

    /// Prepares the creation of a day's partition, so that ``createDay`` takes only milliseconds,
    /// in which no result can be written.
    package func begin(_ day: String) async throws {
        let begin = "SELECT errand.begin_finished_day($1::text::date)"
        guard try await session.query(begin, [.text(day)]).bool(0, 0) else { return }
        _ = try await session.query(
            "SELECT errand.check_finished_day($1::text::date)::text", [.text(day)])
    }

    /// Creates the partition of day $1; false if it exists.
    package static let createDay = "SELECT errand.create_finished_day($1::text::date)"

    private func dropExpired(_ today: Parameter) async throws {
        let drop = "SELECT errand.drop_expired_day($1::text::date)"
        var dropped = 0
        while !Task.isCancelled,
            try await session.query(drop, [today])[0].optionalText(0) != nil
        {
            dropped += 1
        }
        if dropped > 0 { log.info("\(dropped) days of expired finished jobs were deleted") }
    }

    // MARK: Other tables

    private func count(_ statement: String) async throws -> Int {
        Int(try await session.query(statement, []).int32(0, 0))
    }

    private func forget(_ statement: String, _ parameters: [Parameter] = []) async throws {
        while !Task.isCancelled,
            try await session.query(statement, parameters).affected == 10_000
        {}
    }

    private func forgetAudit() async throws {
        while !Task.isCancelled, try await count("SELECT errand.forget_audit(10000)") == 10_000 {}
    }

    /// The retention of the history of schedules, in days.
    private static let occurrenceDays: Int32 = 90

    private func forgetOccurrences() async throws {
        var last: Int64? = .min
        while let after = last, !Task.isCancelled {
            last = try await session.query(
                Statements.forgetOccurrences, [.int64(after), .int32(Self.occurrenceDays)]
            )[0].optionalInt64(0)
        }
    }

    /// Forgets queues and kinds that nothing has used for long.
    private func forgetNames() async throws {
        for statement in [
            Statements.seeQueues, Statements.seeKinds, Statements.forgetQueues,
            Statements.forgetKinds,
        ] {
            _ = try await session.query(statement, [])
        }
    }
}
