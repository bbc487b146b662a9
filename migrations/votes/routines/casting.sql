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
RETURNS votes.answer LANGUAGE plpgsql AS $$
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

-- Casts a ballot that the fast path of votes.cast did not accept: refusals, and choices of several
-- options.
CREATE OR REPLACE FUNCTION votes.cast_slowly(
    vote bigint, person bigint, options int[], password text, nonce bytea
) RETURNS votes.answer LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of votes.votes;
    keys record;
    answer votes.answer;
    choice int[];
    state text;
    body bytea;
BEGIN
    SELECT * INTO of FROM votes.votes v WHERE v.id = vote;
    IF NOT FOUND THEN
        RETURN votes.refusal('unknown');
    END IF;
    state := votes.enter(vote, of.expected, true);
    IF state = 'closed' THEN
        -- The answer to the last ballot may also be lost.
        RETURN CASE WHEN EXISTS (SELECT FROM votes.participants p
                WHERE p.vote_id = vote AND p.person_id = person AND p.has_cast)
            THEN votes.answer_again(vote, person, options, nonce) ELSE votes.refusal(state) END;
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
        AND 1 <= ALL (options) AND of.options >= ALL (options)) IS NOT TRUE THEN
        RETURN votes.refusal('invalid_choice');
    END IF;
    choice := ARRAY(SELECT DISTINCT o FROM unnest(options) o ORDER BY o);
    IF cardinality(choice) <> cardinality(options) THEN
        RETURN votes.refusal('invalid_choice');
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
    UPDATE votes.gates g SET casts = g.casts + 1
    WHERE g.vote_id = vote AND g.number = votes.gate_for(of.expected);
    PERFORM votes.look_for_last(vote, of.expected);
    RETURN ROW (true, 'ok', votes.receipt(vote, choice, nonce), NULL)::votes.answer;
END $$;

-- Casts a person's ballot, once.
--   options   the numbers of the chosen options
--   nonce     32 random bytes from the voter, so that a repeated request gets the same receipt;
--             null to generate them here
--
-- Fast path: nearly all ballots are valid and have one option, and are cast by one query. PL/pgSQL
-- prepares every expression again in each transaction, which costs more than the cryptography.
--
-- The query counts the ballot in its gate first, and so waits for a closing. After it, there is no
-- gate, although the snapshot shows an open vote.
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
        SELECT v.expected, v.max_choices, b.casts, o.cipher_key, o.mac_key, k.share,
            votes.random_bytes(48) AS drawn
        FROM votes.votes v JOIN votes.open_keys o ON o.key_id = v.key_id
        CROSS JOIN LATERAL (
            SELECT votes.unwrap(s.wrapped, votes.wrapping_key(s.slot)) AS share
            FROM votes.key_shares s WHERE s.vote_id = vote OFFSET 0
        ) k CROSS JOIN LATERAL (
            SELECT coalesce(sum(a.casts), 0) AS casts FROM votes.gates a
            WHERE v.expected IS NOT NULL AND a.vote_id = vote AND a.number >= 0
        ) b
        WHERE v.id = vote AND v.state = 'open'
          AND v.opens_at <= clock_timestamp() AND v.closes_at > clock_timestamp()
          AND coalesce(b.casts < v.expected, true) AND votes.is_share(k.share)
          AND cardinality(options) = 1 AND options[1] BETWEEN 1 AND v.options
          AND (v.password_hash IS NULL
            OR sha256(o.password_mac) = sha256(votes.password_mac(password, o.mac_key))
                AND NOT EXISTS (SELECT FROM votes.guesses u
                    WHERE u.vote_id = vote AND u.person_id = person))
    ), gate AS (
        UPDATE votes.gates g SET casts = g.casts + 1 FROM entrance e
        WHERE g.vote_id = vote AND g.number = votes.gate_for(e.expected)
          AND coalesce(g.casts < e.expected, true)
        -- A single gate has the whole count; of several, the previous sum plus this ballot.
        RETURNING e.*, greatest(g.casts, e.casts + 1) >= votes.last_from(e.expected) AS is_last
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
    SELECT votes.receipt(vote, options, m.nonce) AS receipt, g.expected, g.is_last,
        m.nonce IS NULL AS is_to_uncount
    INTO taken FROM gate g LEFT JOIN marked m ON true;
    IF taken.receipt IS NULL THEN
        IF taken.is_to_uncount THEN
            UPDATE votes.gates g SET casts = g.casts - 1
            WHERE g.vote_id = vote AND g.number = votes.gate_for(taken.expected);
        END IF;
        RETURN votes.cast_slowly(vote, person, options, password, nonce);
    END IF;
    IF taken.is_last THEN
        PERFORM votes.look_for_last(vote, taken.expected);
    END IF;
    RETURN ROW (true, 'ok', taken.receipt, NULL)::votes.answer;
END $$;
