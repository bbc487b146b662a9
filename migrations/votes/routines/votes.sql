-- Closing, sweeping, cancelling and erasing votes.

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
    INSERT INTO votes.exceptions (vote_id, name_key)
    SELECT vote, p.name_key FROM votes.participants p
    WHERE p.vote_id = vote AND p.has_cast
    GROUP BY p.name_key HAVING count(*) > 1;
    IF FOUND THEN
        SELECT * INTO rules FROM votes.rules;
        UPDATE votes.votes v SET state = 'review', review_until = at + rules.review_for
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
    UPDATE votes.votes v SET state = 'cancelled' WHERE v.id = vote;
    PERFORM votes.close_gates(vote);
    -- Waits for the preparation of notices; see votes.may_notify.
    PERFORM votes.hold_news(vote);
    PERFORM notification.call_off('vote:' || vote, 'the vote was cancelled');
    PERFORM votes.forget_links(vote);
    DELETE FROM votes.gates g WHERE g.vote_id = vote;
    PERFORM votes.erase_requested(vote);
    -- Destroys its key.
    PERFORM errand.enqueue_own('votes.sweep', unique_key => 'cancelled');
    RETURN true;
END $$;

-- Cancels a vote on behalf of its initiator.
CREATE OR REPLACE FUNCTION votes.cancel(vote bigint, initiator bigint)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM votes.expect_initiator(vote, initiator);
    RETURN votes.take_back(vote);
END $$;

-- Deletes the links between people and choices of a vote that is over. A rotation destroys what
-- opens them: see votes.destroy_keys().
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
    INSERT INTO votes.participants SELECT * FROM taken t ORDER BY t.person_id;
END $$;

-- Erases the participants of a vote who requested it before its end.
CREATE OR REPLACE FUNCTION votes.erase_requested(vote bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    erased bigint;
BEGIN
    -- The initiator remains known.
    PERFORM notification.forget(array_agg(p.person_id), 'vote:' || vote)
    FROM votes.participants p JOIN votes.votes v ON v.id = p.vote_id
    WHERE p.vote_id = vote AND p.is_to_be_erased AND p.person_id <> v.initiator
    HAVING count(*) > 0;
    UPDATE votes.participants p
    SET person_id = -nextval('votes.erased_people'), is_erased = true, is_to_be_erased = false,
        name = NULL, name_key = NULL, address = NULL
    WHERE p.vote_id = vote AND p.is_to_be_erased;
    GET DIAGNOSTICS erased = ROW_COUNT;
    -- A name without remaining people; the decision about it stays.
    UPDATE votes.exceptions e
    SET name_key = '#' || nextval('votes.erased_people'), reason = NULL
    WHERE e.vote_id = vote AND e.name_key NOT LIKE '#%' AND NOT EXISTS (
        SELECT FROM votes.participants p WHERE p.vote_id = vote AND p.name_key = e.name_key);
    RETURN erased;
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
