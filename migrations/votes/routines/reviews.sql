-- Equal names: what the initiator of a vote decides after the closing.

CREATE OR REPLACE FUNCTION votes.exceptions(vote bigint, initiator bigint)
RETURNS TABLE (name_key text, state votes.exception_state, person_id bigint, name text,
    address text, is_rejected boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM votes.expect_initiator($1, $2);
    RETURN QUERY SELECT e.name_key, e.state, p.person_id, p.name, p.address, p.is_rejected
    FROM votes.exceptions e
    CROSS JOIN LATERAL (VALUES (e.name_key), (votes.erased_key(e.vote_id, e.name_key))) k (key)
    JOIN votes.participants p
        ON p.vote_id = e.vote_id AND p.name_key = k.key AND p.has_cast
    WHERE e.vote_id = $1 ORDER BY e.name_key, p.person_id;
END $$;
COMMENT ON FUNCTION votes.exceptions(bigint, bigint) IS $doc$
Lists the voters who entered the same name, for the initiator to decide about after the closing.
Shows no choices.

Arguments:
  vote: the vote
  initiator: the person who opened it
Returns:
  name_key: the name as it is compared: without case, accents and repeated spaces
  state: open, validated, rejected, or unresolved when the time of the review was over
  person_id: the voter
  name: the name as the voter entered it; null if the voter was erased since
  address: the address that the voter entered; null once the vote is counted
  is_rejected: whether the ballot is left out
Errors:
  P0002: this person has opened no such vote
Repeated: Reads only.
Sample:
  SELECT person_id, name, address, state FROM votes.exceptions(vote => 1, initiator => 17);
$doc$;

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

-- Raises an error unless names of the vote can be decided about: it is in review, or was.
CREATE OR REPLACE FUNCTION votes.expect_review(of votes.votes) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF of.id IS NULL OR of.state <> 'open' THEN
        RETURN;
    END IF;
    IF of.closes_at <= clock_timestamp() OR votes.standing_of(of.id, false) = 'closed' THEN
        PERFORM errand.ask_again(format('vote %s is being closed', of.id));
    END IF;
    PERFORM errand.refuse('open', format('vote %s is open: its names are looked at later', of.id));
END $$;

-- Whether a name was decided about exactly so. Once the vote is over, nobody knows any more which
-- erased people were rejected: those who are no participants are taken for them.
CREATE OR REPLACE FUNCTION votes.is_decided_so(of votes.exceptions, rejected bigint[])
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    known CONSTANT bigint[] := ARRAY(
        SELECT p.person_id FROM votes.participants p
        WHERE p.vote_id = of.vote_id AND p.is_rejected
          AND p.name_key IN (of.name_key, votes.erased_key(of.vote_id, of.name_key)));
BEGIN
    RETURN of.state = (CASE WHEN rejected = '{}' THEN 'validated' ELSE 'rejected'
            END)::votes.exception_state
        AND known <@ rejected
        AND NOT EXISTS (
            SELECT FROM unnest(rejected) r
            WHERE r <> ALL (known) AND (NOT votes.has_ended(of.vote_id) OR EXISTS (
                SELECT FROM votes.participants p
                WHERE p.vote_id = of.vote_id AND p.person_id = r)));
END $$;

-- Resolves one name: all its ballots count, or some people are rejected. Returns the number of
-- unresolved names; after the last one, the vote is counted.
CREATE OR REPLACE FUNCTION votes.decide(
    vote bigint, of_name text, rejected bigint[], actor text, reason text
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    decided votes.exceptions;
    found_ones bigint;
BEGIN
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE;
    PERFORM votes.expect_review(of);
    -- By the digest, too: all people of the name may be erased.
    SELECT * INTO decided FROM votes.exceptions e
    WHERE e.vote_id = vote AND e.name_key IN (votes.name_key(of_name),
        votes.erased_key(vote, votes.name_key(of_name))) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'vote % has no exception for that name', vote
            USING ERRCODE = 'no_data_found';
    END IF;
    rejected := coalesce(rejected, '{}');
    IF decided.state <> 'open' OR of.state <> 'review' THEN
        IF votes.is_decided_so(decided, rejected) THEN
            RETURN (SELECT count(*) FROM votes.exceptions e
                WHERE e.vote_id = vote AND e.state = 'open');
        END IF;
        PERFORM errand.refuse('decided',
            format('that name of vote %s is decided: it is %s', vote, decided.state));
    END IF;
    PERFORM errand.expect(coalesce(length(reason) <= 500, true),
        'reason: expected at most 500 characters');
    UPDATE votes.participants p SET is_rejected = true
    WHERE p.vote_id = vote AND p.person_id = ANY (rejected) AND p.has_cast
      AND p.name_key IN (decided.name_key, votes.erased_key(vote, decided.name_key));
    GET DIAGNOSTICS found_ones = ROW_COUNT;
    PERFORM errand.expect(found_ones = (SELECT count(DISTINCT r) FROM unnest(rejected) r),
        'rejected: expected the ids of people with that name who have cast');
    UPDATE votes.exceptions e
    SET state = CASE WHEN rejected = '{}' THEN 'validated' ELSE 'rejected'
            END::votes.exception_state,
        decided_at = clock_timestamp(), actor = actor, reason = reason
    WHERE e.vote_id = vote AND e.name_key = decided.name_key;
    RETURN votes.go_on(vote);
END $$;

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
COMMENT ON FUNCTION votes.resolve(bigint, bigint, text, text, bigint[], text) IS $doc$
Decides about one name that several voters entered, on behalf of the initiator: all its ballots
count, or those of some people are left out. After the last name, the vote is counted.

Arguments:
  vote: the vote
  initiator: the person who opened it
  name: the name, as one of them entered it, or the name_key of exceptions
  decision: validate, if all are different people; reject, to leave ballots out
  rejected: with reject, the people whose ballots are left out
  reason: why, at most 500 characters
Returns:
  unresolved: the number of names that are still to be decided
Reasons:
  open: the vote is not closed yet
  decided: the name is decided otherwise, or the time of the review was over
Errors:
  22023: decision and rejected do not fit, or one of rejected has not cast under that name
  P0002: this person has opened no such vote, or it has no such name
  RU002: the vote is being closed: call again in a second
Repeated: the same decision again returns the number of names that are still to be decided, also
  when people of the name were erased since; once all of them were and the result is out, P0002.
Sample:
  SELECT votes.resolve(vote => 1, initiator => 17, name => 'Zoë Roy', decision => 'reject',
      rejected => '{19}', reason => 'the same person twice');
$doc$;

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
