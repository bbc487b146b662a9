-- Reviews of answers by operators.

-- Records the verdict on an answer: recorded, replaced, or same if it has this verdict. A verdict
-- of a person who is not blocked counts for hiring; bad answers are in no report.
--   verdict  good, bad, or fraud: bad, with proof
--   note     why, for operators, up to 500 characters; required unless good
CREATE OR REPLACE FUNCTION surveys.review(
    invitation bigint, verdict text, actor text, note text DEFAULT NULL,
    at timestamptz DEFAULT NULL
) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    c surveys.completions;
    held surveys.reviews;
    was_rejected boolean;
BEGIN
    PERFORM errand.expect(verdict IN ('good', 'bad', 'fraud'),
        'review: verdict: expected good, bad or fraud');
    PERFORM errand.expect(length(actor) BETWEEN 1 AND 200,
        'review: actor: expected 1 to 200 characters');
    PERFORM errand.expect(length(note) BETWEEN 1 AND 500 OR note IS NULL AND verdict = 'good',
        'review: note: expected 1 to 500 characters');
    SELECT * INTO c FROM surveys.completions q WHERE q.invitation_id = invitation FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'invitation % has no answers', coalesce(invitation::text, 'null')
            USING ERRCODE = 'no_data_found';
    END IF;
    -- Of verdicts on two answers of a person at once, the second sees the first: see is_fraud().
    PERFORM FROM people.people p WHERE p.id = c.person_id FOR NO KEY UPDATE;
    IF actor IN (c.person_id::text, 'person ' || c.person_id, 'person:' || c.person_id) THEN
        RAISE EXCEPTION 'invitation % belongs to %: people cannot review their own answers',
            invitation, actor USING ERRCODE = 'insufficient_privilege';
    END IF;
    at := coalesce(at, clock_timestamp());
    SELECT * INTO held FROM surveys.reviews r WHERE r.invitation_id = invitation;
    IF held.verdict = verdict THEN
        RETURN 'same';
    END IF;
    INSERT INTO surveys.reviews AS r (invitation_id, sampled_at, verdict, reviewed_at, actor, note)
    VALUES (invitation, at, verdict, at, actor, note)
    ON CONFLICT ON CONSTRAINT reviews_pkey DO UPDATE
    SET verdict = verdict, reviewed_at = at, actor = actor, note = note;
    was_rejected := c.state = 'rejected';
    UPDATE surveys.completions q
    SET state = CASE verdict WHEN 'good' THEN 'counted' ELSE 'rejected' END
    WHERE q.invitation_id = invitation;
    PERFORM surveys.apply_verdict(c, verdict, was_rejected, at);
    RETURN CASE WHEN held.verdict IS NULL THEN 'recorded' ELSE 'replaced' END;
END $$;

-- What follows from a verdict for the person: the quality for hiring, the count of badges, and a
-- flag for operators after fraud.
CREATE OR REPLACE FUNCTION surveys.apply_verdict(
    c surveys.completions, verdict text, was_rejected boolean, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF verdict <> 'good' AND NOT was_rejected THEN
        PERFORM badges.uncount_deed(c.person_id, 'survey_done', c.establishment_id);
    ELSIF verdict = 'good' AND was_rejected AND c.person_id IS NOT NULL THEN
        PERFORM badges.count_deed(c.person_id, 'survey_done', c.establishment_id);
    END IF;
    IF NOT EXISTS (SELECT FROM people.people p
        WHERE p.id = c.person_id AND p.blocked_at IS NULL AND p.erased_at IS NULL) THEN
        RETURN;
    END IF;
    PERFORM missions.record_review(
        c.person_id, c.origin, verdict = 'good', least(at, clock_timestamp()));
    IF verdict <> 'good' AND surveys.is_fraud(c) AND NOT EXISTS (SELECT FROM missions.flags f
        WHERE f.person_id = c.person_id AND f.cleared_at IS NULL) THEN
        PERFORM missions.raise_flag(c.person_id,
            'two bad answers in a row with proof of fraud; the last verdict: ' || c.origin);
    END IF;
END $$;

-- Whether an answer and the person's reviewed answer before or after it are both bad, and one of
-- them with proof of fraud.
CREATE OR REPLACE FUNCTION surveys.is_fraud(c surveys.completions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (
        SELECT FROM (
            SELECT q.invitation_id, r.verdict, lag(q.invitation_id) OVER w AS before,
                lag(r.verdict) OVER w AS verdict_before
            FROM surveys.completions q JOIN surveys.reviews r USING (invitation_id)
            WHERE q.person_id = c.person_id AND r.verdict IS NOT NULL
            WINDOW w AS (ORDER BY q.completed_at, q.invitation_id)
        ) AS n
        WHERE c.invitation_id IN (n.invitation_id, n.before)
          AND n.verdict <> 'good' AND n.verdict_before <> 'good'
          AND 'fraud' IN (n.verdict, n.verdict_before));
END $$;

-- The deeds that the nightly recount of badges counts; see badges.sources.
CREATE OR REPLACE FUNCTION surveys.deeds(deed text, after bigint, until bigint)
RETURNS TABLE (person_id bigint, establishment_id bigint, deeds bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT c.person_id, c.establishment_id, count(*)
    FROM surveys.completions c
    WHERE deed = 'survey_done' AND c.person_id > after AND c.person_id <= until
      AND c.state <> 'rejected'
    GROUP BY c.person_id, c.establishment_id;
END $$;
