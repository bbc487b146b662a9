-- The hourly jobs: expired invitations, and those that expire soon.

-- Marks expired invitations, soonest first; returns how many it looked at. Fewer than max_rows
-- means that none is left. The clock decides whether an invitation is expired, so the sweep may be
-- late. It stays ten minutes behind, for transactions that have not committed.
CREATE OR REPLACE FUNCTION surveys.expire(
    max_rows int DEFAULT 1000, at timestamptz DEFAULT clock_timestamp()
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    -- Read once, so that it is a bound of the index.
    through CONSTANT timestamptz := least(at, clock_timestamp()) - interval '10 minutes';
    swept surveys.sweeps;
    looked_at bigint;
BEGIN
    -- Two sweeps wait for each other.
    SELECT * INTO swept FROM surveys.sweeps s WHERE s.sweep = 'expire' FOR NO KEY UPDATE;
    WITH page AS MATERIALIZED (
        SELECT i.id, i.expires_at, i.state FROM surveys.invitations i
        WHERE i.person_id IS NOT NULL AND (i.expires_at, i.id) > (swept.at, swept.id)
          AND i.expires_at <= through
        ORDER BY i.expires_at, i.id LIMIT max_rows
    ), expired AS (
        UPDATE surveys.invitations i SET state = 'expired', ended_at = at
        FROM page g WHERE g.id = i.id AND g.state = 'open' AND i.state = 'open'
    )
    SELECT (SELECT count(*) FROM page), l.expires_at, l.id INTO looked_at, swept.at, swept.id
    FROM (SELECT) AS o LEFT JOIN (
        SELECT g.expires_at, g.id FROM page g ORDER BY g.expires_at DESC, g.id DESC LIMIT 1
    ) AS l ON true;
    UPDATE surveys.sweeps s
    SET at = coalesce(swept.at, s.at), id = coalesce(swept.id, s.id),
        ended_at = CASE WHEN looked_at < max_rows THEN clock_timestamp() ELSE s.ended_at END
    WHERE s.sweep = 'expire';
    RETURN looked_at;
END $$;

-- Reads one page of open invitations that expire in some windows, and the people to notify: those
-- whose notice time is before the next hour, or has passed since the last. The arrays have a window
-- for each time zone and last day: see ExpiryWindow of coupons. A notice lists all of the person's
-- surveys with the same last day, on whichever page they are.
--
-- Each row has the page's last invitation and the number of those that were looked at; person_id is
-- null if nobody is to be notified. A generic plan would misestimate the windows.
CREATE OR REPLACE FUNCTION surveys.due_reminders(
    zones text[], last_days text[], afters timestamptz[], throughs timestamptz[],
    untils timestamptz[], seconds_of_day int[], days_left int, after_expiry timestamptz,
    after_id bigint, through timestamptz, page_size int, late int,
    through_id bigint DEFAULT 9223372036854775807
) RETURNS TABLE (looked_at bigint, expires_at timestamptz, id bigint, person_id bigint,
    last_day text, dedupe_key text, until timestamptz, data text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY WITH page AS MATERIALIZED (
        SELECT i.id, i.person_id, i.expires_at, i.state FROM surveys.invitations i
        WHERE i.person_id IS NOT NULL AND (i.expires_at, i.id) > (after_expiry, after_id)
          AND (i.expires_at, i.id) <= ($10, through_id)
        ORDER BY i.expires_at, i.id LIMIT page_size
    ), due AS (
        SELECT DISTINCT p.id AS person_id, w.last_day, w.after, w.through, w.until,
            'surveys-expiring:' || p.id || ':' || w.last_day || ':' || days_left AS dedupe_key
        FROM page g
        JOIN people.people p ON p.id = g.person_id AND p.blocked_at IS NULL
        JOIN unnest(zones, last_days, afters, throughs, untils, seconds_of_day)
                AS w (zone, last_day, after, through, until, now)
            ON w.zone = p.time_zone AND g.expires_at > w.after AND g.expires_at <= w.through
        WHERE g.state = 'open' AND extract(epoch FROM p.notice_time) < w.now + 3600
          AND (w.now < late OR extract(epoch FROM p.notice_time) >= w.now)
    ), notified AS (
        SELECT d.person_id, d.last_day, d.dedupe_key, d.until,
            jsonb_build_object('titles', c.titles, 'count', c.count,
                'more', greatest(c.count - 20, 0), 'days_left', days_left,
                'last_day', d.last_day)::text AS data
        FROM due d CROSS JOIN LATERAL (
            SELECT count(*) AS count,
                to_jsonb((array_agg(v.title ORDER BY i.expires_at, i.id))[:20]) AS titles
            FROM surveys.invitations i
            JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
            WHERE i.person_id = d.person_id AND i.state = 'open' AND i.expires_at > d.after
              AND i.expires_at <= d.through
        ) c
        WHERE NOT EXISTS (
            SELECT FROM notification.notices n WHERE n.dedupe_key = d.dedupe_key)
    )
    SELECT l.looked_at, l.expires_at, l.id, t.person_id, t.last_day, t.dedupe_key, t.until, t.data
    FROM (
        SELECT count(*) OVER () AS looked_at, page.expires_at, page.id FROM page
        UNION ALL SELECT 0, NULL, NULL
        ORDER BY expires_at DESC NULLS LAST, id DESC LIMIT 1
    ) l LEFT JOIN notified t ON true;
END $$;
