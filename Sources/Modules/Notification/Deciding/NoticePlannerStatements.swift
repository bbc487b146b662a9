/// The statements that read facts before a decision and write its result.
enum NoticePlannerStatements {
    /// The preferences of the person p: `kind channel` with + or -.
    static let choices = """
        ARRAY(SELECT r.kind || ' ' || r.channel || CASE WHEN r.is_on THEN '+' ELSE '-' END
            FROM notification.preferences r WHERE r.person_id = p.id)
        """

    /// Reads the facts about people as of $2; counts promotional notices only if $3.
    static let people = """
        SELECT p.id, p.time_zone, (p.birth_date - date '1970-01-01')::int AS birth_day,
            p.age_verified_at IS NOT NULL AS is_age_verified,
            p.location_consent_at IS NOT NULL AS agrees_to_location,
            p.blocked_at IS NOT NULL AS is_blocked, p.erased_at IS NOT NULL AS is_erased,
            p.email IS NOT NULL AND p.email_refused_at IS NULL AS takes_mail, p.muted_until,
            extract(epoch FROM p.notice_time)::int AS notice_time,
            extract(epoch FROM p.quiet_from)::int AS quiet_from,
            extract(epoch FROM p.quiet_until)::int AS quiet_until,
            \(choices) AS choices,
            d.ids AS devices, d.apps, d.platforms,
            CASE WHEN $3 THEN (SELECT count(*) FROM notification.notices n
                WHERE n.person_id = p.id AND n.send_decided_at > $2 - interval '24 hours'
                  AND n.urgency = 'promotional') ELSE 0 END AS promotional
        FROM people.people p
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(d.id ORDER BY d.id), '{}') AS ids,
                coalesce(array_agg(d.app ORDER BY d.id), '{}') AS apps,
                coalesce(array_agg(d.platform ORDER BY d.id), '{}') AS platforms
            FROM notification.devices d WHERE d.person_id = p.id AND d.disabled_at IS NULL
        ) d
        WHERE p.id = ANY ($1)
        """

    /// Reads the history of the same subjects: cooldowns, and reminders since $7 without the
    /// notices $6.
    static let histories = """
        SELECT i.n, c.until, c.must_leave AND c.left_at IS NULL AS is_still_there,
            CASE WHEN i.sender_id IS NULL THEN '{}'::timestamptz[] ELSE
                ARRAY(SELECT r.created_at FROM notification.notices r
                    WHERE r.person_id = i.person_id AND r.sender_id = i.sender_id
                      AND r.subject = i.subject AND r.created_at > $7
                      AND r.status IN ('held', 'pending', 'sent', 'merged')
                      AND r.id <> ALL ($6)
                    ORDER BY r.created_at) END AS reminders,
            EXISTS (SELECT FROM notification.notices k WHERE k.dedupe_key = i.dedupe_key)
                AS is_known
        FROM unnest($1::int[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])
            AS i (n, person_id, subject, sender_id, dedupe_key)
        LEFT JOIN notification.cooldowns c
            ON c.person_id = i.person_id AND c.subject = i.subject
        """

    /// Inserts decided notices, ordered by dedupe key so that concurrent inserts of the same events
    /// do not deadlock.
    static let insert = """
        INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key, expires_at,
            sender_id, status, reason, hold_until, hold_reason, app, urgency, send_decided_at,
            answered_at, created_at, decided_at, job_id)
        SELECT person_id, kind, subject, data, dedupe_key, expires_at, sender_id,
            status::notification.notice_status, reason, hold_until, hold_reason, app, urgency,
            CASE WHEN status IN ('pending', 'sent') THEN $14 END,
            CASE WHEN status NOT IN ('pending', 'held') THEN $14 END, $14, $14, $15
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::jsonb[], $5::text[],
                $6::timestamptz[], $7::bigint[], $8::text[], $9::text[], $10::timestamptz[],
                $11::text[], $12::text[], $13::text[])
            AS i (person_id, kind, subject, data, dedupe_key, expires_at, sender_id, status,
                reason, hold_until, hold_reason, app, urgency)
        ORDER BY dedupe_key
        ON CONFLICT (dedupe_key) DO NOTHING
        RETURNING id, dedupe_key
        """

    /// Records the decisions about notices that have a row.
    static let update = """
        UPDATE notification.notices n
        SET status = i.status::notification.notice_status, reason = i.reason,
            hold_until = i.hold_until, hold_reason = coalesce(i.hold_reason, n.hold_reason),
            app = i.app, urgency = i.urgency, merged_into = i.merged_into,
            send_decided_at = CASE WHEN i.status IN ('pending', 'sent') THEN $9 END,
            answered_at = CASE WHEN i.status NOT IN ('pending', 'held') THEN $9 END,
            decided_at = $9, job_id = coalesce($10, n.job_id)
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[],
                $6::text[], $7::text[], $8::bigint[])
            AS i (id, status, reason, hold_until, hold_reason, app, urgency, merged_into)
        WHERE n.id = i.id
        """

    /// Inserts the deliveries.
    static let deliver = """
        INSERT INTO notification.deliveries (notice_id, device_id, provider, created_at)
        SELECT notice_id, device_id, provider, $4
        FROM unnest($1::bigint[], $2::bigint[], $3::text[])
            AS w (notice_id, device_id, provider)
        RETURNING id
        """

    static let putIntoInbox = """
        INSERT INTO notification.inbox_items (notice_id, person_id, app, title, body, created_at)
        SELECT notice_id, person_id, app, title, body, $6
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[])
            AS i (notice_id, person_id, app, title, body)
        """

    /// Parks inbox items until their batch is released.
    static let parkItems = """
        INSERT INTO notification.parked_items (notice_id, person_id, app, title, body, is_alone,
            batch)
        SELECT notice_id, person_id, app, title, body, is_alone, $7
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::boolean[])
            AS i (notice_id, person_id, app, title, body, is_alone)
        """

    /// Parks deliveries; their jobs are created when their batch is released.
    static let parkDeliveries = """
        INSERT INTO notification.parked_deliveries (delivery_id, batch, queue, kind, args_version,
            priority, max_attempts, job_id)
        SELECT d, $2, $3, $4, $5, $6, $7, $8 FROM unnest($1::bigint[]) AS d
        """

    /// Locks the undecided notices of $1, and the held notices of the same people and kinds that
    /// are due by $2, which may merge with them.
    static let takeUndecided = """
        SELECT n.id, n.person_id, n.kind, n.subject, n.data, n.dedupe_key, n.expires_at,
            n.sender_id, n.status = 'held' AS is_held
        FROM notification.notices n
        WHERE n.status IN ('intended', 'held') AND n.id = ANY (ARRAY(
            SELECT unnest($1::bigint[])
            UNION
            SELECT s.id FROM notification.notices b
            JOIN notification.notices s ON s.person_id = b.person_id AND s.kind = b.kind
            WHERE b.id = ANY ($1) AND b.is_held AND s.is_held AND s.hold_until <= $2))
        ORDER BY n.id FOR NO KEY UPDATE
        """
}
