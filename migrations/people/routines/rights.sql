-- Who may do what in the schema people.

SELECT errand.grant_rights('people', '{"people": ["email", "unsubscribe_token"]}');

GRANT USAGE ON SCHEMA people TO errand_app;
-- It runs with the rights of the owner: app servers may not write what it writes.
GRANT EXECUTE ON FUNCTION people.put_person(bigint, jsonb) TO errand_app;
