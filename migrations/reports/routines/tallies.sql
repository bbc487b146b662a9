-- What surveys say in a report's period, read once and tallied; see figures.sql for who is in it.

-- The invitations that were given in a period, and those that expired in it, by the clock: of
-- people who share.
CREATE OR REPLACE FUNCTION reports.sent(
    establishment bigint, from_at timestamptz, until_at timestamptz
) RETURNS TABLE (id bigint, person_id bigint, branch bigint, is_given boolean, is_expired boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    -- An invitation is given at most so long before it expires.
    reach CONSTANT interval := make_interval(days => 2 + coalesce((
        SELECT max(v.expires_days) FROM surveys.surveys s
        JOIN surveys.versions v ON v.survey_id = s.id
        WHERE s.establishment_id = establishment), 0));
BEGIN
    RETURN QUERY
    SELECT i.id, i.person_id, coalesce(i.branch_id, 0), i.invited_at >= from_at,
        i.state IN ('open', 'expired') AND i.expires_at >= from_at AND i.expires_at < until_at
    FROM surveys.invitations i
    WHERE i.establishment_id = establishment AND i.invited_at >= from_at - reach
      AND i.invited_at < until_at
      -- Before the person is looked up: most of the earlier ones have ended otherwise.
      AND (i.invited_at >= from_at OR i.state IN ('open', 'expired')
        AND i.expires_at >= from_at AND i.expires_at < until_at)
      AND (SELECT true
        FROM people.consents k JOIN people.people p ON p.id = k.person_id
        WHERE k.person_id = i.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
          AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1);
END $$;

-- All that surveys say in a report's period, read once: as a tally, how many people gave an answer
-- to a question (its number is the key; of a text only that there is one), by branch; the same of
-- given, expired and seconds; the prints of these rows, their ids times 256 and what they count
-- for; and the texts.
CREATE OR REPLACE FUNCTION reports.tallies(r reports.reports) RETURNS TABLE (
    what text, survey_id bigint, version int, branch bigint, key text, answer jsonb, people bigint,
    words text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH kept AS MATERIALIZED (
        SELECT c.survey_id, c.version, coalesce(c.branch_id, 0) AS branch, c.invitation_id,
            c.person_id, c.seconds_spent, c.answers
        FROM surveys.completions c
        WHERE c.establishment_id = r.establishment_id AND c.completed_at >= r.from_at
          AND c.completed_at < r.until_at AND c.state <> 'rejected' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
    ), sent AS MATERIALIZED (
        SELECT * FROM reports.sent(r.establishment_id, r.from_at, r.until_at)
    ), texts AS MATERIALIZED (
        SELECT q.survey_id, q.version, q.number::text AS name FROM surveys.questions q
        JOIN surveys.surveys s ON s.id = q.survey_id
        WHERE s.establishment_id = r.establishment_id AND q.kind = 'text'
    )
    SELECT 'tally', k.survey_id, k.version, k.branch, a.key,
        CASE jsonb_typeof(a.value) WHEN 'string' THEN 'null' ELSE a.value END, count(*), NULL::text
    FROM kept k CROSS JOIN LATERAL jsonb_each(k.answers) AS a
    WHERE NOT surveys.is_empty(a.value) GROUP BY 2, 3, 4, 5, 6
    UNION ALL SELECT 'tally', NULL, NULL, k.branch, 'seconds', to_jsonb(k.seconds_spent), count(*),
        NULL
    FROM kept k GROUP BY 4, 6
    UNION ALL SELECT 'tally', NULL, NULL, s.branch, m.key, 'null', count(*), NULL
    FROM sent s CROSS JOIN LATERAL (VALUES ('given', s.is_given), ('expired', s.is_expired))
        AS m (key, is_so)
    WHERE m.is_so GROUP BY 4, 5
    UNION ALL SELECT 'completion', k.survey_id, k.version, k.branch, NULL, NULL, NULL,
        string_agg((256 * k.invitation_id)::text, ',' ORDER BY k.invitation_id)
    FROM kept k GROUP BY 2, 3, 4
    UNION ALL SELECT 'invitation', NULL, NULL, s.branch, NULL, NULL, NULL, string_agg(
        (256 * s.id + 2 * s.is_given::int + s.is_expired::int)::text, ',' ORDER BY s.id)
    FROM sent s GROUP BY 4
    UNION ALL SELECT 'text', k.survey_id, k.version, k.branch, q.name, NULL, NULL,
        k.answers ->> q.name
    FROM kept k JOIN texts q ON q.survey_id = k.survey_id AND q.version = k.version
    WHERE NOT surveys.is_empty(k.answers -> q.name);
END $$;

-- How many people at least are behind rows of prints. Rows of people who were erased since count as
-- one person's.
CREATE OR REPLACE FUNCTION reports.people_of(measure text, prints bigint[]) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    ids CONSTANT bigint[] := ARRAY(SELECT p >> 8 FROM unnest(prints) AS p);
BEGIN
    RETURN CASE measure
        WHEN 'completion' THEN (SELECT count(DISTINCT coalesce(c.person_id, 0))
            FROM surveys.completions c WHERE c.invitation_id = ANY (ids))
        WHEN 'invitation' THEN (SELECT count(DISTINCT coalesce(i.person_id, 0))
            FROM surveys.invitations i WHERE i.id = ANY (ids))
        WHEN 'coupon' THEN (SELECT count(DISTINCT coalesce(c.person_id, 0))
            FROM coupons.coupons c WHERE c.id = ANY (ids))
        WHEN 'mission' THEN (SELECT count(DISTINCT coalesce(a.person_id, 0))
            FROM missions.assignments a WHERE a.id = ANY (ids)) END;
END $$;

-- What is measured of them, for the whole establishment (branch null) and for each branch: the one
-- place that groups. The rows of tallies() that are no tallies pass through.
CREATE OR REPLACE FUNCTION reports.measures(r reports.reports) RETURNS TABLE (
    what text, survey_id bigint, version int, branch bigint, key text, item int, measure text,
    value numeric, words text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH read AS MATERIALIZED (
        SELECT * FROM reports.tallies(r)
    ), cells AS (
        -- Item -1: all who answered.
        SELECT t.survey_id, t.version, t.key, i.item,
            CASE WHEN grouping(t.branch) = 0 THEN t.branch END AS branch,
            sum(t.people) AS people
        FROM read t CROSS JOIN LATERAL (
            SELECT -1 AS item
            UNION ALL SELECT CASE jsonb_typeof(t.answer) WHEN 'boolean'
                THEN CASE t.answer WHEN 'true' THEN 1 ELSE 2 END
                ELSE (t.answer #>> '{}')::int END
            WHERE jsonb_typeof(t.answer) IN ('number', 'boolean')
            UNION ALL SELECT e::int FROM jsonb_array_elements_text(
                CASE jsonb_typeof(t.answer) WHEN 'array' THEN t.answer ELSE '[]' END) AS e
        ) AS i
        WHERE t.what = 'tally'
        GROUP BY t.survey_id, t.version, t.key, i.item, GROUPING SETS ((), (t.branch))
    ), placed AS MATERIALIZED (
        SELECT c.*, sum(c.people) FILTER (WHERE c.item >= 0) OVER (of ORDER BY c.item) AS upto,
            max(c.people) FILTER (WHERE c.item = -1) OVER of AS answered
        FROM cells c WINDOW of AS (PARTITION BY c.survey_id, c.version, c.key, c.branch)
    ), middles AS (
        SELECT p.survey_id, p.version, p.branch, p.key,
            sum(p.item * p.people) / p.answered AS mean,
            -- Of an even number, half-way between the two in the middle.
            (min(p.item) FILTER (WHERE p.upto >= div(p.answered + 1, 2))
                + min(p.item) FILTER (WHERE p.upto >= div(p.answered, 2) + 1)) / 2.0 AS median
        FROM placed p WHERE p.item >= 0 GROUP BY 1, 2, 3, 4, p.answered
    )
    SELECT 'figure', p.survey_id, p.version, p.branch, p.key, NULL::int, 'answered', p.people,
        NULL::text
    FROM placed p WHERE p.item = -1
    UNION ALL SELECT 'figure', p.survey_id, p.version, p.branch, p.key, p.item, m.measure, m.value,
        NULL
    FROM placed p CROSS JOIN LATERAL (VALUES ('count', p.people),
        ('share', round(p.people / p.answered, 4))) AS m (measure, value)
    WHERE p.item >= 0 AND p.survey_id IS NOT NULL
    UNION ALL SELECT 'figure', p.survey_id, p.version, p.branch, p.key, NULL, m.measure, m.value,
        NULL
    FROM middles p CROSS JOIN LATERAL (VALUES ('mean', p.mean), ('median', p.median))
        AS m (measure, value)
    UNION ALL SELECT t.what, t.survey_id, t.version, t.branch, t.key, NULL, NULL, t.people, t.words
    FROM read t WHERE t.what <> 'tally';
END $$;
