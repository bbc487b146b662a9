-- After the closing: equal names, the count, and the publication.

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
        PERFORM errand.enqueue('votes.count', jsonb_build_object('vote_id', vote),
            unique_key => vote::text);
    END IF;
    RETURN remaining;
END $$;

-- Resolves one name: all its ballots count, or some people are rejected. Returns the number of
-- unresolved names; after the last one, the vote is counted.
CREATE OR REPLACE FUNCTION votes.decide(
    vote bigint, of_name text, rejected bigint[], actor text, reason text
) RETURNS bigint LANGUAGE plpgsql AS $$
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
RETURNS boolean LANGUAGE plpgsql AS $$
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

-- The hashes of the tree (RFC 6962, section 2.1).
CREATE OR REPLACE FUNCTION votes.leaf_hash(entry bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN sha256('\x00'::bytea || entry);
CREATE OR REPLACE FUNCTION votes.node_hash(first bytea, second bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256('\x01'::bytea || first || second);

-- Builds the tree over the ballots of a vote; returns its root.
--
-- Pairs nodes from the left, level by level, and promotes a node without a neighbor. This yields
-- the same tree as the recursive halves of RFC 6962.
CREATE OR REPLACE FUNCTION votes.grow_tree(vote bigint, ballots int)
RETURNS bytea LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    level smallint := 1;
    width int := ballots;
BEGIN
    IF ballots < 2 THEN
        RETURN coalesce((SELECT votes.leaf_hash(b.commitment) FROM votes.ballots b
            WHERE b.vote_id = vote), sha256(''::bytea));
    END IF;
    INSERT INTO votes.nodes (vote_id, level, position, hash)
    SELECT vote, level, h.position / 2,
        CASE WHEN h.next IS NULL THEN h.hash ELSE votes.node_hash(h.hash, h.next) END
    FROM (
        SELECT l.position, l.hash, lead(l.hash) OVER (ORDER BY l.position) AS next
        FROM (SELECT b.position, votes.leaf_hash(b.commitment) AS hash
            FROM votes.ballots b WHERE b.vote_id = vote) l
    ) h WHERE h.position % 2 = 0;
    LOOP
        width := (width + 1) / 2;
        EXIT WHEN width = 1;
        INSERT INTO votes.nodes (vote_id, level, position, hash)
        SELECT vote, level + 1, h.position / 2,
            CASE WHEN h.next IS NULL THEN h.hash ELSE votes.node_hash(h.hash, h.next) END
        FROM (
            SELECT n.position, n.hash, lead(n.hash) OVER (ORDER BY n.position) AS next
            FROM votes.nodes n WHERE n.vote_id = vote AND n.level = level
        ) h WHERE h.position % 2 = 0;
        level := level + 1;
    END LOOP;
    RETURN (SELECT n.hash FROM votes.nodes n
        WHERE n.vote_id = vote AND n.level = level AND n.position = 0);
END $$;

-- Counts a closed vote without unresolved names: opens the links, excludes rejected voters, writes
-- the ballots, and destroys the links and their key. Returns the number of ballots; null if the
-- vote was already counted or must not be.
--
-- SQLSTATE 53000: the key is not open; try again in a second.
CREATE OR REPLACE FUNCTION votes.count_ballots(vote bigint) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    of_key votes.open_keys;
    counted int;
    voters int;
    root bytea;
    head CONSTANT bytea :=
        votes.field('errand-ballot-v1'::bytea) || votes.field(vote::text::bytea);
BEGIN
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote FOR NO KEY UPDATE;
    IF of.state IN ('closed', 'review') IS NOT TRUE OR EXISTS (
        SELECT FROM votes.exceptions e WHERE e.vote_id = vote AND e.state = 'open') THEN
        RETURN NULL;
    END IF;
    SELECT * INTO of_key FROM votes.open_keys o WHERE o.key_id = of.key_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the key of vote % is not open', vote
            USING ERRCODE = 'insufficient_resources',
                HINT = 'A worker that has the file of keys opens it within seconds.';
    END IF;
    voters := (SELECT count(*) FROM votes.participants p WHERE p.vote_id = vote AND p.has_cast);
    IF voters <> (SELECT count(*) FROM votes.casts c WHERE c.vote_id = vote) THEN
        RAISE EXCEPTION 'vote %: % have cast, and votes.casts has % ballots', vote, voters,
            (SELECT count(*) FROM votes.casts c WHERE c.vote_id = vote)
            USING ERRCODE = 'data_corrupted';
    END IF;
    IF EXISTS (SELECT FROM votes.casts c WHERE c.vote_id = vote
        AND NOT votes.is_link_of(vote, c.person_id, c.sealed, of_key.mac_key)) THEN
        RAISE EXCEPTION 'vote %: a row of votes.casts was modified', vote
            USING ERRCODE = 'data_corrupted';
    END IF;
    -- Inlines votes.commitment, as this runs a hundred thousand times.
    WITH opened AS MATERIALIZED (
        SELECT votes.open_link(c.sealed, of_key.cipher_key) AS bytes
        FROM votes.casts c JOIN votes.participants p USING (vote_id, person_id)
        WHERE c.vote_id = vote AND p.has_cast AND NOT p.is_rejected
    ), read AS MATERIALIZED (
        SELECT rtrim(encode(substr(o.bytes, 33), 'escape')) AS choice,
            substr(o.bytes, 1, 32) AS nonce
        FROM opened o
    ), hashed AS MATERIALIZED (
        SELECT r.choice, r.nonce, sha256(head || int4send(length(r.choice)) || r.choice::bytea
            || '\x00000020'::bytea || r.nonce) AS commitment
        FROM read r
    )
    INSERT INTO votes.ballots (vote_id, position, choice, nonce, commitment)
    SELECT vote, row_number() OVER (ORDER BY h.commitment) - 1,
        string_to_array(h.choice, '-')::smallint[], h.nonce, h.commitment
    FROM hashed h ORDER BY h.commitment;
    GET DIAGNOSTICS counted = ROW_COUNT;
    root := votes.grow_tree(vote, counted);
    UPDATE votes.options o SET ballots = coalesce(t.ballots, 0)
    FROM votes.options n LEFT JOIN (
        SELECT c.number, count(*) AS ballots
        FROM votes.ballots b CROSS JOIN unnest(b.choice) AS c (number)
        WHERE b.vote_id = vote GROUP BY 1
    ) t USING (number)
    WHERE o.vote_id = vote AND n.vote_id = vote AND n.number = o.number;
    PERFORM votes.forget_links(vote);
    UPDATE votes.votes v
    SET state = 'counted', root = root, ballots = counted, voters = voters WHERE v.id = vote;
    PERFORM errand.enqueue('votes.publish', jsonb_build_object('vote_id', vote));
    RETURN counted;
END $$;

-- Returns the facts for the notices of a vote; no row if it is published or cancelled. Blocks both
-- until the caller's transaction ends.
CREATE OR REPLACE FUNCTION votes.may_notify(vote bigint)
RETURNS TABLE (initiator bigint, data jsonb, expires_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM pg_advisory_xact_lock_shared(votes.news_lock($1));
    -- A separate statement, so that its snapshot is taken after the lock. The notices expire two
    -- weeks after their latest possible time.
    RETURN QUERY SELECT v.initiator, jsonb_build_object('subject', v.subject),
        greatest(clock_timestamp(), v.review_until, v.closes_at + r.review_for)
            + interval '14 days'
    FROM votes.votes v CROSS JOIN votes.rules r
    WHERE v.id = $1 AND v.state NOT IN ('published', 'cancelled');
END $$;

-- Publishes a counted vote: when the transaction commits, its result becomes visible and all its
-- notices are released. False if it was already published.
CREATE OR REPLACE FUNCTION votes.publish(vote bigint) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM pg_advisory_xact_lock(votes.news_lock(vote));
    UPDATE votes.votes v SET state = 'published', published_at = clock_timestamp()
    WHERE v.id = vote AND v.state = 'counted';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM votes.erase_requested(vote);
    PERFORM notification.release('vote:' || vote);
    RETURN true;
END $$;
