-- The modules that hold data of people, how long they keep it, and who is blocked or erased.

ALTER TABLE people.people
    -- From then on, the person gets no notice, offer, code or grant.
    ADD blocked_at timestamptz,
    -- When all but the id was erased from this row.
    ADD erased_at timestamptz;

-- The modules that hold data of people. Each has these functions in its schema, which run with the
-- rights of the owner:
--   erase(person bigint) RETURNS TABLE (object text, action text, rows bigint, reason text)
--     action is deleted, anonymized or kept; reason says why rows are kept. Idempotent.
--   personal_data(person bigint) RETURNS jsonb
--     an object: a key for each table with rows of the person, an array of objects each
--   block(person bigint) RETURNS void, if blocks
--     withdraws open offers and holds what is under way; idempotent
CREATE TABLE people.holders (
    module text COLLATE "C" PRIMARY KEY CHECK (module ~ '^[a-z][a-z_]{0,39}$'),
    -- Erased in this order.
    position int NOT NULL,
    blocks boolean NOT NULL
);

-- How long the modules keep rows of people. The routine deletes rows from before a time, at most
-- max_rows of them, and returns how many; with only_count it deletes nothing:
--   (before timestamptz, max_rows int, only_count boolean) RETURNS bigint
CREATE TABLE people.retention_rules (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z_]*\.[a-z][a-z_]*$'),
    module text COLLATE "C" NOT NULL,
    routine name NOT NULL,
    keep interval NOT NULL CHECK (keep > '0'),
    description text NOT NULL
);
