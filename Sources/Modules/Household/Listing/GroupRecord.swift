package import ErrandPostgres

/// A group of room-mates as operators see it.
package struct GroupRecord: Sendable {
    package var id: Int64
    package var name: String
    package var zone: String
    /// Of all its bills, by its ISO 4217 code.
    package var currency: String
    package var founder: Int64
    package var createdAt: Instant
    /// When the last member left.
    package var emptiedAt: Instant?
    /// The last day of the last month with notices about balances, as `2026-11-30`.
    package var duesToldOn: String?
    /// Those who live there now.
    package var members: Int
    package var chores: Int
    /// What all owe each other, in minor units.
    package var owed: Int64
    /// Why its time zone cannot be used; its chores do not come until it can.
    package var zoneFault: String?

    // Side by side: a join could be planned to read all balances.
    static let columns = """
        g.id, g.name, g.time_zone, g.currency, g.created_by, g.created_at, g.emptied_at,
        CASE WHEN isfinite(g.balances_notified_on) THEN g.balances_notified_on::text END
            AS balances_notified_on,
        (SELECT count(*) FROM household.members m
            WHERE m.group_id = g.id AND m.left_at IS NULL) AS members,
        (SELECT count(*) FROM household.chores c
            WHERE c.group_id = g.id AND NOT c.is_removed) AS chores,
        (SELECT z.fault FROM household.zones z WHERE z.time_zone = g.time_zone) AS zone_fault,
        \(owing("s.group_id = g.id AND s.person_id < s.other_id", "abs(o.amount)")) AS owed
        """

    /// The sum over the sides that pass a condition, in minor units.
    static func owing(_ condition: String, _ amount: String) -> String {
        """
        (SELECT coalesce(sum(\(amount)), 0)::bigint FROM (
            SELECT (SELECT b.amount FROM ledger.balances b
                WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
            FROM household.sides s WHERE \(condition) OFFSET 0) o)
        """
    }

    init(_ row: Row) throws {
        id = try row.int64("id")
        name = try row.text("name")
        zone = try row.text("time_zone")
        currency = try row.text("currency")
        founder = try row.int64("created_by")
        createdAt = try row.timestamp("created_at")
        emptiedAt = try row.optionalTimestamp("emptied_at")
        duesToldOn = try row.optionalText("balances_notified_on")
        members = Int(try row.int64("members"))
        chores = Int(try row.int64("chores"))
        owed = try row.int64("owed")
        zoneFault = try row.optionalText("zone_fault")
    }
}

/// Who lives in a group, or has lived there.
package struct MemberRecord: Sendable {
    package var person: Int64
    /// The name that the others see.
    package var name: String?
    package var joinedAt: Instant
    package var leftAt: Instant?
    package var isAway: Bool
    /// In minor units: above zero the others owe them so much in all, below zero they owe it.
    package var balance: Int64

    static let columns = """
        m.person_id, m.called, m.joined_at, m.left_at, m.is_away,
        \(GroupRecord.owing(
            "s.group_id = m.group_id AND s.person_id = m.person_id", "o.amount")) AS balance
        """

    init(_ row: Row) throws {
        person = try row.int64("person_id")
        name = try row.optionalText("called")
        joinedAt = try row.timestamp("joined_at")
        leftAt = try row.optionalTimestamp("left_at")
        isAway = try row.bool("is_away")
        balance = try row.int64("balance")
    }
}

/// An invitation that waits for its answer.
package struct InvitationRecord: Sendable {
    package var id: Int64
    package var inviter: Int64
    package var invitee: Int64
    package var sentAt: Instant
    package var expiresAt: Instant

    init(_ row: Row) throws {
        id = try row.int64("id")
        inviter = try row.int64("inviter_id")
        invitee = try row.int64("invitee_id")
        sentAt = try row.timestamp("sent_at")
        expiresAt = try row.timestamp("expires_at")
    }
}

/// How much there is of everything in a group.
package struct GroupTotals: Sendable {
    package var bills: Int
    package var trips: Int
    /// On bills and trips that were not removed, in minor units.
    package var spent: Int64
    package var payments: Int
    /// Turns at chores that are to be done, and of these the ones that are late.
    package var due: Int
    package var overdue: Int
    /// On the shopping list.
    package var items: Int
    package var notes: Int

    init(_ row: Row) throws {
        bills = Int(try row.int64("bills"))
        trips = Int(try row.int64("trips"))
        spent = try row.int64("spent")
        payments = Int(try row.int64("payments"))
        due = Int(try row.int64("due"))
        overdue = Int(try row.int64("overdue"))
        items = Int(try row.int64("items"))
        notes = Int(try row.int64("notes"))
    }
}
