-- Opening and joining votes, for app servers.

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

-- Returns the input of the slow hash: a digest, as bcrypt uses at most 72 bytes.
CREATE OR REPLACE FUNCTION votes.password_text(password text)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN encode(sha256(convert_to(password, 'UTF8')), 'base64');

-- Returns the MAC of a password, for a fast comparison while the key is open.
CREATE OR REPLACE FUNCTION votes.password_mac(password text, mac_key bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN votes.mac('password'::bytea || sha256(convert_to(password, 'UTF8')), mac_key);

-- Opens a vote; returns its id.
--   options    2 to 100 labels, all different
--   expected   the number of ballots that closes the vote before closes_at; concurrent last ballots
--              may all be accepted
--   password   stored only as a slow hash (bcrypt of its SHA-256), computed here for servers in any
--              language: keep statement parameters out of the server's log
--   max_choices    options on one ballot
-- SQLSTATE 53000: no key is ready; try again in a second.
CREATE OR REPLACE FUNCTION votes.open(
    subject text, options text[], initiator bigint, closes_at timestamptz,
    opens_at timestamptz DEFAULT NULL, expected int DEFAULT NULL, password text DEFAULT NULL,
    longitude double precision DEFAULT NULL, latitude double precision DEFAULT NULL,
    place text DEFAULT NULL, max_choices int DEFAULT 1
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    key bigint;
    key_of_mac bytea;
    vote bigint;
BEGIN
    PERFORM errand.expect(length(subject) BETWEEN 1 AND 200 AND subject !~ '[[:cntrl:]]',
        'subject: expected 1 to 200 characters in one line');
    PERFORM errand.expect(array_ndims(options) = 1 AND cardinality(options) BETWEEN 2 AND 100
        AND NOT EXISTS (SELECT FROM unnest(options) o
            WHERE (o ~ '\S' AND length(o) <= 200 AND o !~ '[[:cntrl:]]') IS NOT TRUE)
        AND (SELECT count(DISTINCT votes.name_key(o)) FROM unnest(options) o)
            = cardinality(options),
        'options: expected 2 to 100 different labels of 1 to 200 characters');
    PERFORM errand.expect(max_choices BETWEEN 1 AND cardinality(options),
        'max_choices: expected 1 to the number of options');
    opens_at := coalesce(opens_at, at);
    PERFORM errand.expect(closes_at > greatest(opens_at, at) AND closes_at < at + interval '1 year',
        'closes_at: expected a time in the next year, after opens_at');
    PERFORM errand.expect(coalesce(expected >= 1, true), 'expected: expected 1 or more, or null');
    PERFORM errand.expect(coalesce(length(password) BETWEEN 1 AND 1000, true),
        'password: expected 1 to 1000 characters, or null');
    PERFORM errand.expect((longitude IS NULL) = (latitude IS NULL)
        AND coalesce(longitude BETWEEN -180 AND 180 AND latitude BETWEEN -90 AND 90, true),
        'longitude, latitude: expected both, within 180 and 90 degrees, or none');
    PERFORM errand.expect(coalesce(length(place) BETWEEN 1 AND 200, true),
        'place: expected 1 to 200 characters, or null');
    PERFORM people.expect_person(initiator);

    SELECT k.id, o.mac_key INTO key, key_of_mac
    FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
    WHERE k.vote_id IS NULL AND k.sealed IS NOT NULL AND o.mac_key IS NOT NULL
    ORDER BY k.id LIMIT 1 FOR UPDATE OF k SKIP LOCKED;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no key is ready for a new vote' USING
            ERRCODE = 'insufficient_resources',
            HINT = 'Try again in a second. Workers create keys: see ''errand doctor''.';
    END IF;
    INSERT INTO votes.votes AS v (initiator, key_id, opens_at, closes_at, expected, options,
        max_choices, subject, place_name, password_hash, place)
    VALUES (initiator, key, opens_at, closes_at, expected, cardinality(options), max_choices,
        subject,
        place, votes.new_slow_hash(votes.password_text(password)), votes.point(longitude, latitude))
    RETURNING v.id INTO vote;
    UPDATE votes.keys k SET vote_id = vote WHERE k.id = key;
    PERFORM votes.add_share(vote), votes.add_gates(vote, expected);
    IF password IS NOT NULL THEN
        UPDATE votes.open_keys o SET password_mac = votes.password_mac(password, key_of_mac)
        WHERE o.key_id = key;
    END IF;
    INSERT INTO votes.options (vote_id, number, label)
    SELECT vote, o.number, o.label FROM unnest(options) WITH ORDINALITY AS o (label, number);
    PERFORM errand.enqueue_own(
        'votes.close', jsonb_build_object('vote_id', vote), run_at => closes_at);
    -- A worker creates keys every few seconds; every 50th vote also requests them.
    IF key % 50 = 0 THEN
        PERFORM votes.ask_for_keys();
    END IF;
    RETURN vote;
END $$;

CREATE OR REPLACE FUNCTION votes.refusal(reason text)
RETURNS votes.answer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW (false, reason, NULL, NULL)::votes.answer;

-- Checks a vote's password; returns ok, or the refusal. Counts wrong guesses; as a rollback undoes
-- that, call it outside of longer transactions.
CREATE OR REPLACE FUNCTION votes.check_password(of votes.votes, person bigint, password text)
RETURNS votes.answer LANGUAGE plpgsql AS $$
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

-- Joins a vote under a name, also before it opens. A second call changes the name, until a ballot
-- is cast.
--   address   by which the initiator distinguishes people of one name; may be null
CREATE OR REPLACE FUNCTION votes.join(
    vote bigint, person bigint, name text, address text DEFAULT NULL, password text DEFAULT NULL
) RETURNS votes.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    answer votes.answer;
    state text;
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'
        AND votes.name_key(name) <> '', 'name: expected 1 to 100 characters in one line');
    PERFORM errand.expect(coalesce(length(address) <= 300, true),
        'address: expected at most 300 characters, or null');
    PERFORM people.expect_person(person);
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote;
    IF NOT FOUND THEN
        RETURN votes.refusal('unknown');
    END IF;
    -- In the same order as casting, so that nobody waits for a closing with a lock that others
    -- need.
    state := votes.enter(vote, of.expected, false);
    IF state <> 'ok' THEN
        RETURN votes.refusal(state);
    END IF;
    IF of.password_hash IS NOT NULL THEN
        answer := votes.check_password(of, person, coalesce(password, ''));
        IF NOT answer.is_accepted THEN
            IF answer.reason = 'not_ready' THEN
                PERFORM votes.ask_for_keys();
            END IF;
            RETURN answer;
        END IF;
    END IF;
    INSERT INTO votes.participants AS p (vote_id, person_id, joined_on, name, name_key, address)
    VALUES (vote, person, (clock_timestamp() AT TIME ZONE 'UTC')::date, name,
        votes.name_key(name), address)
    ON CONFLICT ON CONSTRAINT participants_pkey DO UPDATE
    SET name = excluded.name, name_key = excluded.name_key, address = excluded.address
    WHERE NOT p.has_cast;
    RETURN CASE WHEN FOUND THEN ROW (true, 'ok', NULL, NULL)::votes.answer
        ELSE votes.refusal('already_cast') END;
END $$;
