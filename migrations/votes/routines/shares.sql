-- The shares of votes, and the rotation of their wrapping key: see tables/003_links.sql.

-- Returns the wrapping key of a slot, 16 bytes; null if the slot is empty.
--
-- Names the sequences by texts: a constant regclass would make every plan depend on their files.
CREATE OR REPLACE FUNCTION votes.wrapping_key(slot smallint) RETURNS bytea LANGUAGE sql VOLATILE
RETURN int8send(pg_sequence_last_value(('votes.wrapping_' || slot || '_high')::regclass))
    || int8send(pg_sequence_last_value(('votes.wrapping_' || slot || '_low')::regclass));

-- Creates the share of a new vote.
--
-- SQLSTATE RU002: the wrapping key is missing, until a worker has drawn one.
CREATE OR REPLACE FUNCTION votes.add_share(vote bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    -- Until the caller's transaction ends, the slot is not emptied: see votes.destroy_keys().
    slot CONSTANT smallint := (SELECT w.slot FROM votes.wrapping w FOR KEY SHARE);
    key CONSTANT bytea := votes.wrapping_key(slot);
BEGIN
    IF key IS NOT NULL THEN
        INSERT INTO votes.key_shares (vote_id, slot, wrapped)
        VALUES (vote, slot, votes.wrap(votes.random_bytes(32) || votes.share_end(), key));
        RETURN;
    END IF;
    PERFORM errand.ask_again('votes have no wrapping key',
        'Call again in a second. Workers create it: see ''errand doctor''.');
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
-- Casting goes on: new statements find the new slot, and earlier ones their old one. The settings
-- keep the values of the keys from the client of a login that asks for plans.
CREATE OR REPLACE FUNCTION votes.rotate_wrapping_key() RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT votes.wrapping := (SELECT w FROM votes.wrapping w FOR NO KEY UPDATE);
    old CONSTANT smallint := at.slot;
    new CONSTANT smallint := 1 - at.slot;
    old_key CONSTANT bytea := votes.wrapping_key(old);
    new_key bytea;
BEGIN
    -- The key is missing if a dump was made while it was rotated.
    IF NOT at.is_clean OR old_key IS NOT NULL AND NOT EXISTS (
        SELECT FROM votes.key_shares k JOIN votes.votes v ON v.id = k.vote_id
        WHERE k.slot = old AND votes.is_over(v.state)) THEN
        RETURN false;
    END IF;
    PERFORM setval(('votes.wrapping_' || new || part)::regclass,
        ('x' || encode(votes.random_bytes(8), 'hex'))::bit(64)::bigint)
    FROM unnest('{_high,_low}'::text[]) part;
    new_key := votes.wrapping_key(new);
    PERFORM votes.rewrap(old, old_key, new, new_key);
    UPDATE votes.wrapping w SET slot = new, is_clean = false, emptied_at = NULL;
    RETURN true;
END $$;

-- Wraps the shares of a slot with the key of another, but for those of votes that are over; returns
-- their number. Also those that do not unwrap, which stay so.
CREATE OR REPLACE FUNCTION votes.rewrap(
    old smallint, old_key bytea, new smallint, new_key bytea
) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    count int;
BEGIN
    UPDATE votes.key_shares k
    SET slot = new, wrapped = votes.wrap(votes.unwrap(k.wrapped, old_key), new_key)
    FROM votes.votes v
    WHERE k.slot = old AND v.id = k.vote_id AND NOT votes.is_over(v.state)
      AND old_key IS NOT NULL;
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;

-- Second step of a rotation, in a transaction of its own: destroys the old wrapping key, and so the
-- shares of the votes that were over before the first step.
--   ended     the number of these votes
--   progress  done; again: votes were opened meanwhile, so call it once more; waiting: the key is
--             overwritten, and is gone from the disk with the next checkpoint of the server
--
-- Waits at most two seconds for transactions that open votes, and not for those that cast or dump.
-- Any login can hold up the replacement of the sequences' files, without any right to them: then
-- their values are overwritten in place, which needs no lock that others can hold.
CREATE OR REPLACE FUNCTION votes.destroy_keys(OUT ended int, OUT progress text) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    -- Waits for transactions that have wrapped a share of a new vote with the old key.
    at CONSTANT votes.wrapping := (SELECT w FROM votes.wrapping w FOR UPDATE);
    new CONSTANT smallint := at.slot;
    old CONSTANT smallint := 1 - at.slot;
    gone bigint[];
BEGIN
    ended := 0;
    -- An overwritten value does not come back with a rollback, so these are committed first.
    IF votes.rewrap(old, votes.wrapping_key(old), new, votes.wrapping_key(new)) > 0 THEN
        progress := 'again';
        RETURN;
    END IF;
    IF NOT at.is_clean AND NOT votes.empty_slot(old, at.emptied_at) THEN
        progress := 'waiting';
        RETURN;
    END IF;
    UPDATE votes.wrapping w SET is_clean = true, emptied_at = NULL WHERE NOT w.is_clean;
    WITH shares AS (
        DELETE FROM votes.key_shares k USING votes.votes v
        WHERE k.slot = old AND v.id = k.vote_id AND votes.is_over(v.state)
        RETURNING k.vote_id
    )
    SELECT coalesce(array_agg(s.vote_id), '{}') INTO gone FROM shares s;
    -- In this order: a process that reopens a key locks its row, so that its writes are visible
    -- here.
    PERFORM FROM votes.keys k WHERE k.vote_id = ANY (gone) ORDER BY k.id FOR NO KEY UPDATE;
    UPDATE votes.keys k SET sealed = NULL, destroyed_at = clock_timestamp()
    WHERE k.vote_id = ANY (gone) AND k.sealed IS NOT NULL;
    DELETE FROM votes.open_keys o USING votes.keys k
    WHERE k.vote_id = ANY (gone) AND o.key_id = k.id;
    ended := cardinality(gone);
    progress := 'done';
END $$;

-- Empties the sequences of a slot; returns whether no file has their values any more. The caller
-- holds the row of votes.wrapping, and `emptied_at` is its.
CREATE OR REPLACE FUNCTION votes.empty_slot(slot smallint, emptied_at pg_lsn) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
#variable_conflict use_variable
DECLARE
    part text;
BEGIN
    -- With new files; the old ones end with the transaction.
    FOREACH part IN ARRAY '{high,low}'::text[] LOOP
        EXECUTE format('ALTER SEQUENCE votes.wrapping_%s_%s RESTART', slot, part);
    END LOOP;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    IF votes.wrapping_key(slot) IS NOT NULL THEN
        PERFORM setval(('votes.wrapping_' || slot || p)::regclass, 1, false)
        FROM unnest('{_high,_low}'::text[]) p;
    END IF;
    IF emptied_at IS NULL THEN
        UPDATE votes.wrapping w SET emptied_at = pg_current_wal_insert_lsn();
        RETURN false;
    END IF;
    RETURN (SELECT c.redo_lsn >= emptied_at FROM pg_control_checkpoint() c);
END $$;

-- The sessions that hold up the destruction of keys: they have opened a vote, or hold a lock of the
-- sequences, in a transaction that has lasted longer than this.
CREATE OR REPLACE FUNCTION votes.key_holders(longer_than interval DEFAULT '10 seconds')
RETURNS TABLE (pid int, role text, application_name text, since timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.pid, s.role, s.application_name, s.xact_start
    FROM errand.sessions() s
    WHERE s.xact_start < clock_timestamp() - longer_than AND s.pid <> pg_backend_pid() AND EXISTS (
        SELECT FROM pg_locks l
        WHERE l.pid = s.pid AND l.granted AND l.locktype = 'relation'
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
          AND l.relation = ANY ('{votes.wrapping,votes.wrapping_0_high,votes.wrapping_0_low,
              votes.wrapping_1_high,votes.wrapping_1_low}'::regclass[])
          AND l.mode NOT IN ('AccessShareLock'))
    ORDER BY s.xact_start;
END $$;
