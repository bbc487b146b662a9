import ErrandPostgres

/// Creates the partitions of the coming days, and deletes expired finished jobs and occurrences.
struct Retention: Sendable {
    let session: Session
    let log: Log

    func run(now: Instant, days: Int) async throws {
        let today = "(to_timestamp($1) AT TIME ZONE 'UTC')::date"
        let seconds = Parameter.double(Double(now.microseconds) / 1_000_000 + 946_684_800)
        _ = try await session.query(
            "SELECT errand.prepare_finished_partitions(\(today), $2)",
            [seconds, .int32(Int32(days))])
        let dropped = try await session.query(
            "SELECT errand.drop_expired_partitions(\(today))", [seconds]
        ).int32(0, 0)
        if dropped > 0 { log.info("\(dropped) days of expired finished jobs were deleted") }
        for statement in [
            Statements.forgetUniqueKeys, Statements.forgetOnceEffects, Statements.forgetActivity,
        ] {
            while !Task.isCancelled,
                try await session.query(statement, []).affected == 10_000
            {}
        }
        _ = try await session.query(Statements.gatherActivity, [])
        try await forgetOccurrences()
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
}
