-- Codes at the till: redeeming them.

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

CREATE OR REPLACE FUNCTION coupons.redeem(
    code text, establishment bigint, terminal text, request_id text)
RETURNS coupons.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    said coupons.reading;
    answer coupons.answer;
    coupon bigint; person bigint;
    done coupons.redemptions;
BEGIN
    IF request_id IS NULL OR length(request_id) NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION 'expected a request_id of 1 to 100 characters, the same for a repeated '
            'request' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    answer := coupons.acceptance(code, establishment, terminal, at);
    IF answer.is_accepted IS NOT TRUE THEN
        PERFORM coupons.expect_till(establishment, terminal);
        said := coupons.read_code(code);
        coupon := coupons.coupon_of(said.handle);
        done := coupons.redemption_by(
            coupon, establishment, terminal, request_id, sha256(said.plain::bytea));
        IF done.coupon_id IS NULL AND answer.reason IS NULL THEN
            answer := coupons.answer_to(said, establishment, terminal, at);
        END IF;
    END IF;
    IF answer.is_accepted THEN
        -- Waits for concurrent redemptions of the coupon, then sees their result.
        WITH used AS (
            UPDATE coupons.coupons c SET redeemed_at = clock_timestamp()
            WHERE c.id = answer.coupon_id AND c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.expires_at > clock_timestamp()
            RETURNING c.redeemed_at, c.person_id
        ), kept AS (
            INSERT INTO coupons.redemptions AS r
            SELECT answer.coupon_id, u.redeemed_at, establishment, terminal, request_id,
                sha256(coupons.plain_code(code)::bytea),
                coupons.base32(
                    ('x' || encode(uuid_send(gen_random_uuid()), 'hex'))::bit(45)::bigint, 9)
            FROM used u RETURNING r.confirmation
        )
        SELECT u.redeemed_at, k.confirmation, u.person_id
        INTO answer.redeemed_at, answer.confirmation, person FROM used u CROSS JOIN kept k;
        IF FOUND THEN
            -- The deed last, because it locks a row of the person.
            PERFORM errand.enqueue_own('coupons.redeemed',
                    jsonb_build_object('coupon_id', answer.coupon_id)),
                badges.count_deed(person, 'coupon_used', establishment);
            RETURN answer;
        END IF;
        coupon := answer.coupon_id;
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
COMMENT ON FUNCTION coupons.redeem(text, bigint, text, text) IS $doc$
Redeems a coupon by its code, once: of any number of terminals one receives the confirmation. The
person and the webhooks of the establishment are notified after the commit, and it counts for the
person's badges.

Arguments:
  code: as scanned or typed; spaces, hyphens and the case of letters do not matter
  establishment: where the terminal is
  terminal: the terminal's name, 1 to 100 characters
  request_id: the terminal's id of this request, 1 to 100 characters, the same when it repeats it
Returns:
  is_accepted: whether this request redeemed the coupon
  reason: ok, or why not
  coupon_id: the coupon, if its code is right
  title: what it is for
  expires_at: from then on it is no longer valid
  redeemed_at: when it was redeemed; null if it was not
  confirmation: the number of this redemption, for the terminal and the person
  ask_again_at: when typed codes are accepted again, with too_many_guesses
Reasons:
  ok: this request redeemed the coupon
  malformed: this is no coupon code
  mistyped: the check symbol is wrong: a character is wrong
  unknown: not the code of any coupon, or a typed code of another establishment; counts as a guess
  too_old: the code has rotated; the app shows the current one
  wrong_place: the scanned code of another establishment's coupon
  not_yet_valid: it is valid later
  expired: it is no longer valid
  voided: it was voided, or its person is blocked
  redeemed: another request redeemed it at redeemed_at
  too_many_guesses: typed codes are refused until ask_again_at; scanned ones are not
  not_ready: workers prepare the secrets, as after a crash of PostgreSQL: ask again in a second
Errors:
  22023: the establishment, the terminal or the request_id is missing
  23503: no such establishment
Repeated: answers the same confirmation to the same terminal and request_id, with the same code at
any time, or with the coupon's current code.
Sample:
  SELECT is_accepted, reason, confirmation FROM coupons.redeem(code => '4f2k-9qd3-7m1tx',
      establishment => 7, terminal => 'bar', request_id => '2026-118');
$doc$;
