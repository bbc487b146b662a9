package import Errand
package import ErrandPostgres

/// Repairs, every night, the counts and badges that are missing.
package struct RecountBadges: Job {
    package static let kind = "badges.recount"
    package static let options = JobOptions(
        queue: "people", priority: .low, maxAttempts: 6, backoff: Backoff(base: 60, ceiling: 600),
        timeout: .seconds(3_600), retention: .seconds(7 * 86_400))

    package init() {}

    static func run(_ context: JobContext) async throws {
        let database = context.database
        let found = try await Recount.all { statement in
            try await database.withSession { try await $0.pipeline([statement])[0] }
        }
        guard found.corrected > 0 || found.awarded > 0 else { return }
        context.log.with("counts", found.corrected).with("badges", found.awarded)
            .warning("counts of deeds were too low, or badges were missing")
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "15 4 * * *", run: RecountBadges(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }
}

/// The recount of what people did, from the modules that know it.
package struct Recount: Sendable {
    /// The number of people that it went through.
    package var people = 0
    /// The number of counts that were too low.
    package var corrected = 0
    /// The number of badges that were missing.
    package var awarded = 0

    /// People of one transaction.
    private static let batch: Int32 = 1_000

    private static let next = """
        SELECT id, is_over, people, corrected, awarded FROM badges.recount_next($1, $2)
        """

    /// Recounts all people, some of them in each statement.
    ///
    /// It goes on with a recount that was interrupted.
    package static func all(
        _ run: @Sendable (Statement) async throws -> Rows
    ) async throws -> Recount {
        var id: Int64?
        while true {
            try Task.checkCancellation()
            let rows = try await run(
                Statement(next, [.int32(batch), id.map { .int64($0) } ?? .null]))
            id = try rows.int64(0, 0)
            if try rows.bool(0, 1) {
                return Recount(
                    people: Int(try rows.int64(0, 2)), corrected: Int(try rows.int64(0, 3)),
                    awarded: Int(try rows.int64(0, 4)))
            }
        }
    }

    private static let one = """
        SELECT r.corrected, r.awarded FROM people.people p
        CROSS JOIN LATERAL badges.recount(p.id - 1, p.id) AS r WHERE p.id = $1
        """

    /// Recounts one person; nil if there is none of that id.
    package static func one(_ person: Int64, _ session: Session) async throws -> Recount? {
        try await session.query(one, [.int64(person)]).first.map { row in
            Recount(
                people: 1, corrected: Int(try row.int64("corrected")),
                awarded: Int(try row.int64("awarded")))
        }
    }
}
