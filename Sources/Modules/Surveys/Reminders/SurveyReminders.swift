import Errand
package import ErrandNotification
package import ErrandPostgres

/// Finds open invitations that expire soon in their people's calendars, and notifies these people.
package struct SurveyReminders: Sendable {
    private let run: ExpiryRun

    package init(_ run: ExpiryRun) { self.run = run }

    /// Handles the job; a transaction after the last page completes it.
    static func handle(_ context: JobContext, notices catalogue: NoticeCatalogue) async throws {
        let count = try await SurveyReminders(ExpiryRun(context, notices: catalogue))
            .notify { try await context.complete(in: $0) }
        context.log.with("notices", count).info("notified people of surveys that expire soon")
    }

    /// Notifies people, page by page.
    ///
    /// - Parameter end: called in a transaction after the last page.
    /// - Returns: the number of notices, sent now or at the person's notice time.
    package func notify(
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        let planner = run.planner
        var count = 0
        for scan in try await run.scans() { count += try await notify(scan, planner) }
        try await run.database.transaction { try await end($0) }
        return count
    }

    /// Notifies the people of one scan, some pages at once.
    ///
    /// Pages share people, but no notice: the dedupe key decides which page makes it.
    private func notify(_ scan: ExpiryScan, _ planner: NoticePlanner) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            var (count, running) = (0, 0)
            var next: Page? = Page(after: scan.last, through: (scan.through, .max))
            while let page = next {
                let end = try await lastRow(of: page)
                next = end.map { Page(after: $0, through: page.through) }
                let own = Page(after: page.after, through: end ?? page.through)
                if running == Self.lanes, let made = try await group.next() {
                    count += made
                    running -= 1
                }
                running += 1
                group.addTask { try await notify(own, of: scan, planner) }
            }
            return try await group.reduce(count, +)
        }
    }

    private func notify(
        _ page: Page, of scan: ExpiryScan, _ planner: NoticePlanner
    ) async throws -> Int {
        try await run.database.transaction { transaction in
            let intents = try await intents(page, of: scan, in: transaction)
            let answers = try await planner.notify(intents, now: run.time, in: transaction)
            return answers.count(where: \.isKept)
        }
    }

    /// The number of pages handled at once; a worker has two connections for handlers by default.
    private static let lanes = 2

    /// Invitations from one behind `after` to `through`, by their end and id.
    private struct Page: Sendable {
        var after: (expiry: Instant, id: Int64)
        var through: (expiry: Instant, id: Int64)
    }

    private static let end = """
        SELECT i.expires_at, i.id FROM surveys.invitations i
        WHERE i.person_id IS NOT NULL AND (i.expires_at, i.id) > ($1, $2) AND i.expires_at <= $3
        ORDER BY i.expires_at, i.id OFFSET $4 - 1 LIMIT 1
        """

    /// Returns the last invitation of a full page; nil if what is left is less.
    private func lastRow(of page: Page) async throws -> (expiry: Instant, id: Int64)? {
        let rows = try await run.database.withSession {
            try await $0.query(
                Self.end,
                [
                    .timestamp(page.after.expiry), .int64(page.after.id),
                    .timestamp(page.through.expiry), .int64(Int64(run.pageSize)),
                ])
        }
        return try rows.first.map { (try $0.timestamp("expires_at"), try $0.int64("id")) }
    }

    private static let statement = """
        SELECT person_id, last_day, dedupe_key, until, data
        FROM surveys.due_reminders(zones => $1, last_days => $2, afters => $3, throughs => $4,
            untils => $5, seconds_of_day => $6, days_left => $7, after_expiry => $8,
            after_id => $9, through => $10, through_id => $11, page_size => $12, late => $13)
        """

    private func intents(
        _ page: Page, of scan: ExpiryScan, in transaction: Transaction
    ) async throws -> [Intent] {
        let rows = try await transaction.query(
            Self.statement,
            scan.parameters + [
                .timestamp(page.after.expiry), .int64(page.after.id),
                .timestamp(page.through.expiry), .int64(page.through.id), .int32(.max),
                .int32(Int32(ExpiryWindow.late)),
            ])
        let intents = try rows.compactMap { row in
            try ExpiryScan.intent(
                row, kind: NoticeKind.surveyExpiring.name, subject: "surveys-expiring")
        }
        // In one order, so that pages that share people do not wait for each other in a circle.
        return intents.sorted { $0.dedupeKey < $1.dedupeKey }
    }
}
