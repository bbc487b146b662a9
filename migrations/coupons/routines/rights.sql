-- Privileges in the schema coupons.

SELECT errand.grant_rights('coupons', '{
    "open_secrets": ["inner_block", "outer_block"],
    "epochs": ["sealed"],
    "redemptions": ["code_hash"],
    "scramble": ["keys", "seed"]
}');

-- Only functions with their owner's rights read the keys and count guesses.
REVOKE ALL ON coupons.scramble FROM errand_worker;
REVOKE EXECUTE ON FUNCTION
    coupons.grant_checked(bigint, bigint, text, timestamptz, text, timestamptz, real)
FROM errand_worker;
REVOKE ALL ON FUNCTION
    coupons.handle_of(bigint), coupons.coupon_of(bigint), coupons.read_code(text)
FROM errand_inspector;
DO $$
DECLARE
    counter regclass;
BEGIN
    FOR counter IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'coupons'::regnamespace AND c.relkind = 'S'
          AND c.relname ~ '^guess_counter_'
    LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM errand_worker', counter);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION coupons.raise_alerts(timestamptz) TO errand_worker;
-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON coupons.code_series, coupons.guess_limits FROM errand_worker;
-- A rotation locks the rows of the series, which requires the privilege on one column.
GRANT UPDATE (series) ON coupons.code_series TO errand_worker;

-- errand_app is for the app's servers, errand_till for the servers of tills. Neither can read the
-- tables of coupons; grant these roles to your login roles.
GRANT USAGE ON SCHEMA coupons TO errand_app, errand_till;
GRANT EXECUTE ON FUNCTION
    coupons.code(bigint, bigint),
    coupons.listing(bigint, int),
    coupons.star(bigint, bigint, boolean),
    coupons.grant_coupon(bigint, bigint, text, timestamptz, text, timestamptz, real),
    coupons.report_position(bigint, double precision, double precision, double precision,
        timestamptz)
TO errand_app;
GRANT EXECUTE ON FUNCTION
    coupons.verify(text, bigint, text),
    coupons.redeem(text, bigint, text, text)
TO errand_till;
