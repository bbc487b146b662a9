package import FoundationEssentials
import Errand
package import ErrandNotification
package import ErrandPostgres

/// Notifies the people of one sending in the order of their ids, some at a time.
///
/// A chunk locks the row of the sending, notifies the next people, and records how far it got, in
/// one transaction. So two workers at once take turns, and nobody is notified twice; the dedupe key
/// of each notice says so too.
package struct FanOut: Sendable {
    private let sending: Int64
    private let database: Pool
    private let planner: NoticePlanner
    /// People read per chunk; nil: as `news.rules` has it.
    package var chunkSize: Int32?

    /// How long after its chunk a notice is still delivered.
    private static let newsValidity = Duration.seconds(7 * 86_400)
    private static let termsValidity = Duration.seconds(30 * 86_400)

    package init(_ sending: Int64, database: Pool, planner: NoticePlanner) {
        self.sending = sending
        self.database = database
        self.planner = planner
    }

    private static let lock = """
        SELECT kind, audience, version, state::text AS state, started_at, reached,
            (SELECT r.chunk_size FROM news.rules r) AS chunk_size,
            jsonb_build_object('headline', headline, 'summary', summary, 'body', body)
                || CASE WHEN version IS NULL THEN '{}'
                    ELSE jsonb_build_object('version', version) END AS data
        FROM news.chunk($1)
        """
    private static let next = """
        SELECT person, is_meant, is_clear FROM news.people_behind($1, $2, $3, $4, $5)
        """
    private static let record = "SELECT news.record_chunk($1, $2, $3, $4, $5)"

    /// Notifies the next people.
    ///
    /// - Parameter end: called in the transaction of the last chunk, or of one that finds the
    ///   sending paused or ended.
    /// - Returns: whether this was such a chunk.
    package func chunk(
        now: Date, end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Bool {
        try await database.transaction { transaction in
            let row = try await transaction.query(Self.lock, [.int64(sending)]).first
            guard let row, try row.text("state") == "running" else {
                try await end(transaction)
                return true
            }
            let size = try chunkSize ?? row.int32("chunk_size")
            let people = try await transaction.query(
                Self.next,
                [
                    .text(try row.text("audience")), .int64(sending),
                    .int64(try row.int64("reached")),
                    .timestamp(try row.timestamp("started_at")), .int32(size),
                ])
            var meant = 0
            var intents: [Intent] = []
            for each in people where try each.bool("is_meant") {
                meant += 1
                guard try each.bool("is_clear") else { continue }
                intents.append(try intent(to: try each.int64("person"), row, now: now))
            }
            let answers = try await planner.notify(intents, now: now, in: transaction)
            let notified = answers.count(where: \.isKept)
            let isLast = people.count < Int(size)
            let reached = isLast ? nil : try people[people.count - 1].int64("person")
            _ = try await transaction.query(
                Self.record,
                [
                    .int64(sending), .optional(reached), .int64(Int64(notified)),
                    .int64(Int64(meant - notified)), .timestamp(Instant(date: now)),
                ])
            if isLast { try await end(transaction) }
            return isLast
        }
    }

    private func intent(to person: Int64, _ row: Row, now: Date) throws -> Intent {
        let kind = try row.text("kind")
        let version = try row.optionalText("version")
        // A person gets each version of the terms once, whatever the number of sendings.
        let key = version.map { "\(kind):\($0)" } ?? "\(kind):\(sending)"
        return Intent(
            kind, to: person, of: key, data: try row.json("data"), dedupeKey: "\(key):\(person)",
            expiresAt: Instant(date: now).adding(
                version == nil ? Self.newsValidity : Self.termsValidity))
    }
}
