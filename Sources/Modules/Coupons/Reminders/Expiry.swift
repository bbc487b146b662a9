package import FoundationEssentials
package import Errand
package import ErrandNotification
package import ErrandPostgres
import ErrandRecurrence

/// Finds coupons that expire soon in their holders' calendars, and notifies the holders.
///
/// The dedupe key allows one notice per person, last day and distance, even for repeated and
/// concurrent runs. A run therefore needs no record of other runs: it notifies every person who
/// is due today and has no notice yet.
package struct Expiry: Sendable {
    /// The time of the scheduled occurrence.
    package var due: Date
    /// The current time.
    package var now: Date
    package var database: Pool
    package var client: JobClient
    /// The notices and their templates.
    package var catalogue: NoticeCatalogue
    package var zones: PeopleZones
    package var log: Log
    /// The job that runs it.
    package var job: Int64?
    /// Coupons scanned per transaction.
    package var pageSize: Int32 = 1_000

    package init(
        due: Date, now: Date, database: Pool, client: JobClient, catalogue: NoticeCatalogue,
        zones: PeopleZones, log: Log
    ) {
        self.due = due
        self.now = now
        self.database = database
        self.client = client
        self.catalogue = catalogue
        self.zones = zones
        self.log = log
    }

    /// Handles the job; the transaction of the last page completes it.
    static func handle(_ context: JobContext, notices catalogue: NoticeCatalogue) async throws {
        PeopleZones.shared.refresh()
        var run = Expiry(
            due: context.occurrence?.due ?? context.now, now: context.now,
            database: context.database, client: context.client, catalogue: catalogue,
            zones: .shared, log: context.log)
        run.job = context.id
        let count = try await run.notify { try await context.complete(in: $0) }
        context.log.with("notices", count).info("notified people of coupons that expire soon")
    }

    /// Notifies people, page by page.
    ///
    /// - Parameter end: called in the transaction of the last page.
    /// - Returns: the number of notices, sent now or at the person's notice time.
    package func notify(
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        let windows = try await windows()
        let planner = NoticePlanner(catalogue, client: client, zones: zones, job: job)
        var count = 0
        var scans = ExpiryWindow.distances.compactMap { distance in
            Scan(windows.filter { $0.daysLeft == distance })
        }
        while let scan = scans.first {
            let page = try await database.transaction { transaction in
                var page = try await look(scan, in: transaction)
                // A dry run may be ahead of the clock.
                let answers = try await planner.notify(
                    page.intents, now: max(due, now), in: transaction)
                page.count = answers.count(where: \.isKept)
                if page.last == nil, scans.count == 1 { try await end(transaction) }
                return page
            }
            count += page.count
            if let last = page.last { scans[0].last = last } else { scans.removeFirst() }
        }
        return count
    }

    /// Returns the windows of all time zones that people use.
    package func windows() async throws -> [ExpiryWindow] {
        let names = try await database.withSession { session in
            try await session.query(Self.zoneNames).map { try $0.text(0) }
        }
        let (due, now) = (Instant(date: due), Instant(date: now))
        var unknown: [String] = []
        var windows: [ExpiryWindow] = []
        for name in names {
            let zone = try zones.known(name)
            if zone == nil { unknown.append(name) }
            windows += ExpiryWindow.all(of: zone ?? .utc, named: name, due: due, now: now)
        }
        if !unknown.isEmpty {
            let strange = Parameter.textArray(unknown)
            let people = try await database.withSession { session in
                try await session.query(Self.peopleIn, [strange]).int64(0, 0)
            }
            log.with("people", people).warning(
                "used UTC for people in time zones that the time zone database lacks")
        }
        return windows
    }

    /// A scan of the coupons that expire in the windows of one distance, in order.
    package struct Scan: Sendable {
        package var windows: [ExpiryWindow]
        /// The last scanned coupon.
        package var last: (expiry: Instant, id: Int64)
        package let through: Instant

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
        var intents: [Intent] = []
        /// The number of notices.
        var count = 0
        /// The last coupon of the page; nil on the last page.
        var last: (expiry: Instant, id: Int64)?
    }

    private func look(_ scan: Scan, in transaction: Transaction) async throws -> Page {
        // A generic plan would misestimate the number of zones and the length of the windows.
        let rows = try await transaction.pipeline([
            Statement("SET LOCAL plan_cache_mode = force_custom_plan"),
            Statement(Self.statement, parameters(scan)),
            Statement("SET LOCAL plan_cache_mode = auto"),
        ])[1]
        var page = Page()
        for row in rows {
            if try row.int64("looked_at") == Int64(pageSize) {
                page.last = (try row.timestamp("expires_at"), try row.int64("id"))
            }
            guard let person = try row.optionalInt64("person_id") else { continue }
            page.intents.append(
                Intent(
                    NoticeKind.couponExpiring.name, to: person,
                    of: "coupons-expiring:\(try row.text("last_day"))",
                    data: [UInt8](try row.text("data").utf8),
                    dedupeKey: try row.text("dedupe_key"), expiresAt: try row.timestamp("until")))
        }
        return page
    }
}
