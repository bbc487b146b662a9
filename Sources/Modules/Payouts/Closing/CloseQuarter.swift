import ErrandGregorian
package import Errand
package import ErrandLedger
package import ErrandPostgres
package import ErrandRecurrence

/// Makes the run of a quarter, if it was not there, and begins to close it.
///
/// The payouts are made chunk by chunk, each by a job of its own and in one transaction; the job
/// that does the last chunk makes the one that ends the close. However often it is started,
/// wherever it is killed: each account is part of one chunk, and each chunk is done once.
package struct CloseQuarter: Job {
    package static let kind = "payouts.close"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 20, backoff: Backoff(base: 30, ceiling: 900),
        timeout: .seconds(1_200))

    /// Such as `2026-Q3`; nil for the last one that is over.
    package var quarter: String?
    /// Names nobody: by this job, the schedule closes.
    ///
    /// Who closes may not approve, so that whoever may enqueue must not choose who that is.
    package init(quarter: Quarter? = nil) {
        self.quarter = quarter?.description
    }

    /// On the third day of a quarter, so that what is credited late is part of it, and people can
    /// look at a preview before.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "15 4 3 1,4,7,10 *", in: "America/Toronto", run: CloseQuarter(),
            catchUp: .latest(within: .seconds(80 * 86_400)), overlap: .skip)
    }
}

/// Writes down what closing the last quarter would do, for those who approve it to compare.
package struct PreviewQuarter: Job {
    package static let kind = "payouts.preview"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 20, backoff: Backoff(base: 30, ceiling: 900),
        timeout: .seconds(1_200))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "15 4 2 1,4,7,10 *", in: "America/Toronto", run: PreviewQuarter(),
            catchUp: .latest(within: .seconds(86_400)), overlap: .skip)
    }
}

/// Makes the payouts of some hundreds of accounts.
package struct CloseChunk: Job {
    package static let kind = "payouts.close_chunk"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 300),
        timeout: .seconds(600), retention: .seconds(7 * 86_400))

    package var runID: Int64
    package var chunk: Int32

    enum CodingKeys: String, CodingKey {
        case runID = "run_id"
        case chunk
    }
}

/// Ends the close of a run whose chunks are done.
package struct EndClose: Job {
    package static let kind = "payouts.end_close"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 300))

    package var runID: Int64

    enum CodingKeys: String, CodingKey {
        case runID = "run_id"
    }
}

/// How a quarter is closed.
package enum Closing {
    /// Who closes by a job.
    package static let scheduleActor = "the schedule"
    /// Accounts of a chunk: a transaction of some tens of milliseconds.
    package static let chunkSize = 1_000

    private static let runOf = "SELECT payouts.run_of($1, $2, $3, $4::text::date)"

    /// The run of a quarter, made now if it was not there.
    ///
    /// - Returns: its id.
    package static func run(
        of quarter: Quarter, rules: PayRules, in zone: Zone, _ transaction: Transaction
    ) async throws -> Int64 {
        try await transaction.query(
            runOf,
            [
                .text(quarter.description), .timestamp(quarter.cutOff(in: zone)),
                .text(zone.name), .text(quarter.payDate(dayOfMonth: rules.payDay).isoText),
            ]
        ).int64(0, 0)
    }

    /// The last quarter that is over.
    package static func lastQuarter(before now: Instant, in zone: Zone) -> Quarter {
        Quarter(of: now, in: zone).previous
    }

    /// Writes down what closing a run would do now.
    ///
    /// - Throws: ``PayoutError`` when it is being closed, or was.
    package static func preview(
        run: Int64, actor: String, _ transaction: Transaction
    ) async throws {
        try await transaction.payoutQuery(
            "SELECT payouts.preview($1, $2)", [.int64(run), .text(actor)])
    }

    /// Begins to close a run: makes its chunks, and a job for each.
    ///
    /// - Returns: how many chunks; nil when somebody has begun before.
    /// - Throws: ``PayoutError`` when the quarter is not over, or a later one was closed.
    package static func begin(
        run: Int64, now: Instant, actor: String, chunkSize: Int = chunkSize, client: JobClient,
        _ transaction: Transaction
    ) async throws -> Int? {
        let made = try await transaction.payoutQuery(
            "SELECT payouts.begin_close($1, $2, $3, $4)",
            [.int64(run), .timestamp(now), .int32(Int32(chunkSize)), .text(actor)]
        ).first?.optionalInt32(0)
        guard let made else { return nil }
        if made == 0 {
            try await client.enqueue(EndClose(runID: run), in: transaction)
        } else {
            try await client.enqueue(
                (1...made).map { CloseChunk(runID: run, chunk: $0) }, in: transaction)
        }
        return Int(made)
    }
}

extension Transaction {
    /// A query of which what the schema refuses is a ``PayoutError``.
    @discardableResult
    func payoutQuery(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        do throws(PostgresError) { return try await query(sql, parameters) } catch {
            if let refusal = PayoutError(error) { throw refusal }
            throw error
        }
    }
}
