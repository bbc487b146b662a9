-- The count of a vote, and its publication.

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
-- the ballots, and deletes the links. Returns the number of ballots; null if the vote was already
-- counted or must not be.
--
-- Its memory holds 100,000 links: a temporary file would have them in the order of the casts, and
-- may outlive a crash.
--
-- SQLSTATE RU002: the key is not open; try again in a second.
CREATE OR REPLACE FUNCTION votes.count_ballots(vote bigint) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- Keeps the values of the keys from the client of a login that asks for plans.
SET debug_print_plan = off SET work_mem = '256MB' AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    keys record;
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
    SELECT k.cipher_key, k.mac_key INTO keys FROM votes.link_keys(vote) k;
    IF NOT FOUND THEN
        PERFORM errand.ask_again(format('the key of vote %s is not open', vote),
            'A worker that has the file of keys opens it within seconds.');
    END IF;
    voters := (SELECT count(*) FROM votes.participants p WHERE p.vote_id = vote AND p.has_cast);
    IF voters <> (SELECT count(*) FROM votes.casts c WHERE c.vote_id = vote) THEN
        RAISE EXCEPTION 'vote %: % have cast, and votes.casts has % ballots', vote, voters,
            (SELECT count(*) FROM votes.casts c WHERE c.vote_id = vote)
            USING ERRCODE = 'data_corrupted';
    END IF;
    IF EXISTS (SELECT FROM votes.casts c WHERE c.vote_id = vote
        AND NOT votes.is_link_of(vote, c.person_id, c.sealed, keys.mac_key)) THEN
        RAISE EXCEPTION 'vote %: a row of votes.casts was modified', vote
            USING ERRCODE = 'data_corrupted';
    END IF;
    -- Inlines votes.commitment, as this runs a hundred thousand times.
    WITH opened AS MATERIALIZED (
        SELECT votes.open_link(c.sealed, keys.cipher_key) AS bytes
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
    SET state = 'counted', root = root, ballots = counted, voters = voters, joined = (
            SELECT count(*) FROM votes.participants p WHERE p.vote_id = vote)
    WHERE v.id = vote;
    PERFORM errand.enqueue_own('votes.publish', jsonb_build_object('vote_id', vote));
    RETURN counted;
END $$;

-- Returns the facts for the notices of a vote; no row if it is published or cancelled. Blocks both
-- until the caller's transaction ends.
CREATE OR REPLACE FUNCTION votes.may_notify(vote bigint)
RETURNS TABLE (initiator bigint, data jsonb, expires_at timestamptz) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM votes.gates g WHERE g.vote_id = $1 AND g.number = -1 FOR KEY SHARE;
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
--
-- SQLSTATE RU002: its key is not destroyed; see votes.destroy_keys().
CREATE OR REPLACE FUNCTION votes.publish(vote bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM votes.hold_news(vote);
    IF votes.has_counted_key(vote) THEN
        PERFORM errand.ask_again(format('the key of vote %s is not destroyed', vote),
            'The job votes.publish destroys it; ''errand doctor'' shows what delays that.');
    END IF;
    UPDATE votes.votes v SET state = 'published', published_at = clock_timestamp()
    WHERE v.id = vote AND v.state = 'counted';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM votes.gates g WHERE g.vote_id = vote;
    PERFORM votes.forget_ids(ARRAY[vote]);
    PERFORM notification.release('vote:' || vote);
    RETURN true;
END $$;

-- Returns whether a vote is counted and its key is still to be destroyed.
CREATE OR REPLACE FUNCTION votes.has_counted_key(vote bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM votes.votes v JOIN votes.keys k ON k.id = v.key_id
        WHERE v.id = vote AND v.state = 'counted' AND k.destroyed_at IS NULL);
END $$;
