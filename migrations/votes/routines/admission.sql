-- Opening and joining votes, for app servers.

-- Raises an error unless this vote may be opened: the mistakes of a program, then the refusals.
CREATE OR REPLACE FUNCTION votes.expect_vote(
    asked votes.votes, labels text[], password text, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    obstacle text;
BEGIN
    PERFORM errand.expect(length(asked.subject) BETWEEN 1 AND 200
        AND asked.subject !~ '[[:cntrl:]]', 'subject: expected 1 to 200 characters in one line');
    PERFORM errand.expect(array_ndims(labels) = 1 AND cardinality(labels) BETWEEN 2 AND 100
        AND NOT EXISTS (SELECT FROM unnest(labels) o
            WHERE (o ~ '\S' AND length(o) <= 200 AND o !~ '[[:cntrl:]]') IS NOT TRUE)
        AND (SELECT count(DISTINCT votes.name_key(o)) FROM unnest(labels) o)
            = cardinality(labels),
        'options: expected 2 to 100 different labels of 1 to 200 characters');
    PERFORM errand.expect(asked.max_choices BETWEEN 1 AND cardinality(labels),
        'max_choices: expected 1 to the number of options');
    PERFORM errand.expect(asked.closes_at > greatest(asked.opens_at, at)
        AND asked.closes_at < at + interval '1 year',
        'closes_at: expected a time in the next year, after opens_at');
    PERFORM errand.expect(coalesce(asked.opens_at >= at - interval '1 year', true),
        'opens_at: expected a time of at most a year ago, or null');
    PERFORM errand.expect(coalesce(asked.expected >= 1, true),
        'expected: expected 1 or more, or null');
    PERFORM errand.expect(coalesce(length(password) BETWEEN 1 AND 1000, true),
        'password: expected 1 to 1000 characters, or null');
    PERFORM errand.expect(coalesce(length(asked.place_name) BETWEEN 1 AND 200, true),
        'place: expected 1 to 200 characters, or null');
    PERFORM errand.expect(coalesce(length(asked.initiator_name) BETWEEN 1 AND 100
        AND asked.initiator_name ~ '\S' AND asked.initiator_name !~ '[[:cntrl:]]', true),
        'initiator_name: expected 1 to 100 characters in one line, or null');
    PERFORM errand.expect(asked.asks_address IS NOT NULL,
        'asks_address: expected true or false');
    PERFORM errand.expect(coalesce(length(asked.request_id) BETWEEN 1 AND 100, true),
        'request_id: expected 1 to 100 characters, or null');
    obstacle := people.obstacle(asked.initiator, at);
    IF obstacle = 'unknown_person' THEN
        PERFORM people.expect_person(asked.initiator);
    ELSIF obstacle IN ('blocked', 'under_age') THEN
        PERFORM errand.refuse(obstacle,
            format('person %s is to be erased, and opens no votes', asked.initiator));
    END IF;
END $$;

-- Returns the vote that this request has opened before; null if it has opened none. Raises an error
-- if it was another vote.
CREATE OR REPLACE FUNCTION votes.opened_before(asked votes.votes, labels text[])
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    known votes.votes;
BEGIN
    SELECT * INTO known FROM votes.votes v
    WHERE v.initiator = asked.initiator AND v.request_id = asked.request_id;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF (known.subject, known.closes_at, known.expected, known.max_choices, known.place_name,
            known.asks_address, known.opens_at)
        IS DISTINCT FROM (asked.subject, asked.closes_at, asked.expected, asked.max_choices,
            asked.place_name, asked.asks_address, coalesce(asked.opens_at, known.opens_at))
        OR NOT coalesce(known.map_point ~= asked.map_point,
            known.map_point IS NULL AND asked.map_point IS NULL)
        OR labels IS DISTINCT FROM ARRAY(
            SELECT o.label FROM votes.options o WHERE o.vote_id = known.id ORDER BY o.number) THEN
        RAISE EXCEPTION 'the request % of person % is known, and has opened another vote: %',
            asked.request_id, asked.initiator, known.id USING ERRCODE = 'unique_violation',
                HINT = 'Repeat a request with the same values, or give it a new request_id.';
    END IF;
    RETURN known.id;
END $$;

CREATE OR REPLACE FUNCTION votes.open(
    subject text, options text[], initiator bigint, closes_at timestamptz,
    opens_at timestamptz DEFAULT NULL, expected int DEFAULT NULL, password text DEFAULT NULL,
    longitude double precision DEFAULT NULL, latitude double precision DEFAULT NULL,
    place text DEFAULT NULL, max_choices int DEFAULT 1, initiator_name text DEFAULT NULL,
    asks_address boolean DEFAULT false, request_id text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    asked votes.votes;
    key record;
    vote bigint;
BEGIN
    PERFORM errand.expect((longitude IS NULL) = (latitude IS NULL)
        AND coalesce(longitude BETWEEN -180 AND 180 AND latitude BETWEEN -90 AND 90, true),
        'longitude, latitude: expected both, within 180 and 90 degrees, or none');
    asked.subject := subject;
    asked.initiator := initiator;
    asked.opens_at := opens_at;
    asked.closes_at := closes_at;
    asked.expected := expected;
    asked.place_name := place;
    asked.map_point := votes.map_point(longitude, latitude);
    asked.max_choices := least(max_choices, 32767);
    asked.initiator_name := initiator_name;
    asked.asks_address := asks_address;
    asked.request_id := request_id;
    vote := votes.opened_before(asked, options);
    IF vote IS NOT NULL THEN
        RETURN vote;
    END IF;
    PERFORM votes.expect_vote(asked, options, password, at);
    SELECT k.id, o.mac_key INTO key
    FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
    WHERE k.vote_id IS NULL AND k.sealed IS NOT NULL AND o.mac_key IS NOT NULL
    ORDER BY k.id LIMIT 1 FOR UPDATE OF k SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM errand.ask_again('no key is ready for a new vote',
            'Call again in a second. Workers create keys: see ''errand doctor''.');
    END IF;
    INSERT INTO votes.votes AS v (initiator, key_id, opens_at, closes_at, expected, options,
        max_choices, subject, place_name, password_hash, place, initiator_name, asks_address,
        request_id)
    VALUES (initiator, key.id, coalesce(opens_at, at), closes_at, expected, cardinality(options),
        max_choices, subject, place, votes.new_slow_hash(votes.password_text(password)),
        votes.point(longitude, latitude), initiator_name, asks_address, request_id)
    ON CONFLICT DO NOTHING
    RETURNING v.id INTO vote;
    IF vote IS NULL THEN
        -- The same request at the same time.
        RETURN votes.opened_before(asked, options);
    END IF;
    PERFORM votes.prepare_vote(vote, key.id, options, votes.password_mac(password, key.mac_key));
    RETURN vote;
END $$;
COMMENT ON FUNCTION votes.open(text, text[], bigint, timestamptz, timestamptz, int, text,
    double precision, double precision, text, int, text, boolean, text) IS $doc$
Opens a vote. It closes at closes_at, or with the last expected ballot. Then workers look for equal
names, count the ballots and publish the result to all participants at the same moment.

Arguments:
  subject: what is voted on, 1 to 200 characters
  options: 2 to 100 labels, all different
  initiator: the person who opens it, and decides about equal names
  closes_at: the deadline, within a year
  opens_at: from when on ballots are accepted, at most a year ago; null for now
  expected: the number of ballots that closes the vote, and that it never exceeds; null for no such
    number
  password: asked of everybody who joins or casts; null for none. Only a slow hash is stored
  longitude, latitude: the place, by which nearby finds the vote; null for none
  place: the place in words, such as Room 12
  max_choices: how many options a ballot may have
  initiator_name: the name of the initiator, shown to everybody; null for none
  asks_address: whether joining needs an address, which distinguishes people of one name
  request_id: any id of the request, unique for the initiator, so that it can be repeated
Returns:
  id: the vote
Reasons:
  blocked: the initiator is to be erased
  under_age: the initiator is under 16, and is to be erased
Errors:
  22023: an argument is invalid; the text says which
  23503: the initiator does not exist
  23505: request_id is known with another subject, options, times, number or place
  RU002: no key is ready for a vote, in the first seconds of an installation: call again in a second
Repeated: with the same request_id, returns the same vote; without one, opens another vote.
Sample:
  SELECT votes.open(subject => 'Who speaks for us?', options => '{Ann,Bob}', initiator => 17,
      closes_at => now() + interval '1 hour', expected => 2, password => 'tableau noir',
      longitude => -73.57, latitude => 45.50, place => 'Room 12', initiator_name => 'Ms. Roy',
      asks_address => true);
$doc$;

-- Adds what belongs to a new vote: its key, share, gates, options and the job that closes it.
CREATE OR REPLACE FUNCTION votes.prepare_vote(
    vote bigint, key bigint, labels text[], password_mac bytea
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE votes.keys k SET vote_id = vote WHERE k.id = key;
    PERFORM votes.add_share(vote), votes.add_gates(vote, v.expected),
        errand.enqueue_own(
            'votes.close', jsonb_build_object('vote_id', vote), run_at => v.closes_at)
    FROM votes.votes v WHERE v.id = vote;
    IF password_mac IS NOT NULL THEN
        UPDATE votes.open_keys o SET password_mac = password_mac WHERE o.key_id = key;
    END IF;
    INSERT INTO votes.options (vote_id, number, label)
    SELECT vote, o.number, o.label FROM unnest(labels) WITH ORDINALITY AS o (label, number);
    -- A worker creates keys every few seconds; every 50th vote also requests them.
    IF key % 50 = 0 THEN
        PERFORM votes.ask_for_keys();
    END IF;
END $$;

-- Returns whether a person has joined a vote with this name and address. The count and the
-- cancellation delete addresses: from then on any is taken for the one that was given.
CREATE OR REPLACE FUNCTION votes.has_joined_as(
    vote bigint, person bigint, name text, address text
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM votes.participants p
        WHERE p.vote_id = vote AND p.person_id = person AND p.name = name
          AND (p.address IS NOT DISTINCT FROM address OR p.address IS NULL AND EXISTS (
              SELECT FROM votes.votes v
              WHERE v.id = vote AND (v.root IS NOT NULL OR v.state = 'cancelled'))));
END $$;

CREATE OR REPLACE FUNCTION votes.join(
    vote bigint, person bigint, name text, address text DEFAULT NULL, password text DEFAULT NULL
) RETURNS votes.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    answer votes.answer;
    state text;
    obstacle CONSTANT text := people.obstacle(person);
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'
        AND votes.name_key(name) <> '', 'name: expected 1 to 100 characters in one line');
    PERFORM errand.expect(coalesce(length(address) <= 300, true),
        'address: expected at most 300 characters, or null');
    IF obstacle = 'unknown_person' THEN
        PERFORM people.expect_person(person);
    ELSIF obstacle IN ('blocked', 'under_age') THEN
        RETURN votes.refusal(obstacle);
    END IF;
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote;
    IF NOT FOUND THEN
        RETURN votes.refusal('unknown');
    END IF;
    -- In the same order as casting, so that nobody waits for a closing with a lock that others
    -- need.
    state := votes.enter(vote, of.expected);
    IF state <> 'ok' THEN
        -- The answer to an earlier request may be lost.
        RETURN CASE WHEN votes.has_joined_as(vote, person, name, address)
            THEN ROW (true, 'ok', NULL, NULL)::votes.answer ELSE votes.refusal(state) END;
    END IF;
    IF of.asks_address AND coalesce(address !~ '\S', true) THEN
        RETURN votes.refusal('address_required');
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
    WHERE NOT p.has_cast AND NOT p.is_erased;
    RETURN CASE WHEN FOUND OR votes.has_joined_as(vote, person, name, address)
        THEN ROW (true, 'ok', NULL, NULL)::votes.answer
        ELSE votes.refusal('already_cast') END;
END $$;
COMMENT ON FUNCTION votes.join(bigint, bigint, text, text, text) IS $doc$
Joins a person to a vote under a name, also before it opens. Until a ballot is cast, a second call
changes name and address. The name is shown to participants and, if the ballot counts, with the
result.

Arguments:
  vote: the vote
  person: the person who joins
  name: the name, 1 to 100 characters in one line
  address: by which the initiator distinguishes people of one name; deleted with the count
  password: the password of the vote; null if it has none
Returns:
  is_accepted: whether the person has joined
  reason: ok, or why not
  receipt: null
  ask_again_at: with too_many_guesses, when the next password is accepted
Reasons:
  ok: joined, now or by the same request before
  unknown: there is no such vote
  closed: the vote accepts nobody any more
  address_required: the vote was opened with asks_address, and the address is empty
  wrong_password: the password is wrong or missing
  too_many_guesses: 10 wrong passwords of the person in 5 minutes
  already_cast: the person has cast a ballot under another name or address
  not_ready: the keys are not open, after a crash of the server: call again in a second
  blocked: the person is to be erased
  under_age: the person is under 16, and is to be erased
Errors:
  22023: the name or the address is invalid
  23503: the person does not exist
Repeated: answers the same, also once the vote is closed.
Sample:
  SELECT is_accepted, reason FROM votes.join(vote => 1, person => 18, name => 'Zoë Roy',
      address => '2nd floor', password => 'tableau noir');
  SELECT is_accepted, reason FROM votes.join(vote => 1, person => 19, name => 'ZOE ROY',
      address => '3rd floor', password => 'tableau noir');
$doc$;
