package import Errand
package import ErrandPostgres

/// Looks at all whose answers were reviewed, and at all shoppers: who is good enough is named, or
/// hired, and who is not any more is suspended.
///
/// Page by page, each in a transaction of its own; the same again changes nothing.
package struct HireShoppers: Job {
    package static let kind = "missions.hire"
    package static let options = JobOptions(
        queue: "missions", priority: .normal, maxAttempts: 10,
        backoff: Backoff(base: 5, ceiling: 600), timeout: .seconds(3_600),
        retention: .seconds(7 * 86_400))

    package init() {}

    /// People of one transaction.
    private static let batch: Int64 = 500

    // The next people behind an id, one probe of an index each: a person has many reviews.
    private static let people = """
        WITH RECURSIVE next (id) AS (
            (SELECT r.person_id FROM missions.reviews r WHERE r.person_id > $1
             ORDER BY r.person_id LIMIT 1)
            UNION ALL
            SELECT (SELECT r.person_id FROM missions.reviews r WHERE r.person_id > n.id
                ORDER BY r.person_id LIMIT 1)
            FROM next n WHERE n.id IS NOT NULL)
        SELECT id FROM (
            (SELECT id FROM next WHERE id IS NOT NULL LIMIT $2)
            UNION
            (SELECT s.person_id FROM missions.shoppers s WHERE s.person_id > $1
             ORDER BY s.person_id LIMIT $2)) AS both_sorts (id)
        ORDER BY id LIMIT $2
        """
    private static let assess = """
        SELECT before::text, after::text FROM missions.assess($1, $2)
        """

    /// How many got into which state; by the state.
    package static func assess(in database: Pool, now: Instant) async throws -> [String: Int] {
        var changes: [String: Int] = [:]
        var last: Int64? = 0
        while let after = last {
            let page = try await database.transaction { transaction in
                let people = try await transaction.query(
                    people, [.int64(after), .int64(batch)]
                ).map { try $0.int64(0) }
                guard let behind = people.last else { return (last: Int64?.none, [String]()) }
                let rows = try await transaction.query(
                    assess, [.int64Array(people), .timestamp(now)])
                return (behind, try rows.map { try $0.text("after") })
            }
            for state in page.1 { changes[state, default: 0] += 1 }
            last = page.last
        }
        return changes
    }

    static func run(_ context: JobContext) async throws {
        let changes = try await assess(in: context.database, now: Instant(date: context.now))
        var log = context.log
        for (state, count) in changes.sorted(by: { $0.key < $1.key }) {
            log = log.with(state, count)
        }
        if !changes.isEmpty { log.info("shoppers have changed their state") }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "30 4 * * *", run: HireShoppers(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }
}
