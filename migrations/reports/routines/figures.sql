-- The figures of a report, computed for one establishment at a time by its indexes.

-- Only answers of people who share are in a report: they agreed to it and are not blocked. Each
-- query asks by a subquery that yields true, as a function would be planned again for each row, and
-- EXISTS may become a hash of all consents.

-- The invitations, completions and answers of a report, with the names of what was asked.
CREATE OR REPLACE FUNCTION reports.survey_figures(r reports.reports) RETURNS SETOF reports.figure
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH read AS MATERIALIZED (
        SELECT * FROM reports.measures(r)
    ), asked AS MATERIALIZED (
        SELECT q.survey_id, q.version, q.number, q.kind, q.number::text AS name, q.label,
            CASE q.kind WHEN 'rating' THEN '{1,2,3,4,5}' WHEN 'yes_no' THEN '{yes,no}'
                ELSE q.options END AS options
        FROM surveys.questions q
        WHERE (q.survey_id, q.version) IN (SELECT m.survey_id, m.version FROM read m
            WHERE m.what = 'completion')
    )
    SELECT 'survey', NULL::bigint, v.survey_id, v.version, NULL::int, NULL::int, NULL::text,
        NULL::numeric, v.title
    FROM surveys.versions v
    WHERE (v.survey_id, v.version) IN (SELECT m.survey_id, m.version FROM read m
        WHERE m.what = 'completion')
    UNION ALL SELECT 'question', NULL, a.survey_id, a.version, a.number, NULL, a.kind::text, NULL,
        a.label FROM asked a
    UNION ALL SELECT 'option', NULL, a.survey_id, a.version, a.number, o.item::int, NULL, NULL,
        o.option FROM asked a CROSS JOIN unnest(a.options) WITH ORDINALITY AS o (option, item)
    UNION ALL SELECT 'answer', m.branch, m.survey_id, m.version, a.number, m.item, m.measure,
        round(m.value, 4), NULL
    FROM read m JOIN asked a ON a.survey_id = m.survey_id AND a.version = m.version
        AND a.name = m.key
    WHERE m.what = 'figure' AND (a.kind = 'rating' OR m.measure NOT IN ('mean', 'median'))
    UNION ALL SELECT 'summary', m.branch, NULL, NULL, NULL, NULL,
        CASE WHEN m.key <> 'seconds' THEN m.key WHEN m.measure = 'median' THEN 'median_minutes'
            ELSE 'completed' END,
        CASE m.measure WHEN 'median' THEN round(m.value / 60, 2) ELSE m.value END, NULL
    FROM read m
    WHERE m.what = 'figure' AND m.survey_id IS NULL
      AND (m.measure = 'answered' OR m.key = 'seconds' AND m.measure = 'median')
    UNION ALL SELECT 'print', m.branch, m.survey_id, m.version, NULL, NULL, m.what, NULL, m.words
    FROM read m WHERE m.what IN ('completion', 'invitation')
    UNION ALL SELECT 'text', m.branch, m.survey_id, m.version, m.key::int, NULL, NULL, NULL, m.words
    FROM read m WHERE m.what = 'text';
END $$;

-- The coupons of the establishment, and the notices to people near it.
CREATE OR REPLACE FUNCTION reports.coupon_figures(r reports.reports) RETURNS SETOF reports.figure
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH held AS MATERIALIZED (
        SELECT c.id, c.valid_from >= r.from_at AS granted,
            coalesce(c.redeemed_at >= r.from_at AND c.redeemed_at < r.until_at, false) AS redeemed,
            c.redeemed_at IS NULL AND c.voided_at IS NULL AND c.expires_at < r.until_at AS expired,
            (SELECT count(*)::int FROM notification.notices n
                WHERE n.person_id = c.person_id AND n.urgency = 'promotional'
                  AND n.send_decided_at >= r.from_at AND n.send_decided_at < r.until_at
                  AND n.kind = 'coupon.nearby' AND n.subject = 'coupon:' || c.id
                  AND n.status IN ('pending', 'sent')) AS near
        FROM coupons.coupons c
        WHERE c.establishment_id = r.establishment_id AND c.expires_at >= r.from_at
          AND c.valid_from < r.until_at AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    )
    SELECT 'coupons', NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::int, m.measure,
        m.value::numeric, NULL::text
    FROM (
        SELECT count(*) FILTER (WHERE h.granted) AS granted,
            count(*) FILTER (WHERE h.redeemed) AS redeemed,
            count(*) FILTER (WHERE h.expired) AS expired, coalesce(sum(h.near), 0) AS near
        FROM held h
    ) AS f
    CROSS JOIN LATERAL (VALUES ('granted', f.granted), ('redeemed', f.redeemed),
        ('expired', f.expired), ('near_notices', f.near)) AS m (measure, value)
    UNION ALL SELECT 'print', NULL, NULL, NULL, NULL, NULL, 'coupon', NULL, p.rows
    FROM (
        SELECT string_agg((256 * h.id + least(h.near, 31) * 8 + h.granted::int * 4
            + h.redeemed::int * 2 + h.expired::int)::text, ',' ORDER BY h.id) AS rows
        FROM held h WHERE h.granted OR h.redeemed OR h.expired OR h.near > 0
    ) AS p
    WHERE p.rows IS NOT NULL;
END $$;

-- Missions that were approved, and what shoppers who share found.
CREATE OR REPLACE FUNCTION reports.mission_figures(r reports.reports) RETURNS SETOF reports.figure
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH approved AS MATERIALIZED (
        SELECT a.id, a.mission_id, a.branch_id, row_number() OVER (ORDER BY a.id) AS number
        FROM missions.missions m JOIN missions.assignments a ON a.mission_id = m.id
        WHERE m.establishment_id = r.establishment_id AND a.state = 'paid'
          AND a.ended_at >= r.from_at AND a.ended_at < r.until_at AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = a.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    ), found AS MATERIALIZED (
        SELECT a.branch_id, a.id, a.number AS visit, t.number, t.title, t.kind, (
            SELECT string_agg(CASE WHEN jsonb_typeof(v.value) = 'boolean'
                    THEN CASE v.value WHEN 'true' THEN 'yes' ELSE 'no' END
                    ELSE v.value #>> '{}' END, ' | ' ORDER BY v.place)
            FROM jsonb_path_query(s.content, 'strict $.** ? (@.type() != "object"
                && @.type() != "array" && @.type() != "null")')
                WITH ORDINALITY AS v (value, place)) AS words
        FROM approved a JOIN missions.tasks t ON t.mission_id = a.mission_id
        JOIN missions.steps s ON s.assignment_id = a.id AND s.number = t.number
    )
    SELECT 'mission', CASE WHEN grouping(a.branch_id) = 0 THEN a.branch_id END, NULL::bigint,
        NULL::int, NULL::int, NULL::int, 'approved', count(*)::numeric, NULL::text
    FROM approved a GROUP BY GROUPING SETS ((), (a.branch_id))
    -- Of pictures and videos, only that there are some: they are kept elsewhere.
    UNION ALL SELECT 'mission_answer', f.branch_id, NULL, NULL, f.visit::int, f.number::int,
        f.title, NULL, CASE WHEN f.kind IN ('photos', 'video') THEN '' ELSE f.words END
    FROM found f
    UNION ALL SELECT 'print', p.branch_id, NULL, NULL, NULL, NULL, 'mission', NULL, string_agg(
        (256 * p.id + p.words)::text, ',' ORDER BY p.id)
    FROM (
        SELECT a.branch_id, a.id, coalesce(sum(hashtext(f.words)), 0)::bigint & 255 AS words
        FROM approved a LEFT JOIN found f ON f.id = a.id GROUP BY 1, 2
    ) AS p GROUP BY 2;
END $$;

-- What a trend shows of a period that has no report yet: given, completed and expired.
CREATE OR REPLACE FUNCTION reports.headline_of(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT jsonb_build_object('given', count(*) FILTER (WHERE s.is_given),
            'expired', count(*) FILTER (WHERE s.is_expired))
        FROM reports.sent(establishment, from_at, until_at) s)
    || (SELECT jsonb_build_object('completed', count(*)) FROM surveys.completions c
        WHERE c.establishment_id = establishment AND c.completed_at >= from_at
          AND c.completed_at < until_at AND c.state <> 'rejected' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1));
END $$;

-- Up to 11 earlier periods: what their reports said; of one whose report is not made yet, its data,
-- as far back as the schedule catches up. An earlier one without a report is a gap:
-- a row without a measure.
CREATE OR REPLACE FUNCTION reports.trend_of(r reports.reports) RETURNS SETOF reports.figure
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT 'trend', NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::int, h.key,
        h.value::numeric, reports.period_of(r.kind, d.first_day)
    FROM generate_series(1, 11) AS n
    CROSS JOIN LATERAL (SELECT CASE r.kind WHEN 'weekly' THEN r.first_day - 7 * n
        ELSE (r.first_day - make_interval(months => n))::date END AS first_day) AS d
    LEFT JOIN reports.reports k ON k.establishment_id = r.establishment_id AND k.kind = r.kind
        AND k.period = reports.period_of(r.kind, d.first_day)
    CROSS JOIN LATERAL (
        SELECT coalesce(k.from_at, d.first_day::timestamp AT TIME ZONE r.time_zone) AS from_at,
            coalesce(k.until_at, CASE r.kind WHEN 'weekly' THEN (d.first_day + 7)::timestamp
                ELSE d.first_day + interval '1 month' END AT TIME ZONE r.time_zone) AS until_at
    ) AS t
    LEFT JOIN LATERAL jsonb_each_text(CASE
        WHEN k.headline IS NOT NULL THEN k.headline
        WHEN n <= reports.reach(r.kind) AND t.until_at > (SELECT s.since FROM reports.settings s
            WHERE s.establishment_id = r.establishment_id)
        THEN reports.headline_of(r.establishment_id, t.from_at, t.until_at) END) AS h
        ON true
    ORDER BY d.first_day, h.key;
END $$;

-- All rows of a report but the groups of people: names before what they name, prints before texts,
-- which are last and sorted by themselves, so that the order leads to nobody. One statement, hence
-- one snapshot.
CREATE OR REPLACE FUNCTION reports.figures(report bigint) RETURNS SETOF reports.figure
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    r reports.reports;
BEGIN
    SELECT * INTO STRICT r FROM reports.reports k WHERE k.id = report;
    RETURN QUERY SELECT 'branch', b.id, NULL::bigint, NULL::int, NULL::int, NULL::int, NULL::text,
        NULL::numeric, b.name
    FROM establishments.branches b WHERE b.establishment_id = r.establishment_id ORDER BY b.id;
    -- The later revisions show that of the first.
    IF r.trend IS NULL THEN
        RETURN QUERY SELECT * FROM reports.trend_of(r);
    END IF;
    RETURN QUERY
    SELECT f.* FROM (
        SELECT * FROM reports.survey_figures(r)
        UNION ALL SELECT * FROM reports.coupon_figures(r)
        UNION ALL SELECT * FROM reports.mission_figures(r)
    ) AS f
    ORDER BY array_position(
        '{survey,question,option,summary,answer,coupons,mission,print,mission_answer,text}',
        f.section), f.survey_id, f.version, f.question, f.branch_id NULLS FIRST,
        f.item NULLS FIRST, f.measure, f.name COLLATE "C";
END $$;
