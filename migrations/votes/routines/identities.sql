-- Names and passwords: who somebody is in a vote.

-- Returns the normalized name for comparison: NFKC, case-folded, without combining marks on Latin,
-- Greek and Cyrillic letters, without invisible characters, and with single spaces. So José Núñez
-- and JOSE  NUNEZ are equal.
CREATE OR REPLACE FUNCTION votes.name_key(name text)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    spaces CONSTANT text :=
        U&'[\0009-\000D\0020\0085\00A0\1680\2000-\200A\2028\2029\202F\205F\3000]+';
    unseen CONSTANT text := U&'[\00AD\034F\061C\180B-\180E\200B-\200F\202A-\202E\2060-\206F'
        '\FE00-\FE0F\FEFF]';
    key text;
BEGIN
    key := normalize(name, NFKC);
    -- Upper and lower, so that ß equals SS, and all sigmas are equal.
    key := lower(upper(key COLLATE "und-x-icu") COLLATE "und-x-icu");
    key := regexp_replace(normalize(translate(key, U&'\03C2', U&'\03C3'), NFKD),
        U&'[\0300-\036F]', '', 'g');
    key := regexp_replace(regexp_replace(key, unseen, '', 'g'), spaces, ' ', 'g');
    RETURN normalize(btrim(key), NFKC);
END $$;

-- Returns what stays of the name of an erased voter until the publication: a digest, which finds
-- equal names in the vote.
CREATE OR REPLACE FUNCTION votes.erased_key(vote bigint, name_key text)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN '#' || encode(sha256(votes.field('errand-name-v1'::bytea)
    || votes.field(vote::text::bytea) || convert_to(name_key, 'UTF8')), 'hex');

-- Returns the input of the slow hash: a digest, as bcrypt uses at most 72 bytes.
CREATE OR REPLACE FUNCTION votes.password_text(password text)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN encode(sha256(convert_to(password, 'UTF8')), 'base64');

-- Returns the MAC of a password, for a fast comparison while the key is open.
CREATE OR REPLACE FUNCTION votes.password_mac(password text, mac_key bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN votes.mac('password'::bytea || sha256(convert_to(password, 'UTF8')), mac_key);

-- Returns the answer of a refusal.
CREATE OR REPLACE FUNCTION votes.refusal(reason text)
RETURNS votes.answer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW (false, reason, NULL, NULL)::votes.answer;

-- Checks a vote's password; returns ok, or the refusal. Counts wrong guesses; as a rollback undoes
-- that, call it outside of longer transactions.
CREATE OR REPLACE FUNCTION votes.check_password(of votes.votes, person bigint, password text)
RETURNS votes.answer LANGUAGE plpgsql
-- Keeps the values of the keys from the client of a login that asks for plans.
SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    present CONSTANT timestamptz := date_bin('5 minutes', clock_timestamp(), '2000-01-01Z');
    of_key votes.open_keys;
    is_right boolean;
BEGIN
    SELECT * INTO of_key FROM votes.open_keys o
    WHERE o.key_id = of.key_id AND o.mac_key IS NOT NULL;
    IF NOT FOUND THEN
        RETURN votes.refusal('not_ready');
    END IF;
    -- Counts the guess before it is checked: others of the person wait for its row.
    INSERT INTO votes.guesses AS g VALUES (of.id, person, present, 1)
    ON CONFLICT ON CONSTRAINT guesses_pkey DO UPDATE
    SET count = CASE WHEN g.period = present THEN g.count + 1 ELSE 1 END, period = present
    WHERE g.period <> present OR g.count < (SELECT r.guesses FROM votes.rules r);
    IF NOT FOUND THEN
        RETURN ROW (false, 'too_many_guesses', NULL, present + interval '5 minutes')::votes.answer;
    END IF;
    IF of_key.password_mac IS NOT NULL THEN
        -- Compares hashes, as a comparison ends at the first different byte.
        is_right := sha256(of_key.password_mac)
            = sha256(votes.password_mac(password, of_key.mac_key));
    ELSE
        is_right := votes.is_slow_hash(votes.password_text(password), of.password_hash);
        IF is_right THEN
            UPDATE votes.open_keys o
            SET password_mac = votes.password_mac(password, of_key.mac_key)
            WHERE o.key_id = of.key_id AND o.password_mac IS NULL;
        END IF;
    END IF;
    IF NOT is_right THEN
        RETURN votes.refusal('wrong_password');
    END IF;
    DELETE FROM votes.guesses g WHERE g.vote_id = of.id AND g.person_id = person AND g.count = 1;
    IF NOT FOUND THEN
        UPDATE votes.guesses g SET count = g.count - 1
        WHERE g.vote_id = of.id AND g.person_id = person;
    END IF;
    RETURN ROW (true, 'ok', NULL, NULL)::votes.answer;
END $$;
