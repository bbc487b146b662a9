-- Who may do what in the schema establishments.

SELECT errand.grant_rights('establishments');

-- The app's servers keep the establishments that its coupons and missions are for.
GRANT USAGE ON SCHEMA establishments TO errand_app;
GRANT SELECT, INSERT, UPDATE ON establishments.establishments, establishments.branches
    TO errand_app;
