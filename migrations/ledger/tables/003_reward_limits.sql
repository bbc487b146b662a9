-- The limits of one reward: a price in the wrong unit or a time of 1970 is refused.
ALTER TABLE ledger.pay_rules
    -- The most that a reward may cost, in minor units of any currency.
    ADD COLUMN max_reward bigint NOT NULL DEFAULT 1000000
        CHECK (max_reward BETWEEN 1 AND 1000000000000000),
    -- How long ago a reward may have been earned.
    ADD COLUMN max_reward_age interval NOT NULL DEFAULT '5 years'
        CHECK (max_reward_age > interval '0');
