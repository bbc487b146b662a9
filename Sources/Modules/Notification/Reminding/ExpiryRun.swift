package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// One run of reminders of what expires soon in people's calendars: what its module works with.
///
/// The dedupe key of a notice names the person, the last day and the distance. A run therefore
/// needs no record of other runs, repeated or concurrent: it notifies every person who is due today
/// and has no notice yet.
package struct ExpiryRun: Sendable {
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
    /// Rows scanned per transaction.
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

    /// The run of a job, for the time of its occurrence.
    package init(_ context: JobContext, notices catalogue: NoticeCatalogue) {
        PeopleZones.shared.refresh()
        self.init(
            due: context.occurrence?.due ?? context.now, now: context.now,
            database: context.database, client: context.client, catalogue: catalogue,
            zones: .shared, log: context.log)
        job = context.id
    }

    /// What decides about the notices.
    package var planner: NoticePlanner {
        NoticePlanner(catalogue, client: client, zones: zones, job: job)
    }

    /// The time to decide by: a dry run may be ahead of the clock.
    package var time: Date { max(due, now) }

    /// Returns a scan for each distance that has windows, nearest first.
    package func scans() async throws -> [ExpiryScan] {
        let windows = try await windows()
        return ExpiryWindow.distances.compactMap { distance in
            ExpiryScan(windows.filter { $0.daysLeft == distance })
        }
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

    /// Reads the time zones of all people, with one index step for each.
    package static let zoneNames = """
        WITH RECURSIVE zones AS (
            (SELECT time_zone FROM people.people ORDER BY time_zone LIMIT 1)
            UNION ALL
            SELECT (SELECT p.time_zone FROM people.people p
                WHERE p.time_zone > z.time_zone ORDER BY p.time_zone LIMIT 1)
            FROM zones z WHERE z.time_zone IS NOT NULL
        )
        SELECT time_zone FROM zones WHERE time_zone IS NOT NULL
        """

    /// Counts the people in some zones.
    private static let peopleIn = """
        SELECT count(*) FROM people.people WHERE time_zone = ANY ($1)
        """
}
