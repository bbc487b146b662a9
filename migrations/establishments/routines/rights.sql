-- Privileges in the schema establishments.

SELECT errand.grant_rights('establishments');

-- The app's servers maintain the establishments of coupons and missions.
GRANT USAGE ON SCHEMA establishments TO errand_app;
GRANT SELECT, INSERT, UPDATE ON establishments.establishments, establishments.branches
    TO errand_app;
