-- Privileges in the schema news.

SELECT errand.grant_rights('news', '{"recipients": ["person_id"]}');

GRANT USAGE ON SCHEMA news TO errand_app;
GRANT EXECUTE ON FUNCTION news.terms_of(bigint) TO errand_app;
