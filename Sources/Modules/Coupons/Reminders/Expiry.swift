import Errand
package import ErrandNotification
package import ErrandPostgres

/// Finds coupons that expire soon in their holders' calendars, and notifies the holders.
package struct Expiry: Sendable {
    package let run: ExpiryRun

    package init(_ run: ExpiryRun) { self.run = run }

    /// Handles the job; the transaction of the last page completes it.
    static func handle(_ context: JobContext, notices catalogue: NoticeCatalogue) async throws {
        let count = try await Expiry(ExpiryRun(context, notices: catalogue))
            .notify { try await context.complete(in: $0) }
        context.log.with("notices", count).info("notified people of coupons that expire soon")
    }

    /// Notifies people, page by page.
    ///
    /// - Parameter end: called in the transaction of the last page.
    /// - Returns: the number of notices, sent now or at the person's notice time.
    package func notify(
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        let planner = run.planner
        var count = 0
        var scans = try await run.scans()
        while let scan = scans.first {
            let page = try await run.database.transaction { transaction in
                var page = try await look(scan, in: transaction)
                let answers = try await planner.notify(
                    page.intents, now: run.time, in: transaction)
                page.count = answers.count(where: \.isKept)
                if page.last == nil, scans.count == 1 { try await end(transaction) }
                return page
            }
            count += page.count
            if let last = page.last { scans[0].last = last } else { scans.removeFirst() }
        }
        return count
    }

    private struct Page: Sendable {
        var intents: [Intent] = []
        /// The number of notices.
        var count = 0
        /// The last coupon of the page; nil on the last page.
        var last: (expiry: Instant, id: Int64)?
    }

    private func look(_ scan: ExpiryScan, in transaction: Transaction) async throws -> Page {
        // A generic plan would misestimate the number of zones and the length of the windows.
        let rows = try await transaction.pipeline([
            Statement("SET LOCAL plan_cache_mode = force_custom_plan"),
            Statement(Self.statement, parameters(scan)),
            Statement("SET LOCAL plan_cache_mode = auto"),
        ])[1]
        var page = Page()
        for row in rows {
            if try row.int64("looked_at") == Int64(run.pageSize) {
                page.last = (try row.timestamp("expires_at"), try row.int64("id"))
            }
            let intent = try ExpiryScan.intent(
                row, kind: NoticeKind.couponExpiring.name, subject: "coupons-expiring")
            if let intent { page.intents.append(intent) }
        }
        return page
    }
}
