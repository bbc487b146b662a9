-- The codes of a coupon for its person's app.

CREATE OR REPLACE FUNCTION coupons.code(
    coupon bigint, person bigint,
    OUT state text, OUT payload text, OUT payload_until timestamptz, OUT typed text,
    OUT typed_until timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    obstacle text;
BEGIN
    SELECT CASE WHEN c.is_suspended THEN 'blocked' ELSE coupons.state_of(c, at) END,
        CASE WHEN people.is_clear(p) THEN 'none' ELSE people.obstacle(c.person_id, at) END
    INTO state, obstacle
    FROM coupons.coupons c LEFT JOIN people.people p ON p.id = c.person_id
    WHERE c.id = coupon AND c.person_id = person;
    IF state IN ('usable', 'blocked') AND obstacle <> 'none' THEN
        state := obstacle;
    END IF;
    state := coalesce(state, 'unknown');
    IF state <> 'usable' THEN
        RETURN;
    END IF;
    SELECT * INTO payload, payload_until, typed, typed_until FROM coupons.codes_at(coupon, at);
    IF payload IS NULL OR typed IS NULL THEN
        PERFORM coupons.ask_for_rotation();
        payload := NULL;
        typed := NULL;
        state := 'not_ready';
    END IF;
END $$;
COMMENT ON FUNCTION coupons.code(bigint, bigint) IS $doc$
Returns the current codes of a person's coupon, for their app. Draw `payload` as a QR code in the
alphanumeric mode (version 2, level M); show `typed` for tills that cannot scan. A QR code rotates
every 30 seconds, a typed code every 5 minutes.

Arguments:
  coupon: the coupon
  person: whose it is
Returns:
  state: usable, or why there are no codes
  payload: the text of the QR code
  payload_until: when it rotates; null if unknown: request it again after 30 seconds
  typed: the code to type
  typed_until: when it rotates; null if unknown
Reasons:
  usable: payload and typed are the codes
  unknown: the person has no such coupon
  redeemed: it was redeemed
  voided: it was voided; coupons.listing has the reason
  expired: it is no longer valid
  not_yet_valid: it is valid later
  under_age: the person is under 16
  no_birth_date: the person's age is unknown: set birth_date with people.put_person
  blocked: the person's erasure was requested
  not_ready: workers prepare the codes, as after a crash of PostgreSQL: ask again in a second
Repeated: answers the same codes until they rotate.
Sample:
  SELECT state, payload, typed FROM coupons.code(coupon => 1, person => 17);
$doc$;
