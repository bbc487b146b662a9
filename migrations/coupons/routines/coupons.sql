-- The life of a coupon: granted, starred, listed and voided.

-- Gives a person a coupon; returns its id. For the same person and origin it gives one, whoever
-- asks again: name in the origin what earned it, such as survey:12 or mission:7:bonus.
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

-- Puts a coupon of the person's at the top of their list, or back; false when they have none such.
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

-- A person's coupons as their app lists them: those that can be used now or later, the starred
-- ones first, then those that expire soonest.
CREATE OR REPLACE FUNCTION coupons.listing(person bigint, at_most int DEFAULT 200)
RETURNS TABLE (id bigint, establishment_id bigint, establishment text, title text,
    valid_from timestamptz, expires_at timestamptz, is_starred boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- PL/pgSQL keeps the plan from call to call.
    RETURN QUERY SELECT c.id, c.establishment_id, e.name, c.title, c.valid_from, c.expires_at,
        c.starred_at IS NOT NULL
    FROM coupons.coupons c JOIN establishments.establishments e ON e.id = c.establishment_id
    WHERE c.person_id = person AND c.redeemed_at IS NULL AND c.voided_at IS NULL
      AND c.expired_at IS NULL AND c.expires_at > clock_timestamp()
    ORDER BY c.starred_at IS NULL, c.expires_at, c.id LIMIT at_most;
END $$;

-- Makes a coupon worthless for a reason that its person may read; returns what it was good for
-- before, null when there is none of that id. One that was redeemed stays so.
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
