import FoundationEssentials
import ErrandGregorian
package import Errand
import ErrandLedger
package import ErrandNotification
import ErrandPostgres
import ErrandRecurrence

/// The job kinds of the payout module.
package enum PayoutKinds {
    /// Registers the kinds and their schedules.
    ///
    /// - Parameter catalogue: the notices and their templates.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        let zones = ZoneDatabase()
        kinds.handleWithOutcome(CloseQuarter.self) { job, context in
            try await unlessRefused { try await close(job, context, zones) }
        }
        kinds.handleWithOutcome(PreviewQuarter.self) { _, context in
            try await unlessRefused { try await preview(context, zones) }
        }
        kinds.handle(CloseChunk.self) { job, context in try await closeChunk(job, context) }
        kinds.handle(EndClose.self) { job, context in
            let isNew = try await context.database.transaction { transaction in
                let rows = try await transaction.query(endClose, [.int64(job.runID)])
                try await context.complete(in: transaction)
                return try rows.bool(0, 0)
            }
            if isNew { context.log.with("run", Int(job.runID)).info("the run is closed") }
        }
        kinds.handle(NotifyOfPayouts.self) { job, context in
            try await PayoutNotifier.notify(job, context, by: catalogue)
        }
        do {
            kinds.schedule(try PreviewQuarter.schedule())
            kinds.schedule(try CloseQuarter.schedule())
        } catch { preconditionFailure("\(error)") }
    }

    private static let endClose = "SELECT payouts.end_close($1)"
    private static let chunkStatement = "SELECT payouts.close_chunk($1, $2)"
    private static let heldOfChunk = """
        SELECT coalesce(array_agg(p.id ORDER BY p.id), '{}') FROM payouts.chunks c
        JOIN payouts.payouts p ON p.account_id BETWEEN c.first_account AND c.last_account
            AND p.run_id = c.run_id AND p.chunk = c.number AND p.state = 'held'
        WHERE c.run_id = $1 AND c.number = $2 AND c.held > 0
        """

    /// Turns a refusal into a dead letter with its reason: a retry would be refused too.
    private static func unlessRefused(_ body: () async throws -> Void) async throws -> Outcome {
        do { try await body() } catch let refusal as PayoutError {
            return .dead(reason: refusal.description)
        }
        return .done
    }

    private static func close(
        _ job: CloseQuarter, _ context: JobContext, _ zones: ZoneDatabase
    ) async throws {
        let rules = try await context.database.withSession { try await PayRules.read($0) }
        let zone = try zones.zone(named: rules.timeZone)
        let now = Instant(date: context.now)
        let quarter: Quarter
        if let name = job.quarter {
            guard let named = Quarter(name) else {
                throw PayoutError.invalid("quarter \(name): expected one such as 2026-Q3")
            }
            quarter = named
        } else {
            quarter = Closing.lastQuarter(before: now, in: zone)
        }
        let chunks = try await context.database.transaction { transaction in
            let run = try await Closing.run(of: quarter, rules: rules, in: zone, transaction)
            let chunks = try await Closing.begin(
                run: run, now: now, actor: Closing.scheduleActor, client: context.client,
                transaction)
            try await context.complete(in: transaction)
            return chunks
        }
        let log = context.log.with("quarter", quarter.description)
        guard let chunks else { return log.info("the close was already started") }
        log.with("chunks", chunks).info("closing")
    }

    private static func preview(_ context: JobContext, _ zones: ZoneDatabase) async throws {
        let rules = try await context.database.withSession { try await PayRules.read($0) }
        let zone = try zones.zone(named: rules.timeZone)
        let quarter = Closing.lastQuarter(before: Instant(date: context.now), in: zone)
        try await context.database.transaction { transaction in
            let run = try await Closing.run(of: quarter, rules: rules, in: zone, transaction)
            try await Closing.preview(run: run, actor: Closing.scheduleActor, transaction)
            try await context.complete(in: transaction)
        }
    }

    private static func closeChunk(_ job: CloseChunk, _ context: JobContext) async throws {
        let parameters: [Parameter] = [.int64(job.runID), .int32(job.chunk)]
        try await context.database.transaction { transaction in
            let left = try await transaction.query(chunkStatement, parameters)
                .first?.optionalInt32(0)
            if let left {
                let held = try await transaction.query(heldOfChunk, parameters).int64Array(0, 0)
                if !held.isEmpty {
                    try await context.client.enqueue(
                        NotifyOfPayouts.jobs(.held, held), in: transaction)
                }
                if left == 0 {
                    try await context.client.enqueue(EndClose(runID: job.runID), in: transaction)
                }
            }
            try await context.complete(in: transaction)
        }
    }
}
