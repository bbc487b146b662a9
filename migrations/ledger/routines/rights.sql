-- Privileges in the schema ledger.

SELECT errand.grant_rights('ledger');

-- Workers post nothing: what jobs and apps post, functions of the modules do with the owner's
-- rights, one for each kind of transaction. Jobs write the proofs only.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ledger FROM errand_worker;
REVOKE USAGE ON ALL SEQUENCES IN SCHEMA ledger FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA ledger
    REVOKE INSERT, UPDATE, DELETE ON TABLES FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA ledger REVOKE USAGE ON SEQUENCES FROM errand_worker;
GRANT INSERT ON ledger.proofs TO errand_worker;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ledger FROM errand_worker;
-- These only read.
GRANT EXECUTE ON FUNCTION
    ledger.balance(bigint),
    ledger.balance_at(bigint, timestamptz),
    ledger.has_owner(text, bigint)
TO errand_worker;

GRANT USAGE ON SCHEMA ledger TO errand_app;
GRANT EXECUTE ON FUNCTION
    ledger.credit_reward(bigint, text, bigint, bigint, bigint, text, timestamptz),
    ledger.reward_balance(bigint),
    ledger.reward_lines(bigint, text, timestamptz, bigint, int)
TO errand_app;
