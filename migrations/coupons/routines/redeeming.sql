-- Codes at the till: checking and redeeming them.

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
    plain CONSTANT text := upper(translate(left(code, 100), E' \t\r\n', '') COLLATE "C");
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

-- Checks a code, scanned or typed at a terminal of an establishment, and counts wrong codes, also
-- if the transaction rolls back. Only redeem() prevents another redemption.
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

-- The redemption of a coupon by this request, and with this code if code_hash is given.
CREATE OR REPLACE FUNCTION coupons.redemption_by(
    coupon bigint, establishment bigint, terminal text, request_id text,
    code_hash bytea DEFAULT NULL
) RETURNS coupons.redemptions LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    done coupons.redemptions;
BEGIN
    SELECT * INTO done FROM coupons.redemptions r
    WHERE r.coupon_id = coupon AND r.establishment_id = establishment AND r.terminal = terminal
      AND r.request_id = request_id AND (code_hash IS NULL OR r.code_hash = code_hash);
    RETURN done;
END $$;

-- Redeems a coupon by its code, once. A terminal that repeats a request with its request_id gets
-- the same confirmation: with the same code at any time, or with the coupon's current code.
--
-- After the commit, the person and the establishment's endpoints are notified.
CREATE OR REPLACE FUNCTION coupons.redeem(
    code text, establishment bigint, terminal text, request_id text)
RETURNS coupons.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    said CONSTANT coupons.reading := coupons.read_code(code);
    answer coupons.answer;
    coupon bigint;
    code_hash CONSTANT bytea := sha256(said.plain::bytea);
    done coupons.redemptions;
BEGIN
    IF request_id IS NULL OR length(request_id) NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION 'expected a request_id of 1 to 100 characters, the same for a repeated '
            'request' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    answer := coupons.acceptance(code, establishment, terminal, at);
    IF answer.is_accepted IS NOT TRUE THEN
        PERFORM coupons.expect_till(establishment, terminal);
        coupon := coupons.coupon_of(said.handle);
        done := coupons.redemption_by(coupon, establishment, terminal, request_id, code_hash);
        IF done.coupon_id IS NULL AND answer.reason IS NULL THEN
            answer := coupons.answer_to(said, establishment, terminal, at);
        END IF;
    END IF;
    IF answer.is_accepted THEN
        coupon := answer.coupon_id;
        -- Waits for concurrent redemptions of the coupon, then sees their result.
        UPDATE coupons.coupons c SET redeemed_at = clock_timestamp()
        WHERE c.id = coupon AND c.redeemed_at IS NULL AND c.voided_at IS NULL
          AND c.expires_at > clock_timestamp()
        RETURNING c.redeemed_at INTO answer.redeemed_at;
        IF FOUND THEN
            answer.confirmation := coupons.base32(
                ('x' || encode(uuid_send(gen_random_uuid()), 'hex'))::bit(45)::bigint, 9);
            INSERT INTO coupons.redemptions VALUES (coupon, answer.redeemed_at, establishment,
                terminal, request_id, code_hash, answer.confirmation);
            PERFORM errand.enqueue_own('coupons.redeemed', jsonb_build_object('coupon_id', coupon));
            RETURN answer;
        END IF;
    ELSIF done.coupon_id IS NULL AND answer.reason <> 'redeemed' THEN
        RETURN answer;
    END IF;
    IF done.coupon_id IS NULL THEN
        -- The code is correct; the same request may have been accepted before or concurrently.
        done := coupons.redemption_by(coupon, establishment, terminal, request_id);
    END IF;
    answer := NULL;
    SELECT coupons.state_of(c, clock_timestamp()), c.id, c.title, c.expires_at, c.redeemed_at
    INTO answer.reason, answer.coupon_id, answer.title, answer.expires_at, answer.redeemed_at
    FROM coupons.coupons c WHERE c.id = coupon;
    answer.is_accepted := done.coupon_id IS NOT NULL;
    IF answer.is_accepted THEN
        answer.reason := 'ok';
        answer.confirmation := done.confirmation;
    END IF;
    RETURN answer;
END $$;
