-- Equal names: what the initiator of a vote decides after the closing.

-- Returns the voters with equal names, for the initiator: their names and addresses, but not their
-- choices.
CREATE OR REPLACE FUNCTION votes.exceptions(vote bigint, initiator bigint)
RETURNS TABLE (name_key text, state votes.exception_state, person_id bigint, name text,
    address text, is_rejected boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM votes.expect_initiator($1, $2);
    RETURN QUERY SELECT e.name_key, e.state, p.person_id, p.name, p.address, p.is_rejected
    FROM votes.exceptions e
    JOIN votes.participants p
        ON p.vote_id = e.vote_id AND p.name_key = e.name_key AND p.has_cast
    WHERE e.vote_id = $1 ORDER BY e.name_key, p.person_id;
END $$;

-- Enqueues the count of a vote if all its equal names are resolved; returns the number of
-- unresolved names.
CREATE OR REPLACE FUNCTION votes.go_on(vote bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    remaining CONSTANT bigint := (SELECT count(*) FROM votes.exceptions e
        WHERE e.vote_id = vote AND e.state = 'open');
BEGIN
    IF remaining = 0 THEN
        PERFORM errand.enqueue_own('votes.count', jsonb_build_object('vote_id', vote),
            unique_key => vote::text);
    END IF;
    RETURN remaining;
END $$;

-- Resolves one name: all its ballots count, or some people are rejected. Returns the number of
-- unresolved names; after the last one, the vote is counted.
CREATE OR REPLACE FUNCTION votes.decide(
    vote bigint, of_name text, rejected bigint[], actor text, reason text
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    before votes.exception_state;
    state CONSTANT votes.vote_state := (
        SELECT v.state FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE);
BEGIN
    SELECT e.state INTO before FROM votes.exceptions e
    WHERE e.vote_id = vote AND e.name_key = votes.name_key(of_name) FOR NO KEY UPDATE;
    IF before IS NULL THEN
        RAISE EXCEPTION 'vote % has no exception for that name', vote
            USING ERRCODE = 'no_data_found';
    END IF;
    IF state <> 'review' OR before <> 'open' THEN
        RAISE EXCEPTION 'that name of vote % is decided: it is %', vote, before
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    rejected := coalesce(rejected, '{}');
    PERFORM errand.expect(coalesce(length(reason) <= 500, true),
        'reason: expected at most 500 characters');
    UPDATE votes.participants p SET is_rejected = true
    WHERE p.vote_id = vote AND p.person_id = ANY (rejected) AND p.has_cast
      AND p.name_key = votes.name_key(of_name);
    DECLARE
        found_ones bigint;
    BEGIN
        GET DIAGNOSTICS found_ones = ROW_COUNT;
        PERFORM errand.expect(found_ones = (SELECT count(DISTINCT r) FROM unnest(rejected) r),
            'rejected: expected the ids of people with that name who have cast');
    END;
    UPDATE votes.exceptions e
    SET state = CASE WHEN rejected = '{}' THEN 'validated' ELSE 'rejected'
            END::votes.exception_state,
        decided_at = clock_timestamp(), actor = actor, reason = reason
    WHERE e.vote_id = vote AND e.name_key = votes.name_key(of_name);
    RETURN votes.go_on(vote);
END $$;

-- Resolves one name on behalf of the initiator.
--   decision   validate, or reject with the people whose ballots are excluded
CREATE OR REPLACE FUNCTION votes.resolve(
    vote bigint, initiator bigint, name text, decision text, rejected bigint[] DEFAULT '{}',
    reason text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(decision IN ('validate', 'reject')
        AND (decision = 'validate') = (coalesce(rejected, '{}') = '{}'),
        'decision: expected validate, or reject with the people to reject');
    PERFORM votes.expect_initiator(vote, initiator);
    RETURN votes.decide(vote, name, rejected, 'initiator ' || initiator, reason);
END $$;

-- Ends a review whose deadline has passed at a time; operators may end it early. Unresolved names
-- count, and the result states that. False if there was no such review.
CREATE OR REPLACE FUNCTION votes.end_review(
    vote bigint, at timestamptz, is_early boolean DEFAULT false)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM votes.votes v
    WHERE v.id = vote AND v.state = 'review' AND (is_early OR v.review_until <= at)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE votes.exceptions e SET state = 'unresolved', decided_at = at
    WHERE e.vote_id = vote AND e.state = 'open';
    IF FOUND THEN
        UPDATE votes.votes v SET has_unresolved = true WHERE v.id = vote;
    END IF;
    PERFORM votes.go_on(vote);
    RETURN true;
END $$;

-- Returns what the initiator is notified of in a review, at a time; no row if nothing is left to
-- resolve. Blocks decisions until the caller's transaction ends.
--   step     the number of reminders that are due by then
--   next_at  the time of the next one, or of the end
CREATE OR REPLACE FUNCTION votes.review_step(vote bigint, at timestamptz)
RETURNS TABLE (initiator bigint, review_until timestamptz, is_over boolean, data jsonb, step bigint,
    next_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of votes.votes;
    remaining bigint;
BEGIN
    SELECT * INTO of FROM votes.votes v
    WHERE v.id = $1 AND v.state = 'review' FOR NO KEY UPDATE;
    -- A separate statement, so that its snapshot is taken after the lock.
    remaining := (SELECT count(*) FROM votes.exceptions e
        WHERE e.vote_id = of.id AND e.state = 'open');
    IF remaining = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT of.initiator, of.review_until, of.review_until <= $2,
        jsonb_build_object('subject', of.subject, 'until', of.review_until, 'count', remaining),
        count(*) FILTER (WHERE of.closed_at + a.after <= $2),
        least(of.review_until, min(of.closed_at + a.after) FILTER (
            WHERE of.closed_at + a.after > $2))
    FROM votes.rules r LEFT JOIN LATERAL unnest(r.remind_after) AS a (after) ON true;
END $$;
