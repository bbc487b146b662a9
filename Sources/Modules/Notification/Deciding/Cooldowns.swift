package import FoundationEssentials
package import ErrandPostgres

/// The cooldowns: when people may be notified of a subject again.
package enum Cooldowns {
    /// The maximum time a cooldown that ends with leaving is kept after its end, in seconds.
    ///
    /// Limits it for people who never leave, such as those who live next to a shop.
    static let longestStay = 90 * 86_400.0

    /// Deletes some expired cooldowns, oldest first.
    ///
    /// Run it with every statement that begins cooldowns: it deletes more than that adds, and skips
    /// locked rows.
    package static func forget(now: Date) -> Statement {
        Statement(
            """
            DELETE FROM notification.cooldowns WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM notification.cooldowns WHERE forget_at < $1
                ORDER BY forget_at LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """, [.timestamp(Instant(date: now))])
    }

    /// Records that people were seen away from subjects.
    ///
    /// The people must be locked (``People/lock(_:)``).
    package static func left(
        _ pairs: [(person: Int64, subject: String)], now: Date
    ) -> Statement {
        Statement(
            """
            UPDATE notification.cooldowns c
            SET left_at = $3, forget_at = greatest(c.until, $3) + interval '1 hour'
            FROM unnest($1::bigint[], $2::text[]) AS a (person_id, subject)
            WHERE c.person_id = a.person_id AND c.subject = a.subject
              AND c.must_leave AND c.left_at IS NULL AND c.since <= $3
            """,
            [
                .int64Array(pairs.map(\.person)), .textArray(pairs.map(\.subject)),
                .timestamp(Instant(date: now)),
            ])
    }

    /// Begins or renews cooldowns as of $5: people, subjects, ends, and whether leaving is
    /// required.
    static let begin = """
        INSERT INTO notification.cooldowns (person_id, subject, since, until, must_leave,
            forget_at)
        SELECT person_id, subject, $5, until, must_leave,
            until + CASE WHEN must_leave THEN make_interval(secs => $6) ELSE '1 hour' END
        FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::boolean[])
            AS b (person_id, subject, until, must_leave)
        ORDER BY person_id, subject
        ON CONFLICT (person_id, subject) DO UPDATE
        SET since = excluded.since, until = excluded.until, must_leave = excluded.must_leave,
            left_at = NULL, forget_at = excluded.forget_at
        """
}

/// The people who can be notified.
package enum People {
    /// Locks people in the order of their ids before their history is read and changed, so that
    /// workers decide about a person one at a time.
    package static func lock(_ ids: some Sequence<Int64>) -> Statement {
        Statement(
            """
            SELECT id FROM people.people WHERE id = ANY ($1)
            ORDER BY id FOR NO KEY UPDATE
            """, [.int64Array(Set(ids).sorted())])
    }
}
