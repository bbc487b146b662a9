-- Runs: a quarter's payouts, closed in chunks.

CREATE TYPE payouts.run_state AS ENUM (
    'preview', 'closed', 'approved', 'issued', 'settled');

-- One for each quarter.
CREATE TABLE payouts.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What was earned before is paid: the end of the quarter in the company's time zone.
    cut_off timestamptz NOT NULL UNIQUE,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Closing makes its payouts by chunks, whose rows it makes first.
    closing_at timestamptz,
    closed_at timestamptz,
    approved_at timestamptz,
    issued_at timestamptz,
    settled_at timestamptz,
    pay_date date NOT NULL,
    chunks_left int NOT NULL DEFAULT 0 CHECK (chunks_left >= 0),
    state payouts.run_state NOT NULL DEFAULT 'preview',
    quarter text COLLATE "C" NOT NULL UNIQUE CHECK (quarter ~ '^[0-9]{4}-Q[1-4]$'),
    time_zone text NOT NULL,
    closed_by text,
    approved_by text
);

-- What closing a run would have done, whenever somebody asked.
CREATE TABLE payouts.previews (
    run_id bigint NOT NULL REFERENCES payouts.runs,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    payouts bigint NOT NULL,
    amount bigint NOT NULL,
    held bigint NOT NULL,
    held_amount bigint NOT NULL,
    carried bigint NOT NULL,
    carried_amount bigint NOT NULL,
    currency text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    PRIMARY KEY (run_id, at, currency)
);

-- Some hundreds of accounts each, closed by one transaction of one job.
CREATE TABLE payouts.chunks (
    run_id bigint NOT NULL REFERENCES payouts.runs,
    -- Accounts of people in the currency, from one id to another; the last one has no end.
    first_account bigint NOT NULL,
    last_account bigint NOT NULL,
    transaction_id bigint,
    done_at timestamptz,
    -- What was paid, held for want of an address or an age, and left for being too little.
    payouts int NOT NULL DEFAULT 0,
    held int NOT NULL DEFAULT 0,
    carried int NOT NULL DEFAULT 0,
    amount bigint NOT NULL DEFAULT 0,
    held_amount bigint NOT NULL DEFAULT 0,
    carried_amount bigint NOT NULL DEFAULT 0,
    number int NOT NULL,
    currency text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, number)
);
