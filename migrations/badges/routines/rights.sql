-- Privileges in the schema badges.

SELECT errand.grant_rights('badges', '{}');

-- Workers write by functions only: those of deeds run with the rights of their module's owner.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA badges FROM errand_worker;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA badges FROM errand_worker;
REVOKE EXECUTE ON FUNCTION badges.count_deed(bigint, text, bigint),
    badges.uncount_deed(bigint, text, bigint),
    badges.sourced(bigint, bigint), badges.erase(bigint)
FROM errand_worker;
REVOKE EXECUTE ON FUNCTION badges.personal_data(bigint) FROM errand_worker, errand_inspector;
GRANT EXECUTE ON FUNCTION
    badges.next_people(bigint, int),
    badges.recount(bigint, bigint),
    badges.recount_next(int, bigint),
    badges.take_due(int)
TO errand_worker;
GRANT EXECUTE ON FUNCTION badges.of_person(bigint, int) TO errand_worker, errand_inspector;

GRANT USAGE ON SCHEMA badges TO errand_app;
GRANT EXECUTE ON FUNCTION badges.of_person(bigint, int) TO errand_app;
