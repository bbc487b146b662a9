-- Granting, starring, listing and voiding coupons.

-- Grants a coupon to a person and returns its id. A repeated grant with the same person and origin
-- returns the existing coupon. The origin is the reason, such as survey:12 or mission:7:bonus.
CREATE OR REPLACE FUNCTION coupons.grant_coupon(
    person bigint, establishment bigint, title text, expires_at timestamptz, origin text,
    valid_from timestamptz DEFAULT clock_timestamp(), radius_m real DEFAULT 150
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    coupon bigint;
BEGIN
    IF person IS NULL OR establishment IS NULL OR title IS NULL OR expires_at IS NULL
        OR origin IS NULL OR valid_from IS NULL OR radius_m IS NULL THEN
        RAISE EXCEPTION 'grant_coupon needs person, establishment, title, expires_at and origin'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF expires_at <= valid_from THEN
        RAISE EXCEPTION 'the coupon would expire at %, before it is valid at %', expires_at,
            valid_from USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'nobody has the id %', person
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the person first.';
    END IF;
    IF NOT EXISTS (SELECT FROM establishments.establishments e WHERE e.id = establishment) THEN
        RAISE EXCEPTION 'no establishment has the id %', establishment
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the establishment first.';
    END IF;
    INSERT INTO coupons.coupons AS c (person_id, establishment_id, title, radius_m, valid_from,
        expires_at, origin)
    VALUES (person, establishment, title, radius_m, valid_from, expires_at, origin)
    ON CONFLICT ON CONSTRAINT coupons_origin DO NOTHING
    RETURNING c.id INTO coupon;
    IF coupon IS NULL THEN
        SELECT c.id INTO coupon FROM coupons.coupons c
        WHERE c.person_id = person AND c.origin = origin;
    END IF;
    RETURN coupon;
END $$;

-- Stars or unstars a person's coupon; returns false if they have no such coupon.
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

-- Lists a person's current and future coupons for their app: starred coupons first, then by expiry.
CREATE OR REPLACE FUNCTION coupons.listing(person bigint, max_rows int DEFAULT 200)
RETURNS TABLE (id bigint, establishment_id bigint, establishment text, title text,
    valid_from timestamptz, expires_at timestamptz, is_starred boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- PL/pgSQL caches the plan.
    RETURN QUERY SELECT c.id, c.establishment_id, e.name, c.title, c.valid_from, c.expires_at,
        c.starred_at IS NOT NULL
    FROM coupons.coupons c JOIN establishments.establishments e ON e.id = c.establishment_id
    WHERE c.person_id = person AND c.redeemed_at IS NULL AND c.voided_at IS NULL
      AND c.expired_at IS NULL AND c.expires_at > clock_timestamp()
    ORDER BY c.starred_at IS NULL, c.expires_at, c.id LIMIT max_rows;
END $$;

-- Voids a coupon for a reason that its person can read, and returns its previous state; null if no
-- coupon has the id. A redeemed coupon stays redeemed.
CREATE OR REPLACE FUNCTION coupons.void(coupon bigint, reason text)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    before text;
BEGIN
    IF reason IS NULL OR length(reason) NOT BETWEEN 1 AND 500 THEN
        RAISE EXCEPTION 'void needs a reason of 1 to 500 characters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT coupons.state_of(c, clock_timestamp()) INTO before
    FROM coupons.coupons c WHERE c.id = coupon FOR NO KEY UPDATE;
    UPDATE coupons.coupons c SET voided_at = clock_timestamp(), voided_reason = reason
    WHERE c.id = coupon AND c.redeemed_at IS NULL AND c.voided_at IS NULL;
    RETURN before;
END $$;
