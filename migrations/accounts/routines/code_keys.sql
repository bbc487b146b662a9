-- The keys of the hashes of codes, random bytes, and hashes.

-- HMAC-SHA-256 (RFC 2104) with a key of at most 64 bytes.
CREATE OR REPLACE FUNCTION accounts.hmac(message bytea, key bytea)
RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    inner_block bytea := decode(repeat('36', 64), 'hex');
    outer_block bytea := decode(repeat('5c', 64), 'hex');
BEGIN
    FOR place IN 0..length(key) - 1 LOOP
        inner_block := set_byte(inner_block, place, 54 # get_byte(key, place));
        outer_block := set_byte(outer_block, place, 92 # get_byte(key, place));
    END LOOP;
    RETURN sha256(outer_block || sha256(inner_block || message));
END $$;

-- 32 bytes of the server's strong random numbers: a UUID has 122 random bits.
CREATE OR REPLACE FUNCTION accounts.random_bytes()
RETURNS bytea LANGUAGE sql VOLATILE
RETURN sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()));

-- Six random digits.
CREATE OR REPLACE FUNCTION accounts.random_code()
RETURNS text LANGUAGE sql VOLATILE
RETURN lpad((('x' || encode(substr(accounts.random_bytes(), 1, 7), 'hex'))::bit(56)::bigint
    % 1000000)::text, 6, '0');

-- A random token of 43 characters: 32 bytes in base64url (RFC 4648 section 5) without padding.
CREATE OR REPLACE FUNCTION accounts.random_token()
RETURNS text LANGUAGE sql VOLATILE
RETURN rtrim(translate(encode(accounts.random_bytes(), 'base64'), '+/', '-_'), '=');

-- The hash of a token; null for a text that is none.
CREATE OR REPLACE FUNCTION accounts.token_hash(token text)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN token ~ '^[A-Za-z0-9_-]{43}$' THEN sha256(convert_to(token, 'UTF8')) END;

-- Returns the key that accounts.current_key() is storing; null elsewhere. For the generated column
-- below: pg_dump dumps none, so that a dump has no key, whatever its options.
--
-- Declared immutable, which it is not, as a generated column must be.
CREATE OR REPLACE FUNCTION accounts.key_in_hand(id bigint) RETURNS bytea LANGUAGE sql IMMUTABLE
AS $$
    SELECT decode(nullif(current_setting('errand.account_key_in_hand', true), ''), 'hex')
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute a
        WHERE a.attrelid = 'accounts.code_keys'::regclass AND a.attname = 'key') THEN
        ALTER TABLE accounts.code_keys
            ADD COLUMN key bytea GENERATED ALWAYS AS (accounts.key_in_hand(id)) STORED
                CHECK (length(key) = 32);
        -- Prevents ANALYZE from copying it into its samples, which are logged.
        ALTER TABLE accounts.code_keys ALTER key SET STATISTICS 0;
    END IF;
END $$;

-- The id of a key that is less than an hour old; makes one if there is none. Two callers at the
-- same moment make two, which is harmless: a code names its key.
CREATE OR REPLACE FUNCTION accounts.current_key(at timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    SELECT k.id INTO found FROM accounts.code_keys k
    WHERE k.made_at BETWEEN at - interval '1 hour' AND at AND k.key IS NOT NULL
    ORDER BY k.made_at DESC LIMIT 1;
    IF found IS NULL THEN
        PERFORM set_config('errand.account_key_in_hand',
            encode(accounts.random_bytes(), 'hex'), true);
        INSERT INTO accounts.code_keys (id, made_at)
        VALUES (('x' || encode(accounts.random_bytes(), 'hex'))::bit(64)::bigint, at)
        RETURNING id INTO found;
        PERFORM set_config('errand.account_key_in_hand', '', true);
    END IF;
    RETURN found;
END $$;

-- The hash of a code; null if its key is lost.
CREATE OR REPLACE FUNCTION accounts.code_mac(code bigint, key_id bigint, salt bytea, digits text)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT accounts.hmac(int8send($1) || $3 || convert_to($4, 'UTF8'), k.key)
    FROM accounts.code_keys k WHERE k.id = $2 AND k.key IS NOT NULL
$$;
