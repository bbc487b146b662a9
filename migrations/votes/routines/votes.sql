-- Closing, sweeping and cancelling votes.

-- Closes a vote if all expected ballots were cast, its deadline has passed, or an operator requests
-- it. Returns the reason; null if it stays open or was already closed.
--
-- Exactly one of several concurrent calls closes it: the vote's row serializes them. Its gates wait
-- for ballots that are being cast.
CREATE OR REPLACE FUNCTION votes.close(vote bigint, by_hand boolean DEFAULT false)
RETURNS votes.close_reason LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz;
    of votes.votes;
    why votes.close_reason;
    casts bigint;
    rules votes.rules;
BEGIN
    PERFORM votes.expect_read_committed();
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no vote has the id %', vote USING ERRCODE = 'no_data_found';
    END IF;
    at := clock_timestamp();
    IF of.state <> 'open' OR (by_hand OR at >= of.closes_at
        OR of.expected <= (SELECT sum(g.casts) FROM votes.gates g
            WHERE g.vote_id = vote AND g.number >= 0)) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    casts := votes.close_gates(vote);
    why := CASE WHEN of.expected <= casts THEN 'complete'
        WHEN at >= of.closes_at THEN 'deadline' ELSE 'by_hand' END;
    UPDATE votes.votes v SET state = 'closed', closed_for = why, closed_at = at WHERE v.id = vote;
    IF votes.add_exceptions(vote) > 0 THEN
        SELECT * INTO rules FROM votes.rules;
        -- Nobody reviews for an initiator who is to be erased.
        UPDATE votes.votes v
        SET state = 'review', review_until = CASE people.obstacle(v.initiator, at)
            WHEN 'blocked' THEN at WHEN 'under_age' THEN at ELSE at + rules.review_for END
        WHERE v.id = vote;
        PERFORM errand.enqueue_own('votes.review', jsonb_build_object('vote_id', vote));
    ELSE
        PERFORM errand.enqueue_own('votes.count', jsonb_build_object('vote_id', vote));
        -- In parallel to the count, for people who have joined since.
        PERFORM errand.enqueue_own('votes.prepare', jsonb_build_object('vote_id', vote))
        FROM votes.preparations r WHERE r.vote_id = vote;
    END IF;
    RETURN why;
END $$;

-- Adds the names that several voters entered; returns their number. Erased voters, of whose names
-- there is a digest, are found with the others.
CREATE OR REPLACE FUNCTION votes.add_exceptions(vote bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    added bigint;
    has_erased CONSTANT boolean := EXISTS (SELECT FROM votes.participants p
        WHERE p.vote_id = vote AND p.has_cast AND p.is_erased);
BEGIN
    INSERT INTO votes.exceptions (vote_id, name_key)
    SELECT vote, coalesce(min(p.name_key) FILTER (WHERE NOT p.is_erased), min(p.name_key))
    FROM votes.participants p
    WHERE p.vote_id = vote AND p.has_cast AND p.name_key IS NOT NULL
    GROUP BY CASE WHEN p.is_erased OR NOT has_erased THEN p.name_key
        ELSE votes.erased_key(vote, p.name_key) END
    HAVING count(*) > 1;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END $$;

-- Closes many votes without waiting: skips votes with a concurrent cast or closing, which are
-- missing from the result.
CREATE OR REPLACE FUNCTION votes.close_free(among bigint[])
RETURNS TABLE (vote bigint, reason votes.close_reason) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    FOREACH vote IN ARRAY among LOOP
        -- In this order, as those do that wait.
        PERFORM FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        CONTINUE WHEN NOT votes.try_gates(vote);
        reason := votes.close(vote);
        RETURN NEXT;
    END LOOP;
END $$;

-- Enqueues the preparation of notices of large votes close to their end, so that the result can be
-- published at once.
CREATE OR REPLACE FUNCTION votes.ask_for_news() RETURNS bigint LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH large AS (
        SELECT v.id, (SELECT count(*) FROM votes.participants p WHERE p.vote_id = v.id) AS people
        FROM votes.votes v
        WHERE v.state = 'open' AND (v.closes_at < clock_timestamp() + interval '15 minutes'
            OR v.closes_at < clock_timestamp() + interval '1 day' AND 0.9 * v.expected <= (
                SELECT sum(g.casts) FROM votes.gates g WHERE g.vote_id = v.id AND g.number >= 0))
    ), asked AS (
        INSERT INTO votes.preparations AS r (vote_id, participants)
        SELECT l.id, l.people FROM large l WHERE l.people >= 1000
        ON CONFLICT (vote_id) DO UPDATE SET participants = excluded.participants
        WHERE excluded.participants >= 1.1 * r.participants
        RETURNING r.vote_id
    )
    SELECT count(errand.enqueue_own('votes.prepare', jsonb_build_object('vote_id', a.vote_id),
        unique_key => a.vote_id::text)) FROM asked a
$$;

-- Enqueues jobs for overdue votes again: their jobs were lost, or several last ballots were cast in
-- one transaction. Returns the number of votes.
CREATE OR REPLACE FUNCTION votes.sweep() RETURNS bigint LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(errand.enqueue_own(s.kind, jsonb_build_object('vote_id', s.id),
        unique_key => 'swept:' || s.id))
    FROM (
        SELECT 'votes.close' AS kind, v.id FROM votes.votes v
        WHERE v.state = 'open' AND (v.closes_at < clock_timestamp() - interval '5 seconds'
            OR v.expected <= (SELECT sum(g.casts) FROM votes.gates g
                WHERE g.vote_id = v.id AND g.number >= 0))
        UNION ALL
        -- The jobs of these votes should have ended long ago.
        SELECT CASE WHEN v.state = 'counted' THEN 'votes.publish' WHEN EXISTS (
                    SELECT FROM votes.exceptions e WHERE e.vote_id = v.id AND e.state = 'open')
                THEN 'votes.review' ELSE 'votes.count' END,
            v.id
        FROM votes.votes v
        WHERE v.state IN ('closed', 'counted', 'review')
          AND CASE v.state WHEN 'review' THEN v.review_until ELSE v.closed_at END
            < clock_timestamp() - interval '10 minutes'
    ) s
$$;

-- Cancels a vote before its publication; the choices stay secret. False if it was already
-- cancelled.
CREATE OR REPLACE FUNCTION votes.take_back(vote bigint) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    before votes.vote_state;
BEGIN
    SELECT v.state INTO before FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE;
    IF before IS NULL THEN
        RAISE EXCEPTION 'no vote has the id %', vote USING ERRCODE = 'no_data_found';
    END IF;
    IF before = 'cancelled' THEN
        RETURN false;
    END IF;
    IF before IN ('counted', 'published') THEN
        PERFORM errand.refuse('counted',
            format('vote %s is counted: it cannot be cancelled', vote));
    END IF;
    UPDATE votes.votes v SET state = 'cancelled' WHERE v.id = vote;
    PERFORM votes.close_gates(vote);
    -- Waits for the preparation of notices; see votes.may_notify.
    PERFORM votes.hold_news(vote);
    PERFORM notification.call_off('vote:' || vote, 'the vote was cancelled');
    PERFORM votes.forget_links(vote);
    DELETE FROM votes.gates g WHERE g.vote_id = vote;
    PERFORM votes.forget_ids(ARRAY[vote]);
    -- Destroys its key.
    PERFORM errand.enqueue_own('votes.sweep', unique_key => 'cancelled');
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION votes.cancel(vote bigint, initiator bigint)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM votes.expect_initiator(vote, initiator);
    RETURN votes.take_back(vote);
END $$;
COMMENT ON FUNCTION votes.cancel(bigint, bigint) IS $doc$
Cancels a vote on behalf of its initiator, before it is counted. The choices stay secret for ever,
and nobody gets a notice.

Arguments:
  vote: the vote
  initiator: the person who opened it
Returns:
  is_new: true; false if it was cancelled before
Reasons:
  counted: the vote is counted, and its result is out or about to be
Errors:
  P0002: this person has opened no such vote
Repeated: returns false, and changes nothing.
Sample:
  SELECT votes.cancel(vote => votes.open(subject => 'Pizza or pasta?', options => '{Pizza,Pasta}',
      initiator => 17, closes_at => now() + interval '1 hour'), initiator => 17);
$doc$;

-- Deletes the links between people and choices of a vote that is over, and the addresses, which
-- only the review needs. A rotation destroys what opens the links: see votes.destroy_keys().
CREATE OR REPLACE FUNCTION votes.forget_links(vote bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    DELETE FROM votes.casts c WHERE c.vote_id = vote;
    DELETE FROM votes.preparations r WHERE r.vote_id = vote;
    DELETE FROM votes.guesses g WHERE g.vote_id = vote;
    -- Rewrites all rows in an order that does not reveal their times.
    WITH taken AS (
        DELETE FROM votes.participants p WHERE p.vote_id = vote RETURNING p.*
    )
    INSERT INTO votes.participants
        (vote_id, person_id, joined_on, has_cast, is_rejected, is_erased, name, name_key)
    SELECT t.vote_id, t.person_id, t.joined_on, t.has_cast, t.is_rejected, t.is_erased, t.name,
        t.name_key
    FROM taken t ORDER BY t.person_id;
END $$;

-- Raises an error unless the person is the initiator of the vote.
CREATE OR REPLACE FUNCTION votes.expect_initiator(vote bigint, initiator bigint)
RETURNS void LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM votes.votes v WHERE v.id = vote AND v.initiator = initiator) THEN
        RAISE EXCEPTION 'person % has opened no vote with the id %', initiator, vote
            USING ERRCODE = 'no_data_found';
    END IF;
END $$;
