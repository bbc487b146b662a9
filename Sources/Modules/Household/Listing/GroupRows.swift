package import ErrandPostgres

/// Which groups are listed; nil filters nothing.
package struct GroupFilter: Sendable {
    /// Only those where this person lives or has lived.
    package var person: Int64?
    /// Only those of this zone, by its IANA name.
    package var zone: String?
    /// Only those where somebody owes.
    package var isOwing = false
    /// Go on behind the group of this id.
    package var behind: Int64?
    package var limit = 50

    /// A filter that all groups pass.
    package init() {}
}

/// The rows of groups of room-mates, and of what goes with them.
package struct GroupRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let listing = """
        SELECT \(GroupRecord.columns) FROM household.groups g
        WHERE ($1::bigint IS NULL OR g.id IN (
              SELECT m.group_id FROM household.members m WHERE m.person_id = $1))
          AND ($2::text IS NULL OR g.time_zone = $2)
          AND (NOT $3 OR EXISTS (SELECT FROM household.balances(ARRAY[g.id])))
          AND g.id < coalesce($4, 9223372036854775807)
        ORDER BY g.id DESC LIMIT $5
        """

    /// One page of the groups that pass a filter, the newest first.
    package func page(_ filter: GroupFilter) async throws -> [GroupRecord] {
        try await session.query(
            Self.listing,
            [
                .optional(filter.person), .optional(filter.zone), .bool(filter.isOwing),
                .optional(filter.behind), .int64(Int64(filter.limit)),
            ]
        ).map(GroupRecord.init)
    }

    private static let one = """
        SELECT \(GroupRecord.columns) FROM household.groups g WHERE g.id = $1
        """

    /// Nil when there is none of that id.
    package func group(_ id: Int64) async throws -> GroupRecord? {
        try await session.query(Self.one, [.int64(id)]).map(GroupRecord.init).first
    }

    private static let members = """
        SELECT \(MemberRecord.columns) FROM household.members m WHERE m.group_id = $1
        ORDER BY m.left_at DESC NULLS FIRST, m.joined_at, m.person_id
        """
    private static let invitations = """
        SELECT i.id, i.inviter_id, i.invitee_id, i.sent_at, i.expires_at
        FROM household.invitations i
        WHERE i.group_id = $1 AND i.state = 'sent' AND i.expires_at > $2 ORDER BY i.id
        """
    private static let totals = """
        SELECT count(*) FILTER (WHERE NOT b.is_trip) AS bills,
            count(*) FILTER (WHERE b.is_trip) AS trips,
            coalesce(sum(b.amount), 0)::bigint AS spent,
            (SELECT count(*) FROM household.payments p
                WHERE p.group_id = $1 AND p.undone_at IS NULL) AS payments,
            o.due, o.overdue,
            (SELECT count(*) FROM household.items i
                WHERE i.group_id = $1 AND i.state = 'open') AS items,
            (SELECT count(*) FROM household.notes n
                WHERE n.group_id = $1 AND n.expires_at > $2) AS notes
        FROM (SELECT count(*) AS due, count(*) FILTER (WHERE o.state = 'overdue') AS overdue
            FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
            WHERE c.group_id = $1 AND NOT c.is_removed AND o.state IN ('due', 'overdue')) o
        LEFT JOIN household.bills b ON b.group_id = $1 AND NOT b.is_removed
        GROUP BY o.due, o.overdue
        """

    /// A group with who is in it and how much there is of everything.
    package struct Whole: Sendable {
        package var group: GroupRecord
        /// Those who live there first, then those who left, the latest first.
        package var members: [MemberRecord]
        package var invitations: [InvitationRecord]
        package var totals: GroupTotals
    }

    /// All about a group as of `now`; nil when there is none of that id.
    package func whole(_ id: Int64, now: Instant) async throws -> Whole? {
        let (group, now) = (Parameter.int64(id), Parameter.timestamp(now))
        let rows = try await session.pipeline([
            Statement(Self.one, [group]), Statement(Self.members, [group]),
            Statement(Self.invitations, [group, now]), Statement(Self.totals, [group, now]),
        ])
        guard let row = rows[0].first, let counted = rows[3].first else { return nil }
        return Whole(
            group: try GroupRecord(row), members: try rows[1].map(MemberRecord.init),
            invitations: try rows[2].map(InvitationRecord.init),
            totals: try GroupTotals(counted))
    }

    private static let feed = """
        SELECT e.number, e.at, e.kind, e.person_id, e.data FROM household.events e
        WHERE e.group_id = $1 ORDER BY e.number DESC
        """

    /// The last completed activities in a group, the newest first; a group keeps 30 of them.
    package func feed(of group: Int64) async throws -> [FeedRecord] {
        try await session.query(Self.feed, [.int64(group)]).map(FeedRecord.init)
    }
}

/// One activity in a group.
package struct FeedRecord: Sendable {
    /// Counted from 1, over the life of the group.
    package var number: Int64
    package var at: Instant
    package var kind: String
    package var person: Int64?
    /// Ids of what it is about, as a JSON object.
    package var data: [UInt8]

    init(_ row: Row) throws {
        number = try row.int64("number")
        at = try row.timestamp("at")
        kind = try row.text("kind")
        person = try row.optionalInt64("person_id")
        data = try row.json("data")
    }
}
