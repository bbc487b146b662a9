package import Errand
import ErrandNotification
import ErrandPostgres

/// Notifies a person of a badge.
///
/// Enqueued by the schema, in the transaction of the deed that earned it.
package struct BadgeEarned: Job {
    package static let kind = "badges.earned"
    package static let options = JobOptions(
        queue: "notices", priority: .normal, maxAttempts: 20,
        backoff: Backoff(base: 5, ceiling: 600), retention: .seconds(86_400))

    package var personID: Int64
    package var badge: String
    /// 0 where the deeds of all establishments count.
    package var establishmentID: Int64
    package var level: Int32

    enum CodingKeys: String, CodingKey {
        case level
        case personID = "person_id"
        case badge = "kind"
        case establishmentID = "establishment_id"
    }

    /// Maximum number of badges of one transaction.
    static let batchLimit = 200

    /// A badge that is gone was erased with its person.
    private static let badges = """
        SELECT e.person_id,
            jsonb_build_object('title', k.title, 'level', e.level,
                'establishment', coalesce(s.name, ''),
                'badge', k.title || ': ' || e.level || coalesce(' at ' || s.name, ''))::text
                AS data,
            concat_ws(':', 'badge', e.kind, nullif(e.establishment_id, 0)) AS subject,
            concat_ws(':', 'badge', e.person_id, e.kind, e.establishment_id, e.level) AS key,
            b.earned_at + interval '7 days' AS expires_at
        FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::int[])
            AS e (person_id, kind, establishment_id, level)
        JOIN badges.badges b ON b.person_id = e.person_id AND b.kind = e.kind
            AND b.establishment_id = e.establishment_id AND b.level = e.level
        JOIN badges.kinds k ON k.kind = e.kind
        LEFT JOIN establishments.establishments s ON s.id = e.establishment_id
        ORDER BY e.person_id, e.kind, e.establishment_id, e.level
        """

    static func handle(
        _ batch: JobBatch<BadgeEarned>, notices catalogue: NoticeCatalogue
    ) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let planner = NoticePlanner(catalogue, context: context)
        let jobs = batch.items.map(\.job)
        try await context.database.transaction { transaction in
            let intents = try await transaction.query(
                badges,
                [
                    .int64Array(jobs.map(\.personID)), .textArray(jobs.map(\.badge)),
                    .int64Array(jobs.map(\.establishmentID)), .int32Array(jobs.map(\.level)),
                ]
            ).map { row in
                Intent(
                    NoticeKind.badgeEarned.name, to: try row.int64("person_id"),
                    of: try row.text("subject"), data: [UInt8](try row.text("data").utf8),
                    dedupeKey: try row.text("key"), expiresAt: try row.timestamp("expires_at"))
            }
            _ = try await planner.notify(intents, now: context.now, in: transaction)
            try await batch.complete(batch.items, in: transaction)
        }
        return batch.items.map { _ in .done }
    }
}
