-- Privileges in the schema establishments.

SELECT errand.grant_rights('establishments');

-- The app's servers maintain the establishments of coupons and missions, by functions that run with
-- the rights of the owner.
GRANT USAGE ON SCHEMA establishments TO errand_app;
REVOKE ALL ON establishments.establishments, establishments.branches FROM errand_app;
GRANT EXECUTE ON FUNCTION
    establishments.put_establishment(bigint, text),
    establishments.close_establishment(bigint),
    establishments.listing(bigint, int),
    establishments.put_branch(bigint, bigint, text, double precision, double precision),
    establishments.close_branch(bigint),
    establishments.branches_of(bigint, bigint, int),
    establishments.nearby(double precision, double precision, double precision, bigint, int)
TO errand_app;
