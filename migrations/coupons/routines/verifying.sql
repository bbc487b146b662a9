-- Codes at the till: checking them.

CREATE OR REPLACE FUNCTION coupons.refusal(reason text)
RETURNS coupons.answer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW (false, reason, NULL, NULL, NULL, NULL, NULL, NULL)::coupons.answer;

-- Refuses a code without a valid epoch: its epoch is over, or is in the future, which counts as a
-- guess, or no epoch exists until a worker creates one.
CREATE OR REPLACE FUNCTION coupons.refuse_epoch(
    said coupons.reading, establishment bigint, terminal text, at timestamptz
) RETURNS coupons.answer LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM coupons.epochs e WHERE e.series = said.series AND e.starts_at <= at)
    THEN
        PERFORM coupons.ask_for_rotation();
        RETURN coupons.refusal('not_ready');
    END IF;
    IF said.series = 'qr'
        AND ((said.mark - extract(epoch FROM at)::bigint) & 33554431) < 16777216 THEN
        PERFORM coupons.record_guess(establishment, terminal, at, false);
        RETURN coupons.refusal('unknown');
    END IF;
    RETURN coupons.refusal('too_old');
END $$;

-- The answer to a code at a time, before it is redeemed, where acceptance() has none. The MAC of a
-- scanned code is computed and the coupon is read for every code, so that timing does not reveal a
-- nearly correct one. A typed code is only refused, for what is known without its MAC.
CREATE OR REPLACE FUNCTION coupons.answer_to(
    said coupons.reading, establishment bigint, terminal text, at timestamptz
) RETURNS coupons.answer LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    now CONSTANT bigint := floor(extract(epoch FROM at));
    starts_at timestamptz;
    good_until timestamptz;
    inner_block bytea;  outer_block bytea;
    made bytea;
    place bigint;
    state text;
    answer coupons.answer;
BEGIN
    IF said.fault IS NOT NULL THEN
        RETURN coupons.refusal(said.fault);
    END IF;
    IF said.series = 'qr' THEN
        SELECT e.starts_at, e.good_until, o.inner_block, o.outer_block
        INTO starts_at, good_until, inner_block, outer_block
        FROM coupons.epochs e
        LEFT JOIN coupons.open_secrets o ON o.series = 'qr' AND o.starts_at = e.starts_at
        -- The last time before now with these lowest bits.
        WHERE e.series = 'qr' AND e.starts_at = to_timestamp(now - ((now - said.mark) & 33554431));
    ELSE
        SELECT e.starts_at, e.good_until INTO starts_at, good_until
        FROM coupons.epochs e
        WHERE e.series = 'typed' AND e.starts_at <= at AND e.slot = said.mark
        ORDER BY e.starts_at DESC LIMIT 1;
    END IF;
    -- The latest epoch is valid until the next one starts.
    IF starts_at IS NULL OR good_until <= at AND EXISTS (SELECT FROM coupons.epochs n
        WHERE n.series = said.series AND n.starts_at > starts_at AND n.starts_at <= at) THEN
        RETURN coupons.refuse_epoch(said, establishment, terminal, at);
    END IF;
    IF inner_block IS NULL THEN
        PERFORM coupons.ask_for_rotation();
        RETURN coupons.refusal('not_ready');
    END IF;
    made := coupons.mac(inner_block, outer_block, coupons.code_message(said.head));
    SELECT c.establishment_id, coupons.state_of(c, at), c.id, c.title, c.expires_at, c.redeemed_at
    INTO place, state, answer.coupon_id, answer.title, answer.expires_at, answer.redeemed_at
    FROM coupons.scramble k
    LEFT JOIN coupons.coupons c ON c.id = coupons.coupon_of(said.handle, k.keys);
    -- Compare hashes, because a comparison stops at the first different byte.
    IF sha256(substr(made, 1, 10)) <> sha256(said.mac) OR place IS NULL THEN
        PERFORM coupons.record_guess(establishment, terminal, at, false);
        RETURN coupons.refusal('unknown');
    END IF;
    -- Nobody guesses such a code: it is known.
    IF place <> establishment THEN
        RETURN coupons.refusal('wrong_place');
    END IF;
    answer.is_accepted := state = 'usable';
    answer.reason := CASE state WHEN 'usable' THEN 'ok' ELSE state END;
    RETURN answer;
END $$;

-- The answer to a valid code, and to every typed code whose secret is open; null for other codes,
-- which answer_to() answers.
--
-- Nearly all codes are valid. PL/pgSQL prepares every expression again in each transaction, which
-- costs more than the cryptography. This function therefore parses QR codes itself and reads
-- everything with one query.
CREATE OR REPLACE FUNCTION coupons.acceptance(
    code text, establishment bigint, terminal text, at timestamptz
) RETURNS coupons.answer LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    plain CONSTANT text := coupons.plain_code(code);
    head bigint;
    made bytea;
    coupon bigint;
    title text;
    expires_at timestamptz;
BEGIN
    IF NOT (length(plain) = 38 AND left(plain, 3) = 'EC1'
        AND translate(substr(plain, 4), '0123456789ABCDEF', '') = '') THEN
        RETURN coupons.typed_answer(code, establishment, terminal, at);
    END IF;
    head := ('x' || substr(plain, 4, 15))::bit(60)::bigint;
    SELECT coupons.mac(o.inner_block, o.outer_block, coupons.code_message(head)), c.id, c.title,
        c.expires_at
    INTO made, coupon, title, expires_at
    FROM coupons.open_secrets o CROSS JOIN coupons.scramble k
    -- The MAC is computed even without such a coupon.
    LEFT JOIN coupons.coupons c ON c.id = coupons.coupon_of(head >> 25, k.keys)
        AND c.establishment_id = establishment
        AND c.redeemed_at IS NULL AND c.voided_at IS NULL
        AND c.expires_at > at AND c.valid_from <= at
    WHERE o.series = 'qr' AND o.mark = (head & 33554431)::int AND o.starts_at <= at
      AND o.good_until > at;
    IF sha256(substr(made, 1, 10)) = sha256(decode(right(plain, 20), 'hex'))
        AND title IS NOT NULL AND length(terminal) BETWEEN 1 AND 100 THEN
        RETURN ROW (true, 'ok', coupon, title, expires_at, NULL, NULL, NULL)::coupons.answer;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION coupons.expect_till(establishment bigint, terminal text)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF establishment IS NULL OR terminal IS NULL OR length(terminal) NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION 'expected an establishment id and a terminal name of 1 to 100 characters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM establishments.establishments e WHERE e.id = establishment) THEN
        RAISE EXCEPTION 'no establishment has the id %', establishment
            USING ERRCODE = 'foreign_key_violation';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION coupons.verify(code text, establishment bigint, terminal text)
RETURNS coupons.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    answer coupons.answer := coupons.acceptance(code, establishment, terminal, at);
BEGIN
    IF answer.is_accepted THEN
        RETURN answer;
    END IF;
    PERFORM coupons.expect_till(establishment, terminal);
    IF answer.reason IS NOT NULL THEN
        RETURN answer;
    END IF;
    RETURN coupons.answer_to(coupons.read_code(code), establishment, terminal, at);
END $$;
COMMENT ON FUNCTION coupons.verify(text, bigint, text) IS $doc$
Checks a code, scanned or typed at a terminal of an establishment. It reserves nothing: only
`coupons.redeem` prevents another redemption. Wrong codes are counted, also if the transaction rolls
back.

Arguments:
  code: as scanned or typed; spaces, hyphens and the case of letters do not matter
  establishment: where the terminal is
  terminal: the terminal's name, 1 to 100 characters
Returns:
  is_accepted: whether the coupon can be redeemed now
  reason: ok, or why not
  coupon_id: the coupon, if its code is right
  title: what it is for
  expires_at: from then on it is no longer valid
  redeemed_at: when it was redeemed; null if it was not
  confirmation: always null
  ask_again_at: when typed codes are accepted again, with too_many_guesses
Reasons:
  ok: the coupon is valid
  malformed: this is no coupon code
  mistyped: the check symbol is wrong: a character is wrong
  unknown: not the code of any coupon, or a typed code of another establishment; counts as a guess
  too_old: the code has rotated; the app shows the current one
  wrong_place: the scanned code of another establishment's coupon
  not_yet_valid: it is valid later
  expired: it is no longer valid
  voided: it was voided, or its person is blocked
  redeemed: it was redeemed at redeemed_at
  too_many_guesses: typed codes are refused until ask_again_at; scanned ones are not
  not_ready: workers prepare the secrets, as after a crash of PostgreSQL: ask again in a second
Errors:
  22023: the establishment or the terminal is missing
  23503: no such establishment
  25006: a typed code was checked in a read-only transaction
Repeated: answers the same while the code is current; wrong codes count each time.
Sample:
  SELECT is_accepted, reason
  FROM coupons.verify(code => '4f2k-9qd3-7m1tx', establishment => 7, terminal => 'bar');
$doc$;
