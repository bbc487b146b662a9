-- The nightly samples: which answers operators review.

-- What an answer is flagged for.
CREATE OR REPLACE FUNCTION surveys.flags_of(
    c surveys.completions, minutes int, rules surveys.rules
) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    f record;
    texts text[];
BEGIN
    SELECT count(a.value) FILTER (WHERE q.kind = 'rating') >= rules.ratings_from
            AND count(DISTINCT a.value) FILTER (WHERE q.kind = 'rating') = 1 AS are_equal,
        bool_or(q.kind = 'text' AND q.is_required AND rules.letters_from > length(
            regexp_replace(coalesce(a.value #>> '{}', ''), '[^[:alpha:]]', '', 'g'))) AS is_short,
        array_agg(surveys.compared(a.value)) FILTER (WHERE q.kind = 'text'
            AND length(surveys.compared(a.value)) >= rules.same_text_from) AS texts
    INTO f
    FROM surveys.questions q
    CROSS JOIN LATERAL (SELECT c.answers -> q.number::text AS value OFFSET 0) AS a
    WHERE q.survey_id = c.survey_id AND q.version = c.version;
    RETURN array_remove(ARRAY[
        CASE WHEN c.seconds_spent * 100::bigint < rules.hasty_below * 60 * minutes
            THEN 'hasty' END,
        CASE WHEN f.are_equal THEN 'equal_ratings' END,
        CASE WHEN f.is_short THEN 'short_text' END,
        CASE WHEN f.texts IS NOT NULL AND surveys.has_texts(c, f.texts) THEN 'same_text' END],
        NULL);
END $$;

-- A text in the form in which two are compared; null for other answers.
CREATE OR REPLACE FUNCTION surveys.compared(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(value) = 'string'
    THEN lower(btrim(regexp_replace(value #>> '{}', '[[:space:]]+', ' ', 'g'))) END;

-- Whether one of the person's 100 answers before has one of these texts.
CREATE OR REPLACE FUNCTION surveys.has_texts(c surveys.completions, texts text[])
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM (
            SELECT e.answers FROM surveys.completions e
            WHERE e.person_id = c.person_id AND e.completed_at <= c.completed_at
              AND e.invitation_id <> c.invitation_id
            ORDER BY e.completed_at DESC LIMIT 100
        ) AS e CROSS JOIN LATERAL jsonb_each(e.answers) AS a
        WHERE surveys.compared(a.value) = ANY (texts));
END $$;

-- Whether the answer of an invitation is in the sample, whenever it is asked. The key keeps people
-- from knowing which are.
CREATE OR REPLACE FUNCTION surveys.is_sampled(invitation bigint, percent int, key bytea)
RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN ('x' || encode(substr(sha256(key || int8send(invitation)), 1, 4), 'hex'))::bit(32)::bigint
    % 100 < percent;

-- Looks at answers in the order of their completion: those in the sample and those with a flag go
-- to review. Returns how many it looked at; fewer than max_rows means that none is left. It stays
-- an hour behind, for transactions that have not committed.
CREATE OR REPLACE FUNCTION surveys.sample(
    max_rows int DEFAULT 1000, at timestamptz DEFAULT clock_timestamp(),
    OUT looked_at bigint, OUT sampled bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    -- Read once, so that it is a bound of the index.
    through CONSTANT timestamptz := least(at, clock_timestamp()) - interval '1 hour';
    swept surveys.sweeps;
    rules surveys.rules;
BEGIN
    -- Two sweeps wait for each other.
    SELECT * INTO swept FROM surveys.sweeps s WHERE s.sweep = 'sample' FOR NO KEY UPDATE;
    SELECT * INTO rules FROM surveys.rules;
    WITH page AS MATERIALIZED (
        SELECT c AS row, c.invitation_id, c.completed_at, v.minutes
        FROM surveys.completions c
        JOIN surveys.versions v ON v.survey_id = c.survey_id AND v.version = c.version
        WHERE c.person_id IS NOT NULL AND (c.completed_at, c.invitation_id) > (swept.at, swept.id)
          AND c.completed_at <= through
        ORDER BY c.completed_at, c.invitation_id LIMIT max_rows
    ), judged AS MATERIALIZED (
        SELECT g.invitation_id, surveys.flags_of(g.row, g.minutes, rules) AS flags,
            surveys.is_sampled(g.invitation_id, rules.sampled, k.key) AS is_sampled
        FROM page g CROSS JOIN surveys.respondent_keys k
    ), locked AS (
        -- As a verdict does, before its review: else the two might wait for each other.
        SELECT j.invitation_id, j.flags
        FROM judged j JOIN surveys.completions c ON c.invitation_id = j.invitation_id
        WHERE j.is_sampled OR j.flags <> '{}'
        ORDER BY c.invitation_id FOR NO KEY UPDATE OF c
    ), kept AS (
        INSERT INTO surveys.reviews (invitation_id, sampled_at, flags)
        SELECT l.invitation_id, at, l.flags FROM locked l
        ON CONFLICT DO NOTHING RETURNING invitation_id
    ), marked AS (
        UPDATE surveys.completions c SET state = 'review'
        FROM kept k WHERE c.invitation_id = k.invitation_id AND c.state = 'counted'
    )
    SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM kept), l.completed_at,
        l.invitation_id
    INTO looked_at, sampled, swept.at, swept.id
    FROM (SELECT) AS o LEFT JOIN (
        SELECT g.completed_at, g.invitation_id FROM page g
        ORDER BY g.completed_at DESC, g.invitation_id DESC LIMIT 1
    ) AS l ON true;
    UPDATE surveys.sweeps s
    SET at = coalesce(swept.at, s.at), id = coalesce(swept.id, s.id),
        ended_at = CASE WHEN looked_at < max_rows THEN clock_timestamp() ELSE s.ended_at END
    WHERE s.sweep = 'sample';
END $$;
