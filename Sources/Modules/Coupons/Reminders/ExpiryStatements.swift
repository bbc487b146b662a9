package import ErrandNotification
package import ErrandPostgres

extension Expiry {
    /// Maximum number of coupons listed in a mail; it counts the others.
    private static let listed = 20

    /// Reads one page of coupons, sorted by expiry, and the people to notify: those whose notice
    /// time is before the next run, or has passed since the last run.
    ///
    /// A notice lists all of the person's coupons with the same last day, on whichever page they
    /// are. Each row has the page's last coupon and the number of coupons scanned.
    package static let statement = """
        WITH page AS MATERIALIZED (
            SELECT c.id, c.person_id, c.expires_at, c.valid_from
            FROM coupons.coupons c
            WHERE c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.expired_at IS NULL AND (c.expires_at, c.id) > ($9, $10) AND c.expires_at <= $11
            ORDER BY c.expires_at, c.id LIMIT $12
        ), due AS (
            SELECT DISTINCT p.id AS person_id, w.last_day, w.after, w.through, w.until,
                'coupons-expiring:' || p.id || ':' || w.last_day || ':' || $7::int AS dedupe_key
            FROM page g
            JOIN people.people p ON p.id = g.person_id
            JOIN unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[],
                    $5::timestamptz[], $6::int[]) AS w (zone, last_day, after, through, until, now)
                ON w.zone = p.time_zone AND g.expires_at > w.after AND g.expires_at <= w.through
            WHERE g.valid_from <= $8
              AND extract(epoch FROM p.notice_time) < w.now + 3600
              AND (w.now < $13 OR extract(epoch FROM p.notice_time) >= w.now)
        ), notified AS (
            SELECT d.person_id, d.last_day, d.dedupe_key, d.until,
                jsonb_build_object('titles', c.titles, 'count', c.count,
                    'more', greatest(c.count - \(listed), 0), 'days_left', $7::int,
                    'last_day', d.last_day)::text AS data
            FROM due d CROSS JOIN LATERAL (
                SELECT count(*) AS count,
                    to_jsonb((array_agg(c.title ORDER BY c.expires_at, c.id))[:\(listed)]) AS titles
                FROM coupons.coupons c
                WHERE c.person_id = d.person_id AND c.redeemed_at IS NULL AND c.voided_at IS NULL
                  AND c.expired_at IS NULL AND c.expires_at > d.after
                  AND c.expires_at <= d.through AND c.valid_from <= $8
            ) c
            WHERE NOT EXISTS (
                SELECT FROM notification.notices n WHERE n.dedupe_key = d.dedupe_key)
        )
        SELECT l.looked_at, l.expires_at, l.id, t.person_id, t.last_day, t.dedupe_key, t.until,
            t.data
        FROM (
            SELECT count(*) OVER () AS looked_at, expires_at, id FROM page
            UNION ALL SELECT 0, NULL, NULL
            ORDER BY expires_at DESC NULLS LAST, id DESC LIMIT 1
        ) l LEFT JOIN notified t ON true
        """

    /// The parameters of the statement: windows, distance, time, position and page size.
    package func parameters(_ scan: ExpiryScan) -> [Parameter] {
        scan.parameters + [
            .timestamp(Instant(date: run.due)),
            .timestamp(scan.last.expiry), .int64(scan.last.id), .timestamp(scan.through),
            .int32(run.pageSize), .int32(Int32(ExpiryWindow.late)),
        ]
    }
}
