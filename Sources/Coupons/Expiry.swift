package import FoundationEssentials
package import JobQueue
import Notifications
package import Postgres
package import Recurrence

/// Finds the coupons that expire soon by their holders' own calendars, and tells the holders.
///
/// One mail for a person, a last day and a distance to it, whatever runs again or side by side:
/// the notices' dedupe key sees to that. So a run need not know which hours others have covered;
/// it tells all whose day is in its course and who have not been told yet.
package struct Expiry: Sendable {
    /// The time that the run is for.
    package var due: Date
    /// The clock.
    package var now: Date
    package var database: Pool
    package var client: JobClient
    package var zones: ZoneDatabase
    package var log: Log
    /// Coupons looked at in one transaction.
    package var pageSize: Int32 = 1_000

    package init(
        due: Date, now: Date, database: Pool, client: JobClient, zones: ZoneDatabase, log: Log
    ) {
        self.due = due
        self.now = now
        self.database = database
        self.client = client
        self.zones = zones
        self.log = log
    }

    /// The zones of this machine, for all runs.
    private static let zones = ZoneDatabase()

    /// Handles the job: its end is in the transaction of its last page.
    static func handle(_ context: JobContext) async throws {
        zones.refresh()
        let run = Expiry(
            due: context.occurrence?.due ?? context.now, now: context.now,
            database: context.database, client: context.client, zones: zones, log: context.log)
        let count = try await run.tell { try await context.complete(in: $0) }
        context.log.with("notices", count).info("people are told of coupons that expire soon")
    }

    /// Writes the notices and their e-mail jobs, page by page.
    ///
    /// - Parameter end: called in the transaction of the last page.
    /// - Returns: how many notices it made.
    package func tell(
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        let windows = try await windows()
        var count = 0
        var scans = ExpiryWindow.distances.compactMap { distance in
            Scan(windows.filter { $0.daysLeft == distance })
        }
        while let scan = scans.first {
            let page = try await database.transaction { transaction in
                let page = try await look(scan, in: transaction)
                // No deadline: the mail's own job sees that a notice has expired, and says so.
                try await client.enqueue(
                    page.notices.map(EmailNotice.init(noticeID:)), in: transaction)
                if page.last == nil, scans.count == 1 { try await end(transaction) }
                return page
            }
            count += page.notices.count
            if let last = page.last { scans[0].last = last } else { scans.removeFirst() }
        }
        return count
    }

    /// The windows of all zones in which somebody is who can be told.
    package func windows() async throws -> [ExpiryWindow] {
        let names = try await database.withSession { session in
            try await session.query(Self.zoneNames).map { try $0.text(0) }
        }
        let (due, now) = (Instant(date: due), Instant(date: now))
        var unknown: [String] = []
        var windows: [ExpiryWindow] = []
        for name in names {
            let zone = try zone(named: name)
            if zone == nil { unknown.append(name) }
            windows += ExpiryWindow.all(of: zone ?? .utc, named: name, due: due, now: now)
        }
        if !unknown.isEmpty {
            let strange = Parameter.textArray(unknown)
            let people = try await database.withSession { session in
                try await session.query(Self.peopleIn, [strange]).int64(0, 0)
            }
            log.with("people", people).warning(
                "people are in time zones that are not known here, and are told by UTC")
        }
        return windows
    }

    /// Nil for one that is not known.
    ///
    /// - Throws: when this machine cannot tell: then nobody should be told at a wrong time.
    private func zone(named name: String) throws -> Zone? {
        do throws(ZoneError) { return try zones.zone(named: name) } catch {
            switch error {
            case .noDatabase, .unreadable, .malformed: throw error
            case .empty, .path, .reserved, .abbreviation, .fixedOffset, .posixRule, .area,
                .unknown:
                return nil
            }
        }
    }

    /// A walk over the coupons that expire in some windows of one distance, in order.
    package struct Scan: Sendable {
        package var windows: [ExpiryWindow]
        /// The last coupon that was looked at.
        package var last: (expiry: Instant, id: Int64)
        let through: Instant

        /// Nil when there are no windows.
        package init?(_ windows: [ExpiryWindow]) {
            guard let after = windows.map(\.after).min(), let end = windows.map(\.through).max()
            else { return nil }
            self.windows = windows
            last = (after, .max)
            through = end
        }
    }

    private struct Page: Sendable {
        var notices: [Int64]
        /// The last coupon of the page; nil when none lies behind it.
        var last: (expiry: Instant, id: Int64)?
    }

    private func look(_ scan: Scan, in transaction: Transaction) async throws -> Page {
        // A plan for any page expects some tens of zones, and any time between two.
        let row = try await transaction.pipeline([
            Statement("SET LOCAL plan_cache_mode = force_custom_plan"),
            Statement(Self.statement, parameters(scan)),
            Statement("SET LOCAL plan_cache_mode = auto"),
        ])[1][0]
        var page = Page(notices: try row.optionalInt64Array("notices") ?? [])
        if try row.int64("looked_at") == Int64(pageSize) {
            page.last = (try row.timestamp("expires_at"), try row.int64("id"))
        }
        return page
    }
}
