-- Privileges in the schema ledger.

SELECT errand.grant_rights('ledger');

-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON
    ledger.account_kinds, ledger.owner_kinds, ledger.currencies, ledger.kept_kinds,
    ledger.pay_rules
FROM errand_worker;
-- Append-only; triggers enforce it for the owner too.
REVOKE UPDATE, DELETE ON ledger.transactions, ledger.postings FROM errand_worker;

GRANT USAGE ON SCHEMA ledger TO errand_app;
GRANT EXECUTE ON FUNCTION
    ledger.credit_reward(bigint, text, bigint, bigint, bigint, text, timestamptz),
    ledger.reward_balance(bigint),
    ledger.reward_lines(bigint, text, timestamptz, bigint, int)
TO errand_app;
