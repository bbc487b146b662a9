-- The privileges in the schema people.

SELECT errand.grant_rights('people', '{"people": ["email", "unsubscribe_token"]}');

GRANT USAGE ON SCHEMA people TO errand_app;
-- This function runs with the rights of the owner, as app servers may not write the table.
GRANT EXECUTE ON FUNCTION people.put_person(bigint, jsonb) TO errand_app;
