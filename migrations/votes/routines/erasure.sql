-- Erasing people from votes. Ballots stay counted and anonymous, totals and trees unchanged.
--
-- A participant of an open vote who has not cast is deleted. Of others, name and address are wiped
-- at once. Until the publication, two things stay in the row: the person's id, to which the sealed
-- link belongs, and a digest of the name, by which the initiator can still leave out double votes.
-- The publication or the cancellation replaces the one and deletes the other.

-- Whether nothing is decided about the participants any more.
CREATE OR REPLACE FUNCTION votes.is_ended(state votes.vote_state)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN state IN ('published', 'cancelled');

-- Makes erased participants of ended votes unknown, and the names that only they had.
CREATE OR REPLACE FUNCTION votes.forget_ids(among bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    forgotten bigint;
BEGIN
    UPDATE votes.participants p
    SET person_id = -nextval('votes.erased_people'), name_key = NULL
    WHERE p.vote_id = ANY (among) AND p.is_erased AND p.person_id > 0;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    -- The decision about a name stays.
    UPDATE votes.exceptions e
    SET name_key = '#' || nextval('votes.erased_people'), reason = NULL
    WHERE e.vote_id = ANY (among) AND e.name_key !~ '^#\d+$' AND NOT EXISTS (
        SELECT FROM votes.participants p WHERE p.vote_id = e.vote_id AND p.name_key = e.name_key);
    RETURN forgotten;
END $$;

-- Erases a participant from some votes, whose rows the caller has locked.
--   deleted     participants of open votes who had not cast
--   anonymized  the others
CREATE OR REPLACE FUNCTION votes.wipe(
    person bigint, among bigint[], OUT deleted bigint, OUT anonymized bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    named votes.participants[];
BEGIN
    DELETE FROM votes.participants p USING votes.votes v
    WHERE p.vote_id = ANY (among) AND p.person_id = person AND NOT p.is_erased
      AND NOT p.has_cast AND v.id = p.vote_id AND v.state = 'open';
    GET DIAGNOSTICS deleted = ROW_COUNT;
    named := ARRAY(SELECT p FROM votes.participants p
        WHERE p.vote_id = ANY (among) AND p.person_id = person AND NOT p.is_erased);
    UPDATE votes.participants p
    SET is_erased = true, name = NULL, address = NULL,
        person_id = CASE WHEN votes.is_ended(v.state) THEN -nextval('votes.erased_people')
            ELSE p.person_id END,
        name_key = CASE WHEN votes.is_ended(v.state) THEN NULL
            ELSE votes.erased_key(p.vote_id, p.name_key) END
    FROM votes.votes v
    WHERE p.vote_id = ANY (among) AND p.person_id = person AND NOT p.is_erased
      AND v.id = p.vote_id;
    GET DIAGNOSTICS anonymized = ROW_COUNT;
    -- What the initiator wrote of them, and names that nobody has any more.
    UPDATE votes.exceptions e
    SET reason = NULL, name_key = CASE
        WHEN EXISTS (SELECT FROM votes.participants p
            WHERE p.vote_id = e.vote_id AND p.name_key = e.name_key) THEN e.name_key
        WHEN votes.is_ended(v.state) THEN '#' || nextval('votes.erased_people')
        ELSE votes.erased_key(e.vote_id, e.name_key) END
    FROM votes.votes v, unnest(named) n
    WHERE e.vote_id = n.vote_id AND e.name_key = n.name_key AND v.id = e.vote_id;
END $$;

-- Cancels the open votes of a person that nobody else has joined; returns their number.
CREATE OR REPLACE FUNCTION votes.cancel_unjoined(person bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    vote bigint;
    cancelled bigint := 0;
BEGIN
    FOR vote IN
        SELECT v.id FROM votes.votes v WHERE v.initiator = person AND v.state = 'open'
        ORDER BY v.id
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM votes.participants p
            WHERE p.vote_id = vote AND p.person_id <> person);
        BEGIN
            -- Waits for a closing, and for those who are joining.
            PERFORM FROM votes.votes v
            WHERE v.id = vote AND v.state = 'open' FOR NO KEY UPDATE;
            CONTINUE WHEN NOT FOUND;
            PERFORM FROM votes.gates g WHERE g.vote_id = vote ORDER BY g.number FOR UPDATE;
            IF EXISTS (SELECT FROM votes.participants p
                WHERE p.vote_id = vote AND p.person_id <> person) THEN
                PERFORM errand.ask_again('somebody has joined');
            END IF;
        EXCEPTION WHEN SQLSTATE 'RU002' THEN
            -- The vote goes on at once: its locks are released.
            CONTINUE;
        END;
        PERFORM votes.take_back(vote);
        cancelled := cancelled + 1;
    END LOOP;
    RETURN cancelled;
END $$;

-- Called when the erasure of a person is requested: votes that concern others go on.
CREATE OR REPLACE FUNCTION votes.block(person bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM votes.cancel_unjoined(person);
END $$;

-- Erases what a person said in opening votes: the name and the ids of requests, the exact place of
-- votes that are not open any more, and all words of votes in which nobody else took part.
CREATE OR REPLACE FUNCTION votes.wipe_opened(person bigint, OUT opened bigint, OUT labels bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    -- The result of a vote of others stays theirs, even if all of them were erased.
    lonely CONSTANT bigint[] := ARRAY(SELECT v.id FROM votes.votes v
        WHERE v.initiator = person AND (v.state = 'cancelled'
            OR v.state = 'published' AND v.joined <= 1)
          AND NOT EXISTS (SELECT FROM votes.participants p
              WHERE p.vote_id = v.id AND p.person_id <> person AND NOT p.is_erased));
BEGIN
    UPDATE votes.options o SET label = 'Erased ' || o.number
    WHERE o.vote_id = ANY (lonely) AND o.label <> 'Erased ' || o.number;
    GET DIAGNOSTICS labels = ROW_COUNT;
    WITH known AS MATERIALIZED (
        SELECT v.id, l.id IS NOT NULL AS is_lonely, v.state = 'open' AS is_open
        FROM votes.votes v LEFT JOIN unnest(lonely) AS l (id) ON l.id = v.id
        WHERE v.initiator = person
    )
    UPDATE votes.votes v SET initiator_name = NULL, request_id = NULL,
        place = CASE WHEN k.is_open THEN v.place END,
        place_name = CASE WHEN NOT k.is_lonely THEN v.place_name END,
        subject = CASE WHEN k.is_lonely THEN 'Erased' ELSE v.subject END
    FROM known k
    WHERE v.id = k.id AND (v.initiator_name IS NOT NULL OR v.request_id IS NOT NULL
        OR v.place IS NOT NULL AND NOT k.is_open
        OR k.is_lonely AND (v.place_name IS NOT NULL OR v.subject <> 'Erased'));
    GET DIAGNOSTICS opened = ROW_COUNT;
END $$;

-- Erases a person from all votes: see people.holders.
CREATE OR REPLACE FUNCTION votes.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    among bigint[];
    wiped record;
    own record;
    guesses bigint;
    vote bigint;
BEGIN
    PERFORM votes.cancel_unjoined(person);
    among := ARRAY(SELECT p.vote_id FROM votes.participants p
        WHERE p.person_id = person AND NOT p.is_erased);
    -- Waits for concurrent counts and publications, and sees their results.
    PERFORM FROM votes.votes v
    WHERE v.id = ANY (among) OR v.initiator = person ORDER BY v.id FOR NO KEY UPDATE;
    SELECT * INTO wiped FROM votes.wipe(person, among);
    RETURN QUERY VALUES
        ('votes.participants', 'deleted', wiped.deleted, NULL),
        ('votes.participants', 'anonymized', wiped.anonymized,
            'ballots stay counted; the link of an unpublished vote ends with its publication');
    SELECT * INTO own FROM votes.wipe_opened(person);
    -- Nobody is left to decide about equal names: they count, and the result says so.
    FOR vote IN
        SELECT v.id FROM votes.votes v WHERE v.initiator = person AND v.state = 'review'
        ORDER BY v.id
    LOOP
        PERFORM votes.end_review(vote, clock_timestamp(), is_early => true);
    END LOOP;
    RETURN QUERY
    SELECT 'votes.votes', 'anonymized', own.opened, NULL
    UNION ALL
    SELECT 'votes.options', 'anonymized', own.labels, NULL
    UNION ALL
    SELECT 'votes.votes', 'kept', count(*), 'subject, options, place and result are those of all '
        'who took part; where nobody else did, times and numbers; the id of the initiator leads '
        'to nobody'
    FROM votes.votes v WHERE v.initiator = person;
    DELETE FROM votes.guesses g WHERE g.person_id = person;
    GET DIAGNOSTICS guesses = ROW_COUNT;
    RETURN QUERY SELECT 'votes.guesses', 'deleted', guesses, NULL;
END $$;

-- All that votes know of a person: see people.holders.
CREATE OR REPLACE FUNCTION votes.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'votes', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', v.id, 'subject', v.subject,
                'initiator_name', v.initiator_name, 'state', v.state, 'opens_at', v.opens_at,
                'closes_at', v.closes_at, 'published_at', v.published_at, 'place', v.place_name,
                'longitude', v.map_point[0], 'latitude', votes.latitude(v.place),
                'request_id', v.request_id,
                'options', ARRAY(SELECT o.label FROM votes.options o
                    WHERE o.vote_id = v.id ORDER BY o.number)) ORDER BY v.id), '[]')
            FROM votes.votes v WHERE v.initiator = person),
        'participants', (SELECT coalesce(jsonb_agg(jsonb_build_object('vote_id', p.vote_id,
                'subject', v.subject, 'joined_on', p.joined_on, 'name', p.name,
                'address', p.address, 'has_cast', p.has_cast, 'is_rejected', p.is_rejected)
                ORDER BY p.vote_id), '[]')
            FROM votes.participants p JOIN votes.votes v ON v.id = p.vote_id
            WHERE p.person_id = person AND NOT p.is_erased),
        'casts', (SELECT coalesce(jsonb_agg(jsonb_build_object('vote_id', c.vote_id,
                'sealed', 'sealed') ORDER BY c.vote_id), '[]')
            FROM votes.participants p
            JOIN votes.casts c ON c.vote_id = p.vote_id AND c.person_id = p.person_id
            WHERE p.person_id = person AND NOT p.is_erased),
        'guesses', (SELECT coalesce(jsonb_agg(jsonb_build_object('vote_id', g.vote_id,
                'period', g.period, 'count', g.count) ORDER BY g.vote_id), '[]')
            FROM votes.guesses g WHERE g.person_id = person))
$$;

-- Makes the participants and initiators of votes that ended before a time anonymous: see
-- people.retention_rules. Returns the number of rows, at most about max_rows.
CREATE OR REPLACE FUNCTION votes.forget_participants(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    vote bigint;
    changed bigint;
    forgotten bigint := 0;
BEGIN
    IF only_count THEN
        -- The votes themselves are counted, too; none is read beyond max_rows.
        RETURN (SELECT count(*) FROM (
            SELECT FROM votes.votes v CROSS JOIN LATERAL (
                SELECT UNION ALL SELECT FROM votes.participants p
                WHERE p.vote_id = v.id AND p.person_id > 0) AS of_vote
            WHERE v.state IN ('published', 'cancelled') AND NOT v.is_anonymous
              AND coalesce(v.published_at, v.closes_at) < before LIMIT max_rows) AS old);
    END IF;
    FOR vote IN
        SELECT v.id FROM votes.votes v
        WHERE v.state IN ('published', 'cancelled') AND NOT v.is_anonymous
          AND coalesce(v.published_at, v.closes_at) < before
        ORDER BY coalesce(v.published_at, v.closes_at), v.id LIMIT max_rows
        FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        UPDATE votes.participants p
        SET is_erased = true, name = NULL, address = NULL, name_key = NULL,
            person_id = -nextval('votes.erased_people')
        WHERE p.vote_id = vote AND p.person_id IN (SELECT q.person_id FROM votes.participants q
            WHERE q.vote_id = vote AND q.person_id > 0
            ORDER BY q.person_id LIMIT max_rows - forgotten);
        GET DIAGNOSTICS changed = ROW_COUNT;
        forgotten := forgotten + changed;
        EXIT WHEN forgotten >= max_rows;
        UPDATE votes.votes v SET is_anonymous = true, initiator_name = NULL WHERE v.id = vote;
        PERFORM votes.forget_ids(ARRAY[vote]);
        forgotten := forgotten + 1;
        EXIT WHEN forgotten >= max_rows;
    END LOOP;
    RETURN forgotten;
END $$;

CREATE OR REPLACE FUNCTION votes.forget(person bigint, vote bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    among bigint[] := ARRAY(SELECT p.vote_id FROM votes.participants p
        WHERE p.person_id = person AND NOT p.is_erased AND p.vote_id = coalesce(vote, p.vote_id));
    wiped record;
BEGIN
    PERFORM FROM votes.votes v WHERE v.id = ANY (among) ORDER BY v.id FOR NO KEY UPDATE;
    SELECT * INTO wiped FROM votes.wipe(person, among);
    -- An initiator still gets notices.
    PERFORM notification.forget(ARRAY[person], 'vote:' || v.id)
    FROM votes.votes v WHERE v.id = ANY (among) AND v.initiator <> person;
    RETURN wiped.deleted + wiped.anonymized;
END $$;
COMMENT ON FUNCTION votes.forget(bigint, bigint) IS $doc$
Erases a participant from one vote, or from all: name, address, notices and history. A ballot that
is cast stays counted. Until the result is out, the initiator can still leave it out together with
others of the name, which nobody sees any more.

Arguments:
  person: the participant
  vote: the vote; null for all
Returns:
  votes: in how many votes the person was erased
Repeated: returns 0, and changes nothing.
Sample:
  SELECT votes.forget(person => 20, vote => 1);
$doc$;
