package import FoundationEssentials
package import ErrandPostgres

/// Until when people are not to be told of a subject again.
package enum Cooldowns {
    /// How long one that only leaving ends is remembered after its time, in seconds.
    ///
    /// Who lives next door to a shop is told again after so long.
    static let longestStay = 90 * 86_400.0

    /// Forgets some of those that mean nothing any more, oldest first.
    ///
    /// To run beside every statement that begins some: it forgets more than that begins, and waits
    /// for nobody.
    package static func forget(now: Date) -> Statement {
        Statement(
            """
            DELETE FROM notification.cooldowns WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM notification.cooldowns WHERE forget_at < $1
                ORDER BY forget_at LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """, [.timestamp(Instant(date: now))])
    }

    /// Takes note that people were seen away from subjects: pairs, the people locked before
    /// (``People/lock(_:)``).
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

    /// Begins or renews them as of $5: persons, subjects, their ends, and whether they must leave.
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

/// The people who can be told things.
package enum People {
    /// Locks people, in one order for all, before what is remembered of them is read and changed:
    /// of several workers one after the other decides what a person is told.
    package static func lock(_ ids: some Sequence<Int64>) -> Statement {
        Statement(
            """
            SELECT id FROM people.people WHERE id = ANY ($1)
            ORDER BY id FOR NO KEY UPDATE
            """, [.int64Array(Set(ids).sorted())])
    }
}
