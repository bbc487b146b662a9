-- Rewards that are earned but not credited, and the data of people.

-- The modules that know rewards which wait for a decision, such as the review of a mission. Each
-- has a function in its schema, which runs with the rights of the owner:
--   (person bigint) RETURNS TABLE (currency text, amount bigint)
CREATE TABLE ledger.pending_sources (
    module text COLLATE "C" PRIMARY KEY
        CHECK (module ~ '^[a-z][a-z_]{0,39}$' AND module NOT LIKE 'pg\_%'),
    routine name NOT NULL
);

INSERT INTO people.holders VALUES ('ledger', 60, false);
