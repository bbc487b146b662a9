package import Errand
package import ErrandNotification
package import ErrandPostgres
import ErrandRecurrence

/// Computes again what was computed by rules of time zones that have changed since, and finds
/// which zones cannot be read, or can be again.
///
/// Governments change their clocks, and tzdata follows under running workers. The days of chores
/// stay as they are; the instants at which these days begin and end, and at which notices about
/// balances are sent, move with the clocks. An hour's delay is nothing beside the weeks for which
/// such changes are announced.
package struct WatchZones: Job {
    package static let kind = "household.zones"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "household", priority: .normal, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 60), timeout: .seconds(3_600),
        retention: .seconds(86_400))

    package init() {}

    private static let used = "SELECT time_zone FROM household.zones_to_plan('infinity')"
    private static let set = "SELECT household.set_zone($1, $2)"
    private static let done = """
        UPDATE household.zones SET is_outdated = false WHERE time_zone = ANY ($1)
        """

    /// How many chores had to be looked at again: none while no rules change.
    package static func run(
        in database: Pool, now: Instant, zones: PeopleZones = .shared, log: Log = .silent
    ) async throws -> Int {
        zones.refresh()
        var outdated: [String: Zone] = [:]
        try await database.transaction { transaction in
            let names = try await transaction.query(used).map { try $0.text(0) }
            for name in names {
                let zone: Zone
                do throws(ZoneError) { zone = try zones.exact(name) } catch {
                    try await ZoneFaults.note(error, of: name, now: now, in: transaction, log: log)
                    continue
                }
                let isOutdated = try await transaction.query(
                    set, [.text(name), .text(zone.rules)]
                ).first?.bool(0)
                if isOutdated == true { outdated[name] = zone }
            }
        }
        guard !outdated.isEmpty else { return 0 }
        let count = try await ComputedTimes(outdated).computeAnew(in: database, now: now)
        // Only now: who dies before this begins again.
        let names = Parameter.textArray(outdated.keys.sorted())
        try await database.transaction { _ = try await $0.query(done, [names]) }
        log.with("zones", outdated.keys.sorted().joined(separator: " ")).with("chores", count)
            .info("the rules of time zones have changed: times were computed again")
        return count
    }

    static func run(_ context: JobContext) async throws {
        _ = try await run(
            in: context.database, now: Instant(date: context.now), log: context.log)
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 1h", run: WatchZones(), catchUp: .latest(within: .seconds(3_600)),
            overlap: .skip)
    }
}
