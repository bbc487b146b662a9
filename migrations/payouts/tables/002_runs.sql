-- Runs: the payouts of a quarter, closed in chunks.

CREATE TYPE payouts.run_state AS ENUM (
    'preview', 'closed', 'approved', 'issued', 'settled');

-- One run per quarter.
CREATE TABLE payouts.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The end of the quarter in the company's time zone; the run pays rewards earned before it.
    cut_off timestamptz NOT NULL UNIQUE,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the close created the chunks, whose jobs create the payouts.
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

-- The previews of a run: the result of closing it at that time.
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

-- Chunks of accounts, each closed by one transaction of one job.
CREATE TABLE payouts.chunks (
    run_id bigint NOT NULL REFERENCES payouts.runs,
    -- The range of ids of people's accounts in the currency; the last range is open.
    first_account bigint NOT NULL,
    last_account bigint NOT NULL,
    transaction_id bigint,
    done_at timestamptz,
    -- Payouts to pay, payouts held for missing information, and balances below the minimum.
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
