package import FoundationEssentials
package import Postgres

/// Until when people are not to be told of a subject again.
package enum Cooldowns {
    /// Forgets some of those that were over an hour before `now`, oldest first.
    ///
    /// They mean nothing any more; the hour is for workers whose clocks differ. To run beside
    /// every statement that begins some: it forgets more than that begins, and waits for nobody.
    package static func forget(now: Date) -> Statement {
        Statement(
            """
            DELETE FROM notification.cooldowns WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM notification.cooldowns WHERE until < $1 - interval '1 hour'
                ORDER BY until LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """, [.timestamp(Instant(date: now))])
    }
}
