-- Privileges in the schema coupons.

SELECT errand.grant_rights('coupons', '{
    "open_secrets": ["inner_block", "outer_block"],
    "epochs": ["sealed"],
    "redemptions": ["code_hash"]
}');

-- scramble_keys() contains the keys that scramble coupon ids; the others reveal them.
REVOKE ALL ON FUNCTION
    coupons.scramble_keys(), coupons.handle_of(bigint), coupons.coupon_of(bigint),
    coupons.read_code(text)
FROM errand_inspector;
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
