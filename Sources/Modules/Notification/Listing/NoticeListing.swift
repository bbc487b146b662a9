package import ErrandPostgres

/// A filter of notices; nil means any value.
package struct NoticeFilter: Sendable {
    package var personID: Int64?
    package var kind: String?
    package var subject: String?
    package var statuses: [NoticeStatus]?
    /// Only notices recorded before this time.
    package var until: Instant?
    /// Only notices recorded from this time on.
    package var since: Instant?
    /// Only notices with lower ids.
    package var before: Int64?
    package var limit = 50

    /// Creates a filter that matches all notices.
    package init() {}
}

/// One page of a listing.
package struct NoticePage: Sendable {
    package var notices: [NoticeRecord]
    /// The last id searched, if the search stopped early; nil if it is complete.
    package var stoppedAt: Int64?
}

/// Reads notices, their facts and devices.
package struct NoticeRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    /// The maximum number of ids to search for one page: an index for each filter would slow every
    /// notice down for rare queries.
    private static let reach: Int64 = 20_000
    /// The maximum number of notices to search by the index of uncommon statuses.
    private static let scatteredReach: Int64 = 5_000
    /// The distance by which ids may differ from the order of times: a lower id may commit later.
    private static let slack: Int64 = 10_000

    private static let passes = """
        ($3::text IS NULL OR kind = $3)
            AND ($4::text[] IS NULL OR status = ANY ($4::notification.notice_status[]))
            AND ($5::timestamptz IS NULL OR created_at < $5)
            AND ($6::timestamptz IS NULL OR created_at >= $6)
            AND ($8::text IS NULL OR subject = $8)
        """

    /// Reads matching notices with ids below $1 and from $2 on.
    private static let newest = """
        SELECT \(NoticeRecord.columns) FROM notification.notices
        WHERE id < $1 AND id >= $2 AND \(passes)
        ORDER BY id DESC LIMIT $7
        """

    /// Reads matching notices with uncommon statuses, by their index, among the first $9.
    private static let uncommon = """
        SELECT \(NoticeRecord.columns)
        FROM (
            SELECT \(NoticeRecord.stored) FROM notification.notices
            WHERE is_uncommon AND id < $1 AND id >= $2
            ORDER BY id DESC LIMIT $9
        ) AS looked
        WHERE \(passes)
        ORDER BY id DESC LIMIT $7
        """

    /// Reads matching notices of one person by their index, which is ordered by time; ids differ
    /// from that order by a few places only.
    private static let ofPerson = """
        WITH theirs AS MATERIALIZED (
            SELECT \(NoticeRecord.stored) FROM notification.notices
            WHERE person_id = $9 AND id < $1 AND id >= $2 AND \(passes)
            ORDER BY created_at DESC LIMIT $7 + 1000
        )
        SELECT \(NoticeRecord.columns) FROM theirs ORDER BY id DESC LIMIT $7
        """

    /// The lowest and highest id of the range.
    private static let ends = """
        SELECT coalesce(min(id), 0) AS lowest, coalesce(max(id), 0) AS highest
        FROM notification.notices WHERE id < $1 AND id >= $2
        """

    /// The id at which `uncommon` stopped; no row if it searched all.
    private static let end = """
        SELECT id FROM notification.notices WHERE is_uncommon AND id < $1 AND id >= $2
        ORDER BY id DESC OFFSET $3 - 1 LIMIT 1
        """

    /// Finds the approximate lowest id of the notices recorded from $1 on, by binary search.
    private static let firstID = """
        WITH RECURSIVE half AS (
            SELECT coalesce(min(id), 0) AS low, coalesce(max(id), 0) + 1 AS high
            FROM notification.notices
            UNION ALL
            SELECT CASE WHEN place.is_older THEN middle + 1 ELSE low END,
                CASE WHEN place.is_older THEN high ELSE middle END
            FROM half
            CROSS JOIN LATERAL (SELECT low + (high - low) / 2 AS middle) AS cut
            CROSS JOIN LATERAL (
                SELECT coalesce(max(few.created_at) < $1, false) AS is_older
                FROM (
                    SELECT created_at FROM notification.notices WHERE id >= middle
                    ORDER BY id LIMIT 20
                ) AS few
            ) AS place
            WHERE low < high
        )
        SELECT low FROM half WHERE low >= high LIMIT 1
        """

    /// Returns one page of matching notices, newest first.
    ///
    /// The search stops early if few match: see ``NoticePage/stoppedAt``.
    package func page(_ filter: NoticeFilter) async throws -> NoticePage {
        var below = filter.before ?? .max
        var from: Int64 = 0
        if let until = filter.until {
            below = min(below, try await first(from: until) + Self.slack)
        }
        if let since = filter.since { from = try await first(from: since) - Self.slack }
        if let person = filter.personID {
            return NoticePage(notices: try await read(Self.ofPerson, filter, below, from, person))
        }
        if filter.statuses?.allSatisfy(\.isUncommon) == true {
            let reach = max(Self.scatteredReach, Int64(filter.limit))
            let notices = try await read(Self.uncommon, filter, below, from, reach)
            guard notices.count < filter.limit else { return NoticePage(notices: notices) }
            let end = try await session.query(
                Self.end, [.int64(below), .int64(from), .int64(reach)])
            return NoticePage(notices: notices, stoppedAt: try end.first?.int64("id"))
        }
        let ends = try await session.query(Self.ends, [.int64(below), .int64(from)])
        let floor = try ends.int64(0, 1) + 1 - max(Self.reach, Int64(filter.limit))
        let notices = try await read(Self.newest, filter, below, max(from, floor))
        let isWhole = try notices.count == filter.limit || floor <= ends.int64(0, 0)
        return NoticePage(notices: notices, stoppedAt: isWhole ? nil : floor)
    }

    /// - Parameter extra: the statement's $9, if it has one.
    private func read(
        _ statement: String, _ filter: NoticeFilter, _ below: Int64, _ from: Int64,
        _ extra: Int64? = nil
    ) async throws -> [NoticeRecord] {
        let statuses = filter.statuses.map { Parameter.textArray($0.map(\.rawValue)) }
        let parameters: [Parameter] = [
            .int64(below), .int64(from), .optional(filter.kind), statuses ?? .null,
            .optional(filter.until), .optional(filter.since), .int64(Int64(filter.limit)),
            .optional(filter.subject),
        ]
        return try await session.query(
            statement, parameters + (extra.map { [.int64($0)] } ?? [])
        ).map(NoticeRecord.init)
    }

    private func first(from time: Instant) async throws -> Int64 {
        try await session.query(Self.firstID, [.timestamp(time)]).first?.int64("low") ?? 0
    }

    private static let one = """
        SELECT \(NoticeRecord.columns) FROM notification.notices WHERE id = $1
        """
    private static let personal = """
        SELECT n.data, p.email FROM notification.notices n
        JOIN people.people p ON p.id = n.person_id WHERE n.id = $1
        """
    private static let person = "SELECT FROM people.people WHERE id = $1"

    /// Returns one notice; nil if it does not exist.
    package func notice(_ id: Int64) async throws -> NoticeRecord? {
        try await session.query(Self.one, [.int64(id)]).first.map(NoticeRecord.init)
    }

    /// Returns the personal data of a notice: its facts as JSON, and the person's address.
    package func personal(_ id: Int64) async throws -> (data: [UInt8], email: String?)? {
        try await session.query(Self.personal, [.int64(id)]).first.map {
            (try $0.json("data"), try $0.optionalText("email"))
        }
    }

    /// Returns a person's devices, newest first; nil if the person does not exist.
    package func devices(of person: Int64) async throws -> [DeviceRecord]? {
        let rows = try await session.pipeline(
            [Self.person, DeviceRecord.ofPerson].map { Statement($0, [.int64(person)]) })
        return rows[0].isEmpty ? nil : try rows[1].map(DeviceRecord.init)
    }
}
