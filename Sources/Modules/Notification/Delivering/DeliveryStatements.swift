/// The statements that read deliveries before sending and write their results.
enum DeliveryStatements {
    /// Reads the deliveries $1, with all facts that may have changed since the decision.
    static let read = """
        SELECT d.id, d.notice_id, d.status = 'pending' AND n.status = 'pending' AS is_pending,
            d.status IN ('rejected', 'failed') AND n.status IN ('failed', 'sent')
                OR d.status = 'withdrawn' AND d.reply = '\(cancelled)'
                    AND n.status IN ('withdrawn', 'sent') AS may_reopen,
            d.provider, d.device_id, n.public_id::text AS public_id, n.kind, n.subject, n.data,
            n.person_id, n.has_secrets, s.facts AS secrets,
            CASE WHEN s.facts IS NOT NULL THEN n.data || s.facts END AS all_facts,
            n.expires_at, coalesce(n.decided_at, n.created_at) AS decided_at,
            sha256(convert_to(n.public_id || ':' || coalesce(d.device_id, 0), 'UTF8')) AS digest,
            md5(n.kind || ' ' || n.subject) AS collapse_id,
            CASE WHEN p.email_refused_at IS NULL THEN p.email END AS email,
            p.time_zone, (p.birth_date - date '1970-01-01')::int AS birth_day,
            p.age_verified_at IS NOT NULL AS is_age_verified,
            p.location_consent_at IS NOT NULL AS agrees_to_location,
            p.blocked_at IS NOT NULL AS is_blocked, p.erased_at IS NOT NULL AS is_erased,
            \(NoticePlannerStatements.choices) AS choices,
            CASE WHEN d.device_id IS NULL THEN p.unsubscribe_token::text END AS unsubscribe_token,
            v.token, v.topic, v.environment, v.registered_at,
            v.person_id = n.person_id AND v.disabled_at IS NULL AS takes_pushes
        FROM notification.deliveries d
        JOIN notification.notices n ON n.id = d.notice_id
        JOIN people.people p ON p.id = n.person_id
        LEFT JOIN notification.devices v ON v.id = d.device_id
        LEFT JOIN notification.secrets s ON n.has_secrets AND s.notice_id = n.id
        WHERE d.id = ANY ($1)
        """

    /// The reason of a delivery or notice whose job was cancelled.
    static let cancelled = "cancelled by an operator"

    /// Reopens the deliveries $1, whose dead or cancelled jobs were retried.
    static let reopen = """
        WITH opened AS (
            UPDATE notification.deliveries SET status = 'pending', reply = NULL, answered_at = NULL
            WHERE id = ANY ($1) AND status IN ('rejected', 'failed', 'withdrawn')
            RETURNING notice_id
        )
        UPDATE notification.notices SET status = 'pending', reason = NULL, answered_at = NULL
        WHERE id IN (SELECT notice_id FROM opened) AND status IN ('failed', 'sent', 'withdrawn')
        """

    /// Locks the notices $1, so that the last of several deliveries sees the results of the others.
    static let lockNotices = """
        SELECT id FROM notification.notices WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
        """

    /// Locks the people of the notices $1, and those of $2 whose addresses have bounced.
    static let lockPeople = """
        SELECT id FROM people.people
        WHERE id IN (SELECT person_id FROM notification.notices WHERE id = ANY ($1))
            OR id = ANY ($2) AND email_bounces <> '{}'
        ORDER BY id FOR NO KEY UPDATE
        """

    /// Writes the results of deliveries as of $5: status, reply and attempts.
    ///
    /// A delivery that was withdrawn while the provider accepted it becomes delivered.
    static let answer = """
        UPDATE notification.deliveries d
        SET status = a.status::notification.delivery_status, reply = a.reply,
            attempts = d.attempts + a.attempts,
            answered_at = CASE WHEN a.status <> 'pending' THEN $5 END
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[])
            AS a (id, status, reply, attempts)
        WHERE d.id = a.id
          AND (d.status = 'pending' OR d.status = 'withdrawn' AND a.status = 'delivered')
          AND (a.status <> 'pending' OR a.attempts > 0 OR a.reply IS DISTINCT FROM d.reply)
        """

    /// Ends the notices of $1 whose deliveries have all ended, as of $2.
    ///
    /// A notice counts as sent if any channel, or the inbox, reached the person. The type lists
    /// its statuses from best to worst.
    static let settle = """
        UPDATE notification.notices n
        SET status = f.status::notification.notice_status, reason = f.reason, answered_at = $2,
            send_decided_at = CASE WHEN f.status = 'sent'
                THEN coalesce(n.send_decided_at, n.decided_at) END
        FROM (
            SELECT d.notice_id, (array_agg(d.reply ORDER BY d.status, d.id))[1] AS reason,
                CASE WHEN min(d.status) = 'delivered' OR EXISTS (
                        SELECT FROM notification.inbox_items i WHERE i.notice_id = d.notice_id)
                    THEN 'sent'
                    WHEN min(d.status) IN ('rejected', 'gone', 'failed') THEN 'failed'
                    ELSE min(d.status)::text END AS status
            FROM notification.deliveries d WHERE d.notice_id = ANY ($1)
            GROUP BY d.notice_id HAVING bool_and(d.status <> 'pending')
        ) f
        WHERE n.id = f.notice_id
          AND (n.status = 'pending' OR n.status = 'withdrawn' AND f.status = 'sent')
        """

    /// Ends the cooldowns that the failed notices of $1 began, so that the person may be notified
    /// again.
    ///
    /// Excludes notices that would be rejected again.
    static let endCooldowns = """
        DELETE FROM notification.cooldowns c
        USING notification.notices n
        LEFT JOIN notification.notices m ON m.merged_into = n.id
        WHERE n.id = ANY ($1) AND n.status IN ('failed', 'expired', 'withdrawn')
          AND c.person_id = n.person_id AND c.subject = coalesce(m.subject, n.subject)
          AND c.since = n.decided_at
          AND NOT EXISTS (SELECT FROM notification.deliveries d
              WHERE d.notice_id = n.id AND d.status = 'rejected')
        """

    /// Marks addresses as refused, unless the person has changed theirs.
    static let refuseAddresses = """
        UPDATE people.people p SET email_refused_at = $3
        FROM unnest($1::bigint[], $2::text[]) AS b (id, email)
        WHERE p.id = b.id AND p.email = b.email
        """

    /// Clears the bounces of addresses that accepted a mail, unless the person has changed theirs.
    static let forgetBounces = """
        UPDATE people.people p SET email_bounces = '{}', email_bounced_at = NULL
        FROM unnest($1::bigint[], $2::text[]) AS b (id, email)
        WHERE p.id = b.id AND p.email = b.email AND p.email_bounces <> '{}'
        """

    /// Records as of $4 that addresses bounced the notices $3, each once, unless the person has
    /// changed theirs.
    static let countBounces = """
        UPDATE people.people p
        SET email_bounces = ARRAY(SELECT DISTINCT unnest(p.email_bounces || b.notices)),
            email_bounced_at = $4
        FROM (
            SELECT id, email, array_agg(notice_id) AS notices
            FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS b (id, email, notice_id)
            GROUP BY id, email
        ) b
        WHERE p.id = b.id AND p.email = b.email
        """

    /// Marks as refused, as of $3, the addresses of the people $1 that have bounced $2 notices.
    static let refuseBouncing = """
        UPDATE people.people SET email_refused_at = $3
        WHERE id = ANY ($1) AND cardinality(email_bounces) >= $2 AND email_refused_at IS NULL
        """

    /// Disables devices, unless they were registered again in the meantime.
    static let disableDevices = """
        UPDATE notification.devices v SET disabled_at = $4, disabled_reason = b.reason
        FROM unnest($1::bigint[], $2::timestamptz[], $3::text[]) AS b (id, registered_at, reason)
        WHERE v.id = b.id AND v.registered_at = b.registered_at AND v.disabled_at IS NULL
        """
}
