-- Who may do what in the schema coupons.

SELECT errand.grant_rights('coupons', '{
    "open_secrets": ["inner_block", "outer_block"],
    "epochs": ["sealed"],
    "redemptions": ["code_hash"]
}');

-- It holds what coupons' handles are scrambled by, and these use it.
REVOKE ALL ON FUNCTION
    coupons.scramble_keys(), coupons.handle_of(bigint), coupons.coupon_of(bigint),
    coupons.read_code(text)
FROM errand_inspector;
-- Settings are an operator's.
REVOKE INSERT, UPDATE, DELETE ON coupons.code_series, coupons.guess_limits FROM errand_worker;
-- Whoever rotates codes locks the row of their series, for which it takes the right to a column.
GRANT UPDATE (series) ON coupons.code_series TO errand_worker;

-- errand_app: the app's servers, for their people. errand_till: the servers that tills speak to.
-- Neither can read a table of coupons; grant them to the roles that log in.
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
