-- Who may do what in the schema ledger.

SELECT errand.grant_rights('ledger');

-- Settings are an operator's.
REVOKE INSERT, UPDATE, DELETE ON
    ledger.account_kinds, ledger.owner_kinds, ledger.currencies, ledger.kept_kinds,
    ledger.pay_rules
FROM errand_worker;
-- Only added to; triggers refuse the rest to the owner as well.
REVOKE UPDATE, DELETE ON ledger.transactions, ledger.postings FROM errand_worker;

GRANT USAGE ON SCHEMA ledger TO errand_app;
GRANT EXECUTE ON FUNCTION
    ledger.credit_reward(bigint, text, bigint, bigint, bigint, text, timestamptz),
    ledger.reward_balance(bigint),
    ledger.reward_lines(bigint, text, timestamptz, bigint, int)
TO errand_app;
