-- The pay rules of rewards, and the proofs of the ledger.

-- The pay rules of rewards.
CREATE TABLE ledger.pay_rules (
    -- The time zone in which quarters start at midnight.
    time_zone text NOT NULL DEFAULT 'America/Toronto'
        CHECK (timestamptz '2000-01-01Z' AT TIME ZONE time_zone IS NOT NULL),
    -- The day of the month after a quarter, moved to the next banking day.
    pay_day smallint NOT NULL DEFAULT 15 CHECK (pay_day BETWEEN 1 AND 28),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO ledger.pay_rules DEFAULT VALUES;

-- The results of the nightly proofs.
CREATE TABLE ledger.proofs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    accounts bigint NOT NULL,
    transactions bigint NOT NULL,
    postings bigint NOT NULL,
    -- The number of faults, and the first of them.
    faults bigint NOT NULL,
    examples jsonb NOT NULL DEFAULT '[]'
);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('ledger.prove', 1, 'ledger', 3, 5);
