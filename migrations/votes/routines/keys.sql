-- Keys of votes: created ahead and opened by workers, which have the key file, and read by nobody
-- but the functions of this schema.

-- Returns the key that votes.open_key() is storing; null elsewhere.
--
-- Declared immutable, which it is not, for the generated columns below. pg_dump dumps no generated
-- column, whatever its options: a dump has no key in clear. A restored dump has nulls there, and a
-- worker opens the keys again.
CREATE OR REPLACE FUNCTION votes.key_in_hand(key_id bigint) RETURNS bytea LANGUAGE sql IMMUTABLE
AS $$
    SELECT decode(nullif(current_setting('errand.key_in_hand', true), ''), 'hex')
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute a
        WHERE a.attrelid = 'votes.open_keys'::regclass AND a.attname = 'cipher_key') THEN
        ALTER TABLE votes.open_keys
            ADD COLUMN cipher_key bytea
                GENERATED ALWAYS AS (substr(votes.key_in_hand(key_id), 1, 32)) STORED
                CHECK (length(cipher_key) = 32),
            ADD COLUMN mac_key bytea
                GENERATED ALWAYS AS (substr(votes.key_in_hand(key_id), 33)) STORED
                CHECK (length(mac_key) = 32);
        -- Prevents ANALYZE from copying them into its samples, which are logged.
        ALTER TABLE votes.open_keys ALTER cipher_key SET STATISTICS 0,
            ALTER mac_key SET STATISTICS 0;
    END IF;
END $$;

-- Enqueues a job that creates keys; only one of several concurrent callers does.
CREATE OR REPLACE FUNCTION votes.ask_for_keys() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM votes.locks l WHERE l.name = 'ask_for_keys' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM errand.enqueue_own('votes.keys', unique_key => 'asked');
    END IF;
END $$;

-- ---- For workers ----------------------------------------------------------------------------

-- Returns ids for the missing keys, at most N. Blocks other callers until the caller's transaction
-- ends, so that they do not create too many.
CREATE OR REPLACE FUNCTION votes.missing_keys(most int) RETURNS SETOF bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM votes.locks l WHERE l.name = 'keys' FOR UPDATE;
    RETURN QUERY
    SELECT nextval('votes.keys_id_seq')
    FROM votes.rules r CROSS JOIN LATERAL generate_series(1, least(most, r.keys_ahead - (
        SELECT count(*) FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
        WHERE k.vote_id IS NULL AND k.sealed IS NOT NULL AND o.cipher_key IS NOT NULL)));
END $$;

-- Adds a key, sealed and in clear.
CREATE OR REPLACE FUNCTION votes.add_key(
    key bigint, sealed bytea, cipher_key bytea, mac_key bytea
) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO votes.keys (id, sealed) VALUES (key, sealed);
    PERFORM votes.open_key(key, cipher_key, mac_key);
END $$;

-- Returns keys that are not open, with the votes that have them, in the order of their ids.
CREATE OR REPLACE FUNCTION votes.closed_keys(after bigint, most int)
RETURNS TABLE (id bigint, vote_id bigint, sealed bytea) LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT k.id, k.vote_id, k.sealed
    FROM votes.keys k LEFT JOIN votes.open_keys o ON o.key_id = k.id
    WHERE k.sealed IS NOT NULL AND o.cipher_key IS NULL AND k.id > after
    ORDER BY k.id LIMIT most;
END $$;

-- Opens a key, 32 bytes for encryption and 32 for authentication, unless it is open or destroyed.
CREATE OR REPLACE FUNCTION votes.open_key(key bigint, cipher_key bytea, mac_key bytea)
RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(length(cipher_key) = 32 AND length(mac_key) = 32,
        'cipher_key, mac_key: expected 32 bytes each');
    -- Locks its row, so that a key that is being destroyed is not restored.
    PERFORM FROM votes.keys k WHERE k.id = key AND k.sealed IS NOT NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Of a dump.
    DELETE FROM votes.open_keys o WHERE o.key_id = key AND o.cipher_key IS NULL;
    -- Not by a SET of the function, which only a superuser may add for a parameter of this kind. An
    -- error undoes it.
    PERFORM set_config('errand.key_in_hand', encode(cipher_key || mac_key, 'hex'), true);
    INSERT INTO votes.open_keys (key_id) VALUES (key) ON CONFLICT DO NOTHING;
    PERFORM set_config('errand.key_in_hand', '', true);
END $$;

-- Deletes a key that no vote has, as it is damaged.
CREATE OR REPLACE FUNCTION votes.forget_key(key bigint) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    DELETE FROM votes.keys k WHERE k.id = key AND k.vote_id IS NULL;
END $$;

-- ---- For listings ---------------------------------------------------------------------------

-- Counts keys.
--   ready   open, for new votes
--   closed  of votes, and not open: after a crash, until a worker opens them
CREATE OR REPLACE FUNCTION votes.key_counts(OUT ready bigint, OUT closed bigint)
LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT count(*) INTO ready
    FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
    WHERE k.sealed IS NOT NULL AND k.vote_id IS NULL AND o.cipher_key IS NOT NULL;
    SELECT count(*) FILTER (WHERE o.cipher_key IS NULL) INTO closed
    FROM votes.votes v JOIN votes.keys k ON k.id = v.key_id
    LEFT JOIN votes.open_keys o ON o.key_id = k.id
    WHERE v.state IN ('open', 'closed', 'review');
END $$;

-- Returns the votes whose share no key unwraps, as a dump was made during a rotation.
CREATE OR REPLACE FUNCTION votes.lost_votes() RETURNS SETOF bigint
LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT v.id
    FROM votes.votes v LEFT JOIN votes.key_shares s ON s.vote_id = v.id
    WHERE v.state IN ('open', 'closed', 'review') AND v.key_id IS NOT NULL
      AND NOT coalesce(
        votes.is_share(votes.unwrap(s.wrapped, votes.wrapping_key(s.slot))), false)
    ORDER BY v.id;
END $$;
