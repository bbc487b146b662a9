package import Errand
import ErrandNotification
import ErrandPostgres

/// Notifies people, every minute, of the badges that they have earned.
///
/// A job for each badge would cost every deed that earns one as much as the badge itself.
package struct NotifyOfBadges: Job {
    package static let kind = "badges.notify"
    package static let options = JobOptions(
        queue: "notices", priority: .normal, maxAttempts: 20,
        backoff: Backoff(base: 5, ceiling: 600), retention: .seconds(86_400))

    /// Maximum number of badges of one transaction.
    private static let batch: Int32 = 1_000
    /// For how long after the deed a notice is worth sending.
    private static let worth = Duration.seconds(7 * 86_400)

    private static let due = """
        SELECT t.person_id,
            jsonb_build_object('title', t.title, 'level', t.level,
                'establishment', coalesce(t.establishment, ''), 'badge', t.title || ': ' || t.level
                    || coalesce(' at ' || t.establishment, ''))::text AS data,
            concat_ws(':', 'badge', t.kind, nullif(t.establishment_id, 0)) AS subject,
            concat_ws(':', 'badge', t.person_id, t.kind, t.establishment_id, t.level) AS key,
            t.earned_at
        FROM badges.take_due($1) AS t
        """

    static func run(_ context: JobContext, notices catalogue: NoticeCatalogue) async throws {
        let planner = NoticePlanner(catalogue, context: context)
        var isMore = true
        while isMore {
            try Task.checkCancellation()
            isMore = try await context.database.transaction { transaction in
                let intents = try await transaction.query(due, [.int32(batch)]).map { row in
                    Intent(
                        NoticeKind.badgeEarned.name, to: try row.int64("person_id"),
                        of: try row.text("subject"), data: [UInt8](try row.text("data").utf8),
                        dedupeKey: try row.text("key"),
                        expiresAt: try row.timestamp("earned_at").adding(worth))
                }
                _ = try await planner.notify(intents, now: context.now, in: transaction)
                return !intents.isEmpty
            }
        }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "* * * * *", run: NotifyOfBadges(), catchUp: .latest(within: .seconds(3_600)),
            overlap: .skip)
    }
}
