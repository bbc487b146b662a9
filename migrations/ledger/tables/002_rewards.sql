-- When rewards are paid, and the proofs of the ledger.

-- How rewards are paid, for what is said of it and for the payouts.
CREATE TABLE ledger.pay_rules (
    -- Quarters begin at midnight there.
    time_zone text NOT NULL DEFAULT 'America/Toronto'
        CHECK (timestamptz '2000-01-01Z' AT TIME ZONE time_zone IS NOT NULL),
    -- The day of the month after a quarter, moved to the next banking day.
    pay_day smallint NOT NULL DEFAULT 15 CHECK (pay_day BETWEEN 1 AND 28),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO ledger.pay_rules DEFAULT VALUES;

-- What the nightly proof found.
CREATE TABLE ledger.proofs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    accounts bigint NOT NULL,
    transactions bigint NOT NULL,
    postings bigint NOT NULL,
    -- How many faults there are, and the first of them.
    faults bigint NOT NULL,
    examples jsonb NOT NULL DEFAULT '[]'
);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('ledger.prove', 1, 'ledger', 3, 5);
