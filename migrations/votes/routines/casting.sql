-- Casting ballots.

-- Enqueues the closing if the counted ballot may be the last.
CREATE OR REPLACE FUNCTION votes.look_for_last(vote bigint, expected int)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF votes.last_from(expected)
        <= (SELECT sum(g.casts) FROM votes.gates g WHERE g.vote_id = vote AND g.number >= 0) THEN
        PERFORM errand.enqueue_own('votes.close', jsonb_build_object('vote_id', vote),
            unique_key => 'complete:' || vote);
    END IF;
END $$;

-- Answers a repeated cast: returns the receipt if the choice and nonce are the same, as the first
-- answer may be lost. Otherwise reveals nothing about the ballot.
CREATE OR REPLACE FUNCTION votes.answer_again(vote bigint, person bigint, choice int[], nonce bytea)
RETURNS votes.answer LANGUAGE plpgsql
-- Keeps the values of the keys from the client of a login that asks for plans.
SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    of record;
    opened bytea;
BEGIN
    SELECT c.sealed, k.cipher_key, k.mac_key INTO of
    FROM votes.casts c CROSS JOIN votes.link_keys(vote) k
    WHERE c.vote_id = vote AND c.person_id = person;
    IF NOT FOUND THEN
        -- After the count, there is nothing to compare.
        RETURN votes.refusal(CASE WHEN EXISTS (SELECT FROM votes.participants p
            WHERE p.vote_id = vote AND p.person_id = person AND p.has_cast)
            THEN 'already_cast' ELSE 'not_joined' END);
    END IF;
    IF nonce IS NOT NULL AND votes.is_link_of(vote, person, of.sealed, of.mac_key) THEN
        opened := votes.open_link(of.sealed, of.cipher_key);
        IF sha256(substr(opened, 1, 32)) = sha256(nonce) AND rtrim(
            encode(substr(opened, 33), 'escape')) = votes.choice_text(choice) THEN
            RETURN ROW (true, 'ok', votes.receipt(vote, choice, nonce), NULL)::votes.answer;
        END IF;
    END IF;
    RETURN votes.refusal('already_cast');
END $$;

-- Returns the answer to somebody who casts at a closed vote. The answer to the last ballot may be
-- lost.
CREATE OR REPLACE FUNCTION votes.answer_closed(
    vote bigint, person bigint, choice int[], nonce bytea
) RETURNS votes.answer LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN CASE WHEN EXISTS (SELECT FROM votes.participants p
            WHERE p.vote_id = vote AND p.person_id = person AND p.has_cast)
        THEN votes.answer_again(vote, person, choice, nonce) ELSE votes.refusal('closed') END;
END $$;

-- Casts a ballot that the fast path of votes.cast did not accept: refusals, choices of several
-- options, and the last ballots of a large vote.
CREATE OR REPLACE FUNCTION votes.cast_slowly(
    vote bigint, person bigint, options int[], password text, nonce bytea
) RETURNS votes.answer LANGUAGE plpgsql SET debug_print_plan = off AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    keys record;
    answer votes.answer;
    choice int[];
    state text;
    gate smallint;
    body bytea;
BEGIN
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote;
    IF NOT FOUND THEN
        RETURN votes.refusal('unknown');
    END IF;
    choice := ARRAY(SELECT DISTINCT o FROM unnest(options) o ORDER BY o);
    state := votes.standing_of(vote, true);
    IF state = 'closed' THEN
        RETURN votes.answer_closed(vote, person, choice, nonce);
    END IF;
    SELECT k.cipher_key, k.mac_key INTO keys FROM votes.link_keys(vote) k;
    IF NOT FOUND THEN
        PERFORM votes.ask_for_keys();
        RETURN votes.refusal('not_ready');
    END IF;
    IF of.password_hash IS NOT NULL THEN
        answer := votes.check_password(of, person, coalesce(password, ''));
        IF NOT answer.is_accepted THEN
            RETURN answer;
        END IF;
    END IF;
    IF state <> 'ok' THEN
        RETURN votes.refusal(state);
    END IF;
    IF (cardinality(options) BETWEEN 1 AND of.max_choices AND array_ndims(options) = 1
        AND 1 <= ALL (options) AND of.options >= ALL (options)
        AND cardinality(choice) = cardinality(options)) IS NOT TRUE THEN
        RETURN votes.refusal('invalid_choice');
    END IF;
    gate := votes.take_gate(vote, of.expected);
    IF gate IS NULL OR votes.standing_of(vote, true) <> 'ok' THEN
        RETURN votes.answer_closed(vote, person, choice, nonce);
    END IF;
    UPDATE votes.participants p SET has_cast = true
    WHERE p.vote_id = vote AND p.person_id = person AND NOT p.has_cast;
    IF NOT FOUND THEN
        RETURN votes.answer_again(vote, person, choice, nonce);
    END IF;
    nonce := coalesce(nonce, votes.random_bytes(32));
    body := votes.encrypt_link(
        nonce, choice, of.max_choices, keys.cipher_key, votes.random_bytes(16));
    INSERT INTO votes.casts VALUES (vote, person,
        body || votes.link_mac(vote, person, body, keys.mac_key));
    UPDATE votes.gates g SET casts = g.casts + 1 WHERE g.vote_id = vote AND g.number = gate;
    PERFORM votes.look_for_last(vote, of.expected);
    RETURN ROW (true, 'ok', votes.receipt(vote, choice, nonce), NULL)::votes.answer;
END $$;

-- Fast path: nearly all ballots are valid and have one option, and are cast by one query. PL/pgSQL
-- prepares every expression again in each transaction, which costs more than the cryptography.
--
-- The query counts the ballot in its gate first, and so waits for a closing. After it, there is no
-- gate, although the snapshot shows an open vote. In a large vote that expects a number, it takes
-- the connection's gate of the moment if that is far from full, else a gate that is free; the last
-- ballots of each gate look whether all gates are full.
CREATE OR REPLACE FUNCTION votes.cast(
    vote bigint, person bigint, options int[], password text DEFAULT NULL,
    nonce bytea DEFAULT NULL
) RETURNS votes.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    taken record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' OR length(nonce) <> 32 THEN
        PERFORM errand.expect(coalesce(length(nonce) = 32, true),
            'nonce: expected 32 random bytes, or null');
        PERFORM votes.expect_read_committed();
    END IF;
    WITH entrance AS MATERIALIZED (
        SELECT v.expected, v.max_choices, o.cipher_key, o.mac_key, k.share,
            CASE WHEN coalesce(v.expected <= 256, true) THEN votes.gate_for(v.expected)
                WHEN votes.room_of(v.expected, m.gate) - 32 > (SELECT a.casts FROM votes.gates a
                    WHERE a.vote_id = vote AND a.number = m.gate) THEN m.gate
                ELSE votes.free_gate(vote, v.expected) END AS number,
            votes.random_bytes(48) AS drawn
        FROM votes.votes v JOIN votes.open_keys o ON o.key_id = v.key_id
        CROSS JOIN LATERAL (
            SELECT votes.unwrap(s.wrapped, votes.wrapping_key(s.slot)) AS share
            FROM votes.key_shares s WHERE s.vote_id = vote OFFSET 0
        ) k CROSS JOIN (SELECT votes.moving_gate() AS gate OFFSET 0) m
        WHERE v.id = vote AND v.state = 'open'
          AND v.opens_at <= clock_timestamp() AND v.closes_at > clock_timestamp()
          AND votes.is_share(k.share)
          AND cardinality(options) = 1 AND options[1] BETWEEN 1 AND v.options
          AND (v.password_hash IS NULL
            OR sha256(o.password_mac) = sha256(votes.password_mac(password, o.mac_key))
                AND NOT EXISTS (SELECT FROM votes.guesses u
                    WHERE u.vote_id = vote AND u.person_id = person))
    ), gate AS (
        UPDATE votes.gates g SET casts = g.casts + 1 FROM entrance e
        WHERE g.vote_id = vote AND g.number = e.number
          AND coalesce(g.casts < votes.room_of(e.expected, g.number), true)
        RETURNING e.*, g.casts >= votes.last_in(e.expected, g.number) AS is_last
    ), marked AS (
        UPDATE votes.participants p SET has_cast = true FROM gate g
        WHERE p.vote_id = vote AND p.person_id = person AND NOT p.has_cast
        RETURNING g.mac_key, coalesce(nonce, substr(g.drawn, 17)) AS nonce,
            votes.encrypt_link(coalesce(nonce, substr(g.drawn, 17)), options, g.max_choices,
                votes.link_key(g.cipher_key, g.share), substr(g.drawn, 1, 16)) AS body
    ), kept AS (
        INSERT INTO votes.casts (vote_id, person_id, sealed)
        SELECT vote, person, m.body || votes.link_mac(vote, person, m.body, m.mac_key)
        FROM marked m
    )
    SELECT votes.receipt(vote, options, m.nonce) AS receipt, g.expected, g.number, g.is_last,
        m.nonce IS NULL AS is_to_uncount
    INTO taken FROM gate g LEFT JOIN marked m ON true;
    IF taken.receipt IS NULL THEN
        IF taken.is_to_uncount THEN
            UPDATE votes.gates g SET casts = g.casts - 1
            WHERE g.vote_id = vote AND g.number = taken.number;
        END IF;
        RETURN votes.cast_slowly(vote, person, options, password, nonce);
    END IF;
    IF taken.is_last THEN
        PERFORM votes.look_for_last(vote, taken.expected);
    END IF;
    RETURN ROW (true, 'ok', taken.receipt, NULL)::votes.answer;
END $$;
COMMENT ON FUNCTION votes.cast(bigint, bigint, int[], text, bytea) IS $doc$
Casts the ballot of a person who has joined, once. Call it in a transaction of its own.

Arguments:
  vote: the vote
  person: the voter
  options: the numbers of the chosen options, from 1
  password: the password of the vote; null if it has none
  nonce: 32 random bytes of the voter's app, so that a repeated request gets the same receipt; null
    to draw them here
Returns:
  is_accepted: whether the ballot is cast
  reason: ok, or why not
  receipt: the proof that the ballot was counted, for the voter alone, as it contains the choice;
    stored nowhere
  ask_again_at: with too_many_guesses, when the next password is accepted
Reasons:
  ok: cast, now or by the same request before
  unknown: there is no such vote
  not_joined: the person has not joined the vote
  too_early: the vote opens later
  closed: the deadline has passed, all expected ballots are cast, or the vote was cancelled
  invalid_choice: not one of the options, one of them twice, or more than max_choices
  wrong_password: the password is wrong or missing
  too_many_guesses: 10 wrong passwords of the person in 5 minutes
  already_cast: the person has cast a ballot, with another choice or nonce
  not_ready: the keys are not open, after a crash of the server: call again in a second
Errors:
  22023: nonce has not 32 bytes
  25000: the transaction is not read committed
Repeated: with the same options and nonce, returns the same receipt until the vote is counted, then
  already_cast.
Sample:
  SELECT reason, receipt FROM votes.cast(vote => 1, person => 18, options => '{1}',
      password => 'tableau noir', nonce => decode(repeat('5e', 32), 'hex'));
  SELECT reason FROM votes.cast(vote => 1, person => 19, options => '{2}',
      password => 'tableau noir');
$doc$;
