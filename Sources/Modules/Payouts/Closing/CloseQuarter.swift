import ErrandGregorian
package import Errand
package import ErrandLedger
package import ErrandPostgres
package import ErrandRecurrence

/// Creates the run of a quarter, if missing, and starts its close.
///
/// A job per chunk creates the payouts in one transaction; the job of the last chunk enqueues the
/// job that ends the close. The close is idempotent and survives crashes: each account is part of
/// one chunk, and each chunk is closed once.
package struct CloseQuarter: Job {
    package static let kind = "payouts.close"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 20, backoff: Backoff(base: 30, ceiling: 900),
        timeout: .seconds(1_200))

    /// The quarter, such as `2026-Q3`; nil for the last one.
    package var quarter: String?
    /// Creates the job without an actor: the schedule is recorded as the closer.
    ///
    /// The closer may not approve, so the enqueuer of the job must not choose the closer.
    package init(quarter: Quarter? = nil) {
        self.quarter = quarter?.description
    }

    /// Runs on the third day of a quarter, after late credits and a day after the preview.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "15 4 3 1,4,7,10 *", in: "America/Toronto", run: CloseQuarter(),
            catchUp: .latest(within: .seconds(80 * 86_400)), overlap: .skip)
    }
}

/// Stores a preview of closing the last quarter, to compare at the approval.
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

/// Creates the payouts of a chunk of accounts.
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

/// Ends the close of a run whose chunks are closed.
package struct EndClose: Job {
    package static let kind = "payouts.end_close"
    package static let options = JobOptions(
        queue: "payouts", maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 300))

    package var runID: Int64

    enum CodingKeys: String, CodingKey {
        case runID = "run_id"
    }
}

/// Functions that preview and close a quarter.
package enum Closing {
    /// The actor of closes by a job.
    package static let scheduleActor = "the schedule"
    /// Accounts per chunk: a transaction of some tens of milliseconds.
    package static let chunkSize = 1_000

    private static let runOf = "SELECT payouts.run_of($1, $2, $3, $4::text::date)"

    /// Returns the id of a quarter's run; creates it if missing.
    ///
    /// - Throws: ``PayoutError`` if the rules have changed meanwhile, or another run has this end.
    package static func run(
        of quarter: Quarter, rules: PayRules, in zone: Zone, _ transaction: Transaction
    ) async throws -> Int64 {
        try await transaction.payoutQuery(
            runOf,
            [
                .text(quarter.description), .timestamp(quarter.cutOff(in: zone)),
                .text(zone.name), .text(quarter.payDate(dayOfMonth: rules.payDay).isoText),
            ]
        ).int64(0, 0)
    }

    /// The last complete quarter.
    package static func lastQuarter(before now: Instant, in zone: Zone) -> Quarter {
        Quarter(of: now, in: zone).previous
    }

    /// Stores a preview of closing a run now.
    ///
    /// - Throws: ``PayoutError`` if its close has started.
    package static func preview(
        run: Int64, actor: String, _ transaction: Transaction
    ) async throws {
        try await transaction.payoutQuery(
            "SELECT payouts.preview($1, $2)", [.int64(run), .text(actor)])
    }

    /// Starts the close of a run: creates its chunks and a job for each.
    ///
    /// - Returns: the number of chunks; nil if the close was already started.
    /// - Throws: ``PayoutError`` if the quarter is not over, or a later one was closed.
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
    /// Runs a query; throws a ``PayoutError`` for a refusal of the schema.
    @discardableResult
    func payoutQuery(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        do throws(PostgresError) { return try await query(sql, parameters) } catch {
            if let refusal = PayoutError(error) { throw refusal }
            throw error
        }
    }
}
