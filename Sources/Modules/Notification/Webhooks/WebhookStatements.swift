/// The statements that read deliveries of events before sending and write their results.
enum WebhookStatements {
    /// Reads the deliveries $1, with all facts that may have changed since they were created.
    static let read = """
        SELECT d.id, d.status = 'pending' AS is_pending, d.status = 'failed' AS has_failed, d.reply,
            v.kind, v.data, v.occurred_at, v.expires_at,
            sha256(convert_to(v.public_id || ':' || d.endpoint_id, 'UTF8')) AS digest,
            e.id AS endpoint_id, e.url, e.secret, e.previous_secret,
            e.disabled_at IS NOT NULL AS is_disabled
        FROM notification.event_deliveries d
        JOIN notification.events v ON v.id = d.event_id
        LEFT JOIN notification.endpoints e ON e.id = d.endpoint_id
        WHERE d.id = ANY ($1)
        """

    /// Writes the results of deliveries as of $5: status, reply and attempts.
    ///
    /// Failed deliveries are included, as an operator may have retried their jobs.
    static let answer = """
        UPDATE notification.event_deliveries d
        SET status = a.status::notification.delivery_status, reply = a.reply,
            attempts = d.attempts + a.attempts,
            answered_at = CASE WHEN a.status <> 'pending' THEN $5 END
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[])
            AS a (id, status, reply, attempts)
        WHERE d.id = a.id
          AND (d.status IN ('pending', 'failed')
              OR d.status = 'withdrawn' AND a.status = 'delivered')
          AND (a.status <> 'pending' OR a.attempts > 0 OR a.reply IS DISTINCT FROM d.reply)
        """

    /// Updates endpoints as of $5 by their results: whether one accepted an event ($2) or is gone
    /// ($3), and its reply ($4).
    ///
    /// Disables endpoints that have failed since before $6. Does not update healthy endpoints.
    ///
    /// Failures more than a day apart start a new series: the endpoint may have worked in between.
    static let judge = """
        UPDATE notification.endpoints e
        SET failing_since = CASE WHEN NOT a.took
                THEN CASE WHEN e.failed_at > $5 - interval '1 day'
                    THEN coalesce(e.failing_since, $5) ELSE $5 END END,
            failed_at = CASE WHEN NOT a.took THEN $5 END,
            disabled_at = CASE WHEN a.gone OR \(isDead) THEN $5 END,
            disabled_reason = CASE WHEN a.gone THEN a.reply
                WHEN \(isDead) THEN 'no success since '
                    || to_char(e.failing_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                    || ': ' || a.reply END
        FROM unnest($1::bigint[], $2::boolean[], $3::boolean[], $4::text[])
            AS a (id, took, gone, reply)
        WHERE e.id = a.id AND e.disabled_at IS NULL
          AND (a.gone OR a.took AND e.failing_since IS NOT NULL
              OR NOT a.took AND (e.failing_since IS NULL OR \(isDead)
                  OR e.failed_at < $5 - interval '1 hour'))
        """

    private static let isDead = """
        NOT a.took AND e.failing_since < $6 AND e.failed_at > $5 - interval '1 day'
        """

    /// The pending deliveries whose jobs died since $1.
    static let abandoned = """
        SELECT DISTINCT ON (d.id) d.id, \(CloseUndelivered.why)
        FROM errand.dead_jobs j
        JOIN notification.event_deliveries d ON d.id = \(CloseUndelivered.id("delivery_id"))
        WHERE j.kind = '\(WebhookDelivery.kind)' AND j.finished_at > $1 AND d.status = 'pending'
        ORDER BY d.id, j.id
        """

    /// Ends the deliveries $1 with the reasons $2, as of $3.
    static let endAbandoned = """
        UPDATE notification.event_deliveries d
        SET status = 'failed', reply = f.reason, answered_at = $3
        FROM unnest($1::bigint[], $2::text[]) AS f (id, reason)
        WHERE d.id = f.id AND d.status = 'pending'
        """
}
