-- The figures of a report, computed for one establishment at a time by its indexes.

-- Only answers of people who share are in a report: they agreed to it and are not blocked. Each
-- query asks by a subquery that yields true, as a function would be planned again for each row, and
-- EXISTS may become a hash of all consents.

-- The invitations that were given in a period, and those that expired in it, by the clock: of
-- people who share.
CREATE OR REPLACE FUNCTION reports.invitation_figures(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS SETOF reports.figure LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    -- An invitation is given at most so long before it expires.
    reach CONSTANT interval := make_interval(days => 2 + coalesce((
        SELECT max(v.expires_days) FROM surveys.surveys s
        JOIN surveys.versions v ON v.survey_id = s.id
        WHERE s.establishment_id = establishment), 0));
BEGIN
    RETURN QUERY
    SELECT 'summary', f.branch, NULL::bigint, NULL::int, NULL::int, NULL::int, m.measure, m.value,
        NULL::text
    FROM (
        SELECT CASE WHEN grouping(i.branch_id) = 0 THEN coalesce(i.branch_id, 0) END AS branch,
            count(*) FILTER (WHERE i.invited_at >= from_at)::numeric AS given,
            count(*) FILTER (WHERE i.state IN ('open', 'expired') AND i.expires_at >= from_at
                AND i.expires_at < until_at)::numeric AS expired
        FROM surveys.invitations i
        WHERE i.establishment_id = establishment AND i.invited_at >= from_at - reach
          AND i.invited_at < until_at
          -- Before the person is looked up: most of the earlier ones have ended otherwise.
          AND (i.invited_at >= from_at OR i.state IN ('open', 'expired')
            AND i.expires_at >= from_at AND i.expires_at < until_at)
          AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = i.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
        GROUP BY GROUPING SETS ((), (i.branch_id))
    ) AS f
    CROSS JOIN LATERAL (VALUES ('given', f.given), ('expired', f.expired)) AS m (measure, value);
END $$;

-- The completions of a period, and how long they took.
CREATE OR REPLACE FUNCTION reports.completion_figures(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS SETOF reports.figure LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT 'summary', f.branch, NULL::bigint, NULL::int, NULL::int, NULL::int, m.measure, m.value,
        NULL::text
    FROM (
        SELECT CASE WHEN grouping(c.branch_id) = 0 THEN coalesce(c.branch_id, 0) END AS branch,
            count(*)::numeric AS completed,
            round((percentile_cont(0.5) WITHIN GROUP (ORDER BY c.seconds_spent) / 60)::numeric, 2)
                AS minutes
        FROM surveys.completions c
        WHERE c.establishment_id = establishment AND c.completed_at >= from_at
          AND c.completed_at < until_at AND c.state <> 'rejected'
          AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
        GROUP BY GROUPING SETS ((), (c.branch_id))
    ) AS f
    CROSS JOIN LATERAL (VALUES ('completed', f.completed), ('median_minutes', f.minutes))
        AS m (measure, value)
    WHERE m.value IS NOT NULL;
END $$;

-- The answers of a period, per question and for each branch.
CREATE OR REPLACE FUNCTION reports.answer_figures(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS SETOF reports.figure LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH kept AS MATERIALIZED (
        SELECT c.survey_id, c.version, coalesce(c.branch_id, 0) AS branch, c.answers
        FROM surveys.completions c
        WHERE c.establishment_id = establishment AND c.completed_at >= from_at
          AND c.completed_at < until_at AND c.state <> 'rejected' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    ), asked AS MATERIALIZED (
        SELECT q.survey_id, q.version, q.number, q.kind, q.number::text AS name, q.label,
            CASE q.kind WHEN 'rating' THEN '{1,2,3,4,5}' WHEN 'yes_no' THEN '{yes,no}'
                ELSE q.options END AS options
        FROM surveys.questions q
        WHERE (q.survey_id, q.version) IN (SELECT DISTINCT k.survey_id, k.version FROM kept k)
    ), said AS MATERIALIZED (
        SELECT k.survey_id, k.version, k.branch, a.number, a.kind, k.answers -> a.name AS answer
        FROM kept k JOIN asked a ON a.survey_id = k.survey_id AND a.version = k.version
        WHERE NOT surveys.is_empty(k.answers -> a.name)
    ), picked AS (
        SELECT s.survey_id, s.version, s.branch, s.number, s.kind,
            CASE s.kind WHEN 'yes_no' THEN CASE s.answer WHEN 'true' THEN 1 ELSE 2 END
                ELSE (s.answer #>> '{}')::int END AS item
        FROM said s WHERE s.kind IN ('rating', 'choice', 'yes_no')
        UNION ALL
        SELECT s.survey_id, s.version, s.branch, s.number, s.kind, e::int
        FROM said s CROSS JOIN LATERAL jsonb_array_elements_text(s.answer) AS e
        WHERE s.kind = 'many'
    ), answered AS (
        SELECT s.survey_id, s.version, CASE WHEN grouping(s.branch) = 0 THEN s.branch END AS branch,
            s.number, count(*) AS people,
            avg((s.answer #>> '{}')::int) FILTER (WHERE s.kind = 'rating') AS mean,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY (s.answer #>> '{}')::int)
                FILTER (WHERE s.kind = 'rating') AS median
        FROM said s
        GROUP BY GROUPING SETS ((s.survey_id, s.version, s.number),
            (s.survey_id, s.version, s.number, s.branch))
    ), counts AS (
        SELECT p.survey_id, p.version, CASE WHEN grouping(p.branch) = 0 THEN p.branch END AS branch,
            p.number, p.item, count(*) AS people
        FROM picked p
        GROUP BY GROUPING SETS ((p.survey_id, p.version, p.number, p.item),
            (p.survey_id, p.version, p.number, p.item, p.branch))
    )
    SELECT 'survey', NULL::bigint, v.survey_id, v.version, NULL::int, NULL::int, NULL::text,
        NULL::numeric, v.title
    FROM surveys.versions v
    WHERE (v.survey_id, v.version) IN (SELECT DISTINCT k.survey_id, k.version FROM kept k)
    UNION ALL SELECT 'question', NULL, a.survey_id, a.version, a.number, NULL, a.kind::text, NULL,
        a.label FROM asked a
    UNION ALL SELECT 'option', NULL, a.survey_id, a.version, a.number, o.item::int, NULL, NULL,
        o.option FROM asked a CROSS JOIN unnest(a.options) WITH ORDINALITY AS o (option, item)
    UNION ALL SELECT 'answer', w.branch, w.survey_id, w.version, w.number, NULL, m.measure,
        round(m.value::numeric, 4), NULL
    FROM answered w CROSS JOIN LATERAL (VALUES ('answered', w.people::float8), ('mean', w.mean),
        ('median', w.median)) AS m (measure, value)
    WHERE m.value IS NOT NULL
    UNION ALL SELECT 'answer', c.branch, c.survey_id, c.version, c.number, c.item, m.measure,
        m.value, NULL
    FROM counts c JOIN answered w ON w.survey_id = c.survey_id AND w.version = c.version
        AND w.number = c.number AND w.branch IS NOT DISTINCT FROM c.branch
    CROSS JOIN LATERAL (VALUES ('count', c.people::numeric),
        ('share', round(c.people::numeric / w.people, 4))) AS m (measure, value);
END $$;

-- The coupons of the establishment, and the notices to people near it.
CREATE OR REPLACE FUNCTION reports.coupon_figures(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS SETOF reports.figure LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH held AS MATERIALIZED (
        SELECT c.id, c.person_id, c.valid_from, c.expires_at, c.redeemed_at, c.voided_at
        FROM coupons.coupons c
        WHERE c.establishment_id = establishment AND c.expires_at >= from_at
          AND c.valid_from < until_at AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    )
    SELECT 'coupons', NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::int, m.measure,
        m.value::numeric, NULL::text
    FROM (
        SELECT count(*) FILTER (WHERE h.valid_from >= from_at) AS granted,
            count(*) FILTER (WHERE h.redeemed_at >= from_at AND h.redeemed_at < until_at)
                AS redeemed,
            count(*) FILTER (WHERE h.redeemed_at IS NULL AND h.voided_at IS NULL
                AND h.expires_at < until_at) AS expired,
            coalesce(sum((SELECT count(*) FROM notification.notices n
                WHERE n.person_id = h.person_id AND n.urgency = 'promotional'
                  AND n.send_decided_at >= from_at AND n.send_decided_at < until_at
                  AND n.kind = 'coupon.nearby' AND n.subject = 'coupon:' || h.id
                  AND n.status IN ('pending', 'sent'))), 0) AS near
        FROM held h
    ) AS f
    CROSS JOIN LATERAL (VALUES ('granted', f.granted), ('redeemed', f.redeemed),
        ('expired', f.expired), ('near_notices', f.near)) AS m (measure, value);
END $$;

-- Missions that were approved, and what shoppers who share found.
CREATE OR REPLACE FUNCTION reports.mission_figures(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS SETOF reports.figure LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH approved AS MATERIALIZED (
        SELECT a.id, a.mission_id, a.branch_id, row_number() OVER (ORDER BY a.id) AS number
        FROM missions.missions m JOIN missions.assignments a ON a.mission_id = m.id
        WHERE m.establishment_id = establishment AND a.state = 'paid' AND a.ended_at >= from_at
          AND a.ended_at < until_at AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = a.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    )
    SELECT 'mission', CASE WHEN grouping(a.branch_id) = 0 THEN a.branch_id END, NULL::bigint,
        NULL::int, NULL::int, NULL::int, 'approved', count(*)::numeric, NULL::text
    FROM approved a GROUP BY GROUPING SETS ((), (a.branch_id))
    -- Of pictures and videos, only that there are some: they are kept elsewhere.
    UNION ALL SELECT 'mission_answer', x.branch_id, NULL, NULL, x.visit::int, x.number::int,
        x.title, NULL, CASE WHEN x.kind IN ('photos', 'video') THEN '' ELSE x.words END
    FROM (
        SELECT a.branch_id, a.number AS visit, t.number, t.title, t.kind, (
            SELECT string_agg(CASE WHEN jsonb_typeof(v.value) = 'boolean'
                    THEN CASE v.value WHEN 'true' THEN 'yes' ELSE 'no' END
                    ELSE v.value #>> '{}' END, ' | ' ORDER BY v.place)
            FROM jsonb_path_query(s.content, 'strict $.** ? (@.type() != "object"
                && @.type() != "array" && @.type() != "null")')
                WITH ORDINALITY AS v (value, place)) AS words
        FROM approved a JOIN missions.tasks t ON t.mission_id = a.mission_id
        JOIN missions.steps s ON s.assignment_id = a.id AND s.number = t.number
        ORDER BY a.number, t.number
    ) AS x;
END $$;

-- All rows of a report but the groups of people: names before what they name, texts last. One
-- statement, hence one snapshot.
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
    RETURN QUERY SELECT 'trend', NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::int,
        h.key, h.value::numeric, k.period
    FROM (
        SELECT p.* FROM reports.reports p
        WHERE p.establishment_id = r.establishment_id AND p.kind = r.kind
          AND p.until_at <= r.from_at AND p.first_day >= r.first_day - CASE r.kind
            WHEN 'weekly' THEN interval '11 weeks' ELSE interval '11 months' END
          AND p.headline IS NOT NULL
    ) AS k CROSS JOIN LATERAL jsonb_each_text(k.headline) AS h ORDER BY k.first_day, h.key;
    RETURN QUERY
    SELECT f.* FROM (
        SELECT * FROM reports.invitation_figures(r.establishment_id, r.from_at, r.until_at)
        UNION ALL
        SELECT * FROM reports.completion_figures(r.establishment_id, r.from_at, r.until_at)
        UNION ALL
        SELECT * FROM reports.answer_figures(r.establishment_id, r.from_at, r.until_at)
        UNION ALL
        SELECT * FROM reports.coupon_figures(r.establishment_id, r.from_at, r.until_at)
        UNION ALL
        SELECT * FROM reports.mission_figures(r.establishment_id, r.from_at, r.until_at)
    ) AS f
    ORDER BY array_position(
        '{survey,question,option,summary,answer,coupons,mission,mission_answer}', f.section),
        f.survey_id, f.version, f.question, f.branch_id NULLS FIRST, f.item NULLS FIRST, f.measure;
    -- Sorted by the text itself, so that the order leads to nobody.
    RETURN QUERY SELECT 'text', coalesce(c.branch_id, 0), c.survey_id, c.version, q.number::int,
        NULL::int, NULL::text, NULL::numeric, c.answers ->> q.number::text
    FROM surveys.completions c
    JOIN surveys.questions q ON q.survey_id = c.survey_id AND q.version = c.version
        AND q.kind = 'text'
    WHERE c.establishment_id = r.establishment_id AND c.completed_at >= r.from_at
      AND c.completed_at < r.until_at AND c.state <> 'rejected' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
      AND btrim(c.answers ->> q.number::text) <> ''
    ORDER BY 3, 4, 5, 2, (c.answers ->> q.number::text) COLLATE "C";
END $$;

-- The people who answered in a period by group, before any is suppressed: each person counts once,
-- at the branch of their last answers. Only in monthly reports: a month less its weeks would leave
-- single days. A worker suppresses the small groups before anything is written.
CREATE OR REPLACE FUNCTION reports.groups_of(report bigint)
RETURNS TABLE (dimension text, branch_id bigint, label text, people bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH respondents AS MATERIALIZED (
        SELECT DISTINCT ON (c.person_id) coalesce(c.branch_id, 0) AS branch, c.person_id,
            date_part('year', age(r.end_day - 1, p.birth_date))::int AS years, x.prefix
        FROM reports.reports r
        JOIN surveys.completions c ON c.establishment_id = r.establishment_id
            AND c.completed_at >= r.from_at AND c.completed_at < r.until_at
            AND c.state <> 'rejected'
        JOIN people.people p ON p.id = c.person_id
        LEFT JOIN reports.postal_prefixes x ON x.person_id = c.person_id
        WHERE r.id = report AND r.kind = 'monthly' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
        ORDER BY c.person_id, c.completed_at DESC, c.invitation_id DESC
    )
    SELECT 'age', d.branch, CASE WHEN d.years >= 65 THEN '65+' WHEN d.years >= 55 THEN '55-64'
        WHEN d.years >= 45 THEN '45-54' WHEN d.years >= 35 THEN '35-44'
        WHEN d.years >= 25 THEN '25-34' WHEN d.years >= 16 THEN '16-24'
        ELSE 'not known' END, count(*)
    FROM respondents d GROUP BY 2, 3
    UNION ALL
    SELECT 'postal', d.branch, coalesce(d.prefix, 'not known'), count(*)
    FROM respondents d GROUP BY 2, 3
    ORDER BY 1, 2, 3;
END $$;
