-- Privileges in the schema custody.

SELECT errand.grant_rights('custody');

-- Operators alone destroy and transfer data: the owner, and logins that are members of it. Workers
-- write no table here and call none of its functions.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA custody FROM errand_worker;
REVOKE USAGE ON ALL SEQUENCES IN SCHEMA custody FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA custody
    REVOKE INSERT, UPDATE, DELETE ON TABLES FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA custody REVOKE USAGE ON SEQUENCES FROM errand_worker;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA custody FROM errand_worker;
