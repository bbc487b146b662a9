-- Granting, starring, listing and voiding coupons.

-- The coupon of a person and origin, if it was granted with this content; null if there is none.
--
-- A repeated grant may compute expires_at again from the present: then the period of validity is
-- the same, but for a change of the clocks.
CREATE OR REPLACE FUNCTION coupons.granted_before(
    person bigint, establishment bigint, title text, expires_at timestamptz, origin text,
    valid_from timestamptz, radius_m real
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    c coupons.coupons;
BEGIN
    SELECT * INTO c FROM coupons.coupons k WHERE k.person_id = person AND k.origin = origin;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF c.establishment_id = establishment AND c.title = title AND c.radius_m = radius_m
        AND (valid_from IS NULL OR c.valid_from = valid_from)
        AND (c.expires_at = expires_at OR valid_from IS NULL
            AND (expires_at - clock_timestamp()) - (c.expires_at - c.valid_from)
                BETWEEN interval '-2 hours' AND interval '2 hours') THEN
        RETURN c.id;
    END IF;
    RAISE EXCEPTION 'the origin % of person % is known with other content: coupon %', origin,
        person, c.id USING ERRCODE = 'unique_violation',
            HINT = 'Repeat a grant with the same values, or use another origin.';
END $$;

-- Raises an error unless the person may have a coupon of the establishment with these times.
CREATE OR REPLACE FUNCTION coupons.expect_grant(
    person bigint, establishment bigint, expires_at timestamptz, valid_from timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    closed_at timestamptz;
BEGIN
    IF expires_at <= coalesce(valid_from, clock_timestamp()) THEN
        RAISE EXCEPTION 'the coupon would expire at %, before it is valid at %', expires_at,
            coalesce(valid_from, clock_timestamp()) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM people.expect_of_age(person);
    SELECT e.closed_at INTO closed_at FROM establishments.establishments e
    WHERE e.id = establishment;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
    ELSIF closed_at IS NOT NULL THEN
        PERFORM errand.refuse('closed', format('establishment %s is closed', establishment));
    END IF;
END $$;

-- Grants a coupon whose person, establishment and times the caller has checked.
CREATE OR REPLACE FUNCTION coupons.grant_checked(
    person bigint, establishment bigint, title text, expires_at timestamptz, origin text,
    valid_from timestamptz, radius_m real DEFAULT 150
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    coupon bigint;
BEGIN
    INSERT INTO coupons.coupons AS c (person_id, establishment_id, title, radius_m, valid_from,
        expires_at, origin)
    VALUES (person, establishment, title, radius_m, coalesce(valid_from, clock_timestamp()),
        expires_at, origin)
    ON CONFLICT ON CONSTRAINT coupons_origin DO NOTHING
    RETURNING c.id INTO coupon;
    IF coupon IS NULL THEN
        -- It was granted before, or a concurrent caller was faster.
        RETURN coupons.granted_before(
            person, establishment, title, expires_at, origin, valid_from, radius_m);
    END IF;
    RETURN coupon;
END $$;

CREATE OR REPLACE FUNCTION coupons.grant_coupon(
    person bigint, establishment bigint, title text, expires_at timestamptz, origin text,
    valid_from timestamptz DEFAULT NULL, radius_m real DEFAULT 150
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    coupon bigint;
BEGIN
    IF person IS NULL OR establishment IS NULL OR title IS NULL OR expires_at IS NULL
        OR origin IS NULL OR radius_m IS NULL THEN
        RAISE EXCEPTION 'grant_coupon needs person, establishment, title, expires_at and origin'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    -- Periods of validity are compared by differences, which infinite times do not have.
    IF NOT (expires_at < '10000-01-01Z' AND coalesce(valid_from >= '1970-01-01Z', true)) THEN
        RAISE EXCEPTION 'expires_at, valid_from: expected times in the years 1970 to 9999'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Nearly all coupons can be granted: one query says so.
    IF expires_at <= coalesce(valid_from, clock_timestamp()) OR NOT EXISTS (
        SELECT FROM people.people p CROSS JOIN establishments.establishments e
        WHERE p.id = person AND people.is_clear(p) AND e.id = establishment
          AND e.closed_at IS NULL) THEN
        coupon := coupons.granted_before(
            person, establishment, title, expires_at, origin, valid_from, radius_m);
        IF coupon IS NOT NULL THEN
            RETURN coupon;
        END IF;
        PERFORM coupons.expect_grant(person, establishment, expires_at, valid_from);
    END IF;
    RETURN coupons.grant_checked(
        person, establishment, title, expires_at, origin, valid_from, radius_m);
END $$;
COMMENT ON FUNCTION coupons.grant_coupon(
    bigint, bigint, text, timestamptz, text, timestamptz, real) IS $doc$
Grants a coupon to a person, who must be 16 or older. A person gets one coupon for each origin.

Arguments:
  person: the person
  establishment: where it can be redeemed
  title: 1 to 200 characters on one line, as the person reads it
  expires_at: the first moment at which it is no longer valid
  origin: the reason for the grant, 1 to 100 characters, such as survey:12 or mission:7:bonus
  valid_from: the first moment at which it is valid; null for now
  radius_m: how near to a branch the person is notified, in meters; 10 to 5000
Returns:
  coupon: the coupon's id
Reasons:
  under_age: the person is under 16
  no_birth_date: the person's age is unknown: set birth_date with people.put_person
  blocked: the person's erasure was requested
  closed: the establishment is closed
Errors:
  22023: expires_at is not after valid_from, or one of them is not in the years 1970 to 9999
  22004: an argument other than valid_from is null
  23503: no such person or establishment
  23505: the person has a coupon of this origin with other content
  23514: the title, the origin or the radius is out of range
Repeated: answers the same id, also when the person can get no coupons any more. An expires_at that
is computed from the present, such as now() + 30 days, may be computed again.
Sample:
  SELECT coupons.grant_coupon(person => 17, establishment => 7, title => 'A free coffee',
      expires_at => now() + interval '30 days', origin => 'survey:12');
$doc$;

CREATE OR REPLACE FUNCTION coupons.star(
    coupon bigint, person bigint, is_starred boolean DEFAULT true)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    UPDATE coupons.coupons c
    SET starred_at = CASE WHEN is_starred THEN coalesce(c.starred_at, clock_timestamp()) END
    WHERE c.id = coupon AND c.person_id = person;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION coupons.star(bigint, bigint, boolean) IS $doc$
Stars or unstars a person's coupon. Starred coupons come first in their list.

Arguments:
  coupon: the coupon
  person: whose it is
  is_starred: true to star it, false to unstar it
Returns:
  is_theirs: whether the person has such a coupon
Repeated: answers the same and changes nothing.
Sample:
  SELECT coupons.star(coupon => 1, person => 17);
$doc$;

-- A list reads as many coupons as it returns, whatever the person has: each part is one range of an
-- index, and the next part is read only if the one before did not fill the list. As the function is
-- stable, its parts are of one snapshot.
CREATE OR REPLACE FUNCTION coupons.listing(person bigint, max_rows int DEFAULT 200)
RETURNS TABLE (id bigint, establishment_id bigint, establishment text, title text,
    valid_from timestamptz, expires_at timestamptz, is_starred boolean, state text,
    voided_at timestamptz, voided_reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    rest bigint := coalesce(max_rows, 1000000);
    found_rows bigint;
BEGIN
    FOR part IN 0..1 LOOP
        RETURN QUERY SELECT c.id, c.establishment_id,
            (SELECT e.name FROM establishments.establishments e WHERE e.id = c.establishment_id),
            c.title, c.valid_from, c.expires_at, part = 0,
            CASE WHEN c.valid_from > at THEN 'not_yet_valid' ELSE 'usable' END,
            NULL::timestamptz, NULL::text
        FROM coupons.coupons c
        WHERE c.person_id = person AND (c.starred_at IS NULL)::int = part AND c.expires_at > at
          AND c.redeemed_at IS NULL AND c.voided_at IS NULL AND c.expired_at IS NULL
        ORDER BY c.expires_at, c.id LIMIT rest;
        GET DIAGNOSTICS found_rows = ROW_COUNT;
        rest := rest - found_rows;
        IF rest <= 0 THEN
            RETURN;
        END IF;
    END LOOP;
    RETURN QUERY SELECT c.id, c.establishment_id,
        (SELECT e.name FROM establishments.establishments e WHERE e.id = c.establishment_id),
        c.title, c.valid_from, c.expires_at, c.starred_at IS NOT NULL, 'voided', c.voided_at,
        c.voided_reason
    FROM coupons.coupons c
    WHERE c.person_id = person AND c.voided_at > at - interval '7 days' AND NOT c.is_suspended
    ORDER BY c.voided_at DESC, c.id DESC LIMIT rest;
END $$;
COMMENT ON FUNCTION coupons.listing(bigint, int) IS $doc$
Lists a person's coupons for their app: the starred ones first, then those that expire soonest. At
the end are the coupons that were voided within seven days, with the reason. Redeemed and expired
coupons are not in it.

Arguments:
  person: the person
  max_rows: how many at most
Returns:
  id: the coupon
  establishment_id: where it can be redeemed
  establishment: the establishment's name
  title: what it is for
  valid_from: from then on it is valid
  expires_at: from then on it is no longer valid
  is_starred: whether the person starred it
  state: usable, not_yet_valid or voided
  voided_at: when it was voided, else null
  voided_reason: why it was voided, for the person; else null
Repeated: Reads only.
Sample:
  SELECT id, establishment, title, is_starred, state FROM coupons.listing(person => 17);
$doc$;

-- Voids a coupon for a reason that its person can read, and returns its previous state; null if no
-- coupon has the id. A redeemed coupon stays redeemed. One that is void only while its person is
-- blocked counts as not void, and stays void.
CREATE OR REPLACE FUNCTION coupons.void(coupon bigint, reason text)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    c coupons.coupons;
BEGIN
    IF reason IS NULL OR length(reason) NOT BETWEEN 1 AND 500 THEN
        RAISE EXCEPTION 'void needs a reason of 1 to 500 characters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO c FROM coupons.coupons k WHERE k.id = coupon FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE coupons.coupons k
    SET voided_at = clock_timestamp(), voided_reason = reason, is_suspended = false
    WHERE k.id = coupon AND k.redeemed_at IS NULL AND (k.voided_at IS NULL OR k.is_suspended);
    IF c.is_suspended THEN
        c.voided_at := NULL;
    END IF;
    RETURN coupons.state_of(c, clock_timestamp());
END $$;
