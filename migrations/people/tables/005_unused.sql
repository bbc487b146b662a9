-- The runs of the retention, and accounts that nobody uses.

ALTER TABLE people.retention_rules ADD CHECK (module NOT LIKE 'pg\_%');

-- The last run of each rule of retention.
CREATE TABLE people.retention_runs (
    rule text COLLATE "C" PRIMARY KEY REFERENCES people.retention_rules ON DELETE CASCADE,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- The rows that the last run deleted, and all runs together.
    rows bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    -- The SQLSTATE of its failure; null after a success.
    failure text
);

-- People who exist already count as seen now.
ALTER TABLE people.people
    ADD last_seen_at timestamptz NOT NULL DEFAULT now(),
    -- When the person was notified that the unused account will be erased.
    ADD unused_warned_at timestamptz;
CREATE INDEX people_seen ON people.people (last_seen_at) WHERE blocked_at IS NULL;
CREATE INDEX people_warned ON people.people (unused_warned_at)
    WHERE unused_warned_at IS NOT NULL AND blocked_at IS NULL;

-- What notifies people that their unused accounts will be erased: a function in the schema of a
-- module, (person bigint, erased_at timestamptz) RETURNS void.
CREATE TABLE people.unused_notifiers (
    module text COLLATE "C" PRIMARY KEY
        CHECK (module ~ '^[a-z][a-z_]{0,39}$' AND module NOT LIKE 'pg\_%'),
    routine name NOT NULL
);

INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('people.unused', 'people', 'warn_unused', '24 months',
        'accounts that nobody uses: their people are notified'),
    ('people.unused_warned', 'people', 'erase_unused', '30 days',
        'accounts that nobody has used since: erased');
