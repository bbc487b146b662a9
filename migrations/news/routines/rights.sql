-- Privileges in the schema news.

SELECT errand.grant_rights('news', '{"recipients": ["person_id"]}');

-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON news.rules FROM errand_worker;

GRANT USAGE ON SCHEMA news TO errand_app;
GRANT EXECUTE ON FUNCTION news.terms_of(bigint) TO errand_app;
