import Errand
import FoundationEssentials
package import ErrandPostgres

/// An exact or estimated number of jobs.
package struct JobCount: Sendable, Equatable {
    /// The largest exact count; larger numbers are estimated.
    static let limit: Int64 = 100_000

    package var count: Int
    /// Whether the count is an estimate of PostgreSQL's planner.
    package var isEstimate: Bool

    package init(count: Int, isEstimate: Bool) {
        self.count = count
        self.isEstimate = isEstimate
    }
}

extension Inspector {
    /// The number of jobs that match a filter, and the database's time just before counting.
    ///
    /// Above ``JobCount/limit`` it is an estimate, unless `isExact`.
    package func count(
        _ filter: JobFilter, isExact: Bool = false
    ) async throws -> (count: JobCount, asOf: Instant) {
        let now = try await session.query("SELECT clock_timestamp()").timestamp(0, 0)
        var filter = filter
        filter.asOf = filter.asOf ?? now
        var count = 0
        var isEstimate = false
        for table in JobTable.holding(filter) {
            var conditions = JobConditions()
            let condition = JobConditions.joined(try conditions.clauses(filter, table))
            let parameters = conditions.parameters
            let limit = conditions.placeholder(isExact ? .null : .int64(JobCount.limit + 1))
            let rows = "SELECT FROM \(table.name) WHERE \(condition)"
            var found = try await session.query(
                "SELECT count(*) FROM (\(rows) LIMIT \(limit)::bigint) AS found",
                conditions.parameters, prepare: false
            ).int64(0, 0)
            if found > JobCount.limit, !isExact {
                isEstimate = true
                let plan = try await session.query(
                    "EXPLAIN (FORMAT JSON) \(rows)", parameters, prepare: false)
                found = max(found, Self.rows(in: try plan.text(0, 0)))
            }
            count += Int(found)
        }
        return (JobCount(count: count, isEstimate: isEstimate), filter.asOf ?? now)
    }

    private struct Explained: Decodable {
        struct Plan: Decodable {
            var rows: Double
            enum CodingKeys: String, CodingKey { case rows = "Plan Rows" }
        }
        var plan: Plan
        enum CodingKeys: String, CodingKey { case plan = "Plan" }
    }

    private static func rows(in plan: String) -> Int64 {
        let explained = try? JSONDecoder().decode([Explained].self, from: Data(plan.utf8))
        return explained?.first.map { Int64($0.plan.rows) } ?? 0
    }

    /// The names of all fields that kinds declare as sensitive.
    package func sensitiveNames() async throws -> Set<String> {
        Set(try await session.query(Statements.sensitiveNames, []).map { try $0.text(0) })
    }
}
