-- The shares of votes, and the rotation of their wrapping key: see tables/003_links.sql.

-- Returns the wrapping key of a slot, 16 bytes; null if the slot is empty. Until the caller's
-- transaction ends, the slot is not emptied.
--
-- Names the sequences by texts: a constant regclass would make every plan depend on their files.
CREATE OR REPLACE FUNCTION votes.wrapping_key(slot smallint) RETURNS bytea LANGUAGE sql VOLATILE
RETURN int8send(pg_sequence_last_value(('votes.wrapping_' || slot || '_high')::regclass))
    || int8send(pg_sequence_last_value(('votes.wrapping_' || slot || '_low')::regclass));

-- Creates the share of a new vote.
--
-- SQLSTATE 53000: the wrapping key is missing, until a worker has drawn one.
CREATE OR REPLACE FUNCTION votes.add_share(vote bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    -- Again if a rotation has just emptied the slot that the snapshot shows.
    FOR attempt IN 1..3 LOOP
        INSERT INTO votes.key_shares (vote_id, slot, wrapped)
        SELECT vote, w.slot, votes.wrap(votes.random_bytes(32) || votes.share_end(), w.key)
        FROM (SELECT s.slot, votes.wrapping_key(s.slot) AS key FROM votes.wrapping s OFFSET 0) w
        WHERE w.key IS NOT NULL;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'votes have no wrapping key' USING
        ERRCODE = 'insufficient_resources',
        HINT = 'Try again in a second. Workers create it: see ''errand doctor''.';
END $$;

-- Returns the keys of a vote's links. No row if they are not open: after a crash of the server
-- until a worker opens them, and once they are destroyed.
CREATE OR REPLACE FUNCTION votes.link_keys(vote bigint, OUT cipher_key bytea, OUT mac_key bytea)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    -- Again if a rotation has just emptied the slot that the snapshot shows.
    FOR attempt IN 1..3 LOOP
        RETURN QUERY
        SELECT votes.link_key(o.cipher_key, k.share), o.mac_key
        FROM votes.votes v JOIN votes.open_keys o ON o.key_id = v.key_id
        CROSS JOIN LATERAL (
            SELECT votes.unwrap(s.wrapped, votes.wrapping_key(s.slot)) AS share
            FROM votes.key_shares s WHERE s.vote_id = v.id OFFSET 0
        ) k
        WHERE v.id = vote AND o.cipher_key IS NOT NULL AND votes.is_share(k.share);
        EXIT WHEN FOUND;
    END LOOP;
END $$;

-- Whether no link of the vote will be read again.
CREATE OR REPLACE FUNCTION votes.is_over(state votes.vote_state)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN state IN ('counted', 'published', 'cancelled');

-- First step of a rotation: wraps the shares of all votes that are not over with a new key. False
-- if there is no share to destroy, or the second step of an earlier rotation is missing.
--
-- Casting goes on: new statements find the new slot, and earlier ones their old one.
CREATE OR REPLACE FUNCTION votes.rotate_wrapping_key() RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
#variable_conflict use_variable
DECLARE
    old CONSTANT smallint := (SELECT w.slot FROM votes.wrapping w FOR UPDATE);
    new CONSTANT smallint := 1 - old;
    old_key CONSTANT bytea := votes.wrapping_key(old);
    new_key bytea;
BEGIN
    -- The key is missing if a dump was made while it was rotated.
    IF votes.wrapping_key(new) IS NOT NULL OR old_key IS NOT NULL AND NOT EXISTS (
        SELECT FROM votes.key_shares k JOIN votes.votes v ON v.id = k.vote_id
        WHERE votes.is_over(v.state)) THEN
        RETURN false;
    END IF;
    PERFORM setval(('votes.wrapping_' || new || part)::regclass,
        ('x' || encode(votes.random_bytes(8), 'hex'))::bit(64)::bigint)
    FROM unnest('{_high,_low}'::text[]) part;
    new_key := votes.wrapping_key(new);
    PERFORM votes.rewrap(old, old_key, new, new_key);
    UPDATE votes.wrapping w SET slot = new;
    RETURN true;
END $$;

-- Wraps the shares of a slot with the key of another, but for those of votes that are over. Also
-- those that do not unwrap, which stay so.
CREATE OR REPLACE FUNCTION votes.rewrap(
    old smallint, old_key bytea, new smallint, new_key bytea
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE votes.key_shares k
    SET slot = new, wrapped = votes.wrap(votes.unwrap(k.wrapped, old_key), new_key)
    FROM votes.votes v
    WHERE k.slot = old AND v.id = k.vote_id AND NOT votes.is_over(v.state)
      AND old_key IS NOT NULL;
END $$;

-- Second step of a rotation, in a transaction of its own: destroys the old wrapping key, and so the
-- shares of the votes that were over before the first step. Returns their number.
--
-- Waits for transactions that have read the old key, and not for those that dump it.
CREATE OR REPLACE FUNCTION votes.destroy_keys() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
#variable_conflict use_variable
DECLARE
    new CONSTANT smallint := (SELECT w.slot FROM votes.wrapping w FOR UPDATE);
    old CONSTANT smallint := 1 - new;
    old_key CONSTANT bytea := votes.wrapping_key(old);
    ended bigint[];
BEGIN
    IF old_key IS NOT NULL THEN
        IF old = 0 THEN
            ALTER SEQUENCE votes.wrapping_0_high RESTART;
            ALTER SEQUENCE votes.wrapping_0_low RESTART;
        ELSE
            ALTER SEQUENCE votes.wrapping_1_high RESTART;
            ALTER SEQUENCE votes.wrapping_1_low RESTART;
        END IF;
        -- Those of votes that were opened meanwhile by transactions that had read it.
        PERFORM votes.rewrap(old, old_key, new, votes.wrapping_key(new));
    END IF;
    WITH gone AS (
        DELETE FROM votes.key_shares k USING votes.votes v
        WHERE k.slot = old AND v.id = k.vote_id AND votes.is_over(v.state)
        RETURNING k.vote_id
    )
    SELECT coalesce(array_agg(g.vote_id), '{}') INTO ended FROM gone g;
    -- In this order: a process that reopens a key locks its row, so that its writes are visible
    -- here.
    PERFORM FROM votes.keys k WHERE k.vote_id = ANY (ended) ORDER BY k.id FOR NO KEY UPDATE;
    UPDATE votes.keys k SET sealed = NULL, destroyed_at = clock_timestamp()
    WHERE k.vote_id = ANY (ended) AND k.sealed IS NOT NULL;
    DELETE FROM votes.open_keys o USING votes.keys k
    WHERE k.vote_id = ANY (ended) AND o.key_id = k.id;
    RETURN cardinality(ended);
END $$;
