-- Payouts, their files and cheques, and the history of changes.

-- An issue creates the files of a run together; later payouts need another issue.
CREATE TABLE payouts.issues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES payouts.runs,
    -- When all payouts were assigned to files, which fixes their content.
    frozen_at timestamptz,
    -- When all files and the manifest were written.
    published_at timestamptz,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The date in the files, and the day on which the money arrives.
    issued_on date NOT NULL,
    pay_date date NOT NULL,
    number int NOT NULL,
    -- The number of payouts held because no file accepts them.
    held bigint NOT NULL DEFAULT 0,
    actor text NOT NULL,
    UNIQUE (run_id, number)
);
CREATE UNIQUE INDEX issues_unfinished ON payouts.issues (run_id) WHERE published_at IS NULL;

-- Number series of bank files and of cheques; numbers are never reused.
CREATE TABLE payouts.series (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL CHECK (last >= 0)
);

CREATE TYPE payouts.method AS ENUM ('aft', 'nacha', 'cheque');

CREATE TABLE payouts.files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issue_id bigint NOT NULL REFERENCES payouts.issues,
    -- The number in its series; of cheques, the first number.
    number bigint NOT NULL,
    payouts bigint NOT NULL DEFAULT 0,
    amount bigint NOT NULL DEFAULT 0,
    published_at timestamptz,
    method payouts.method NOT NULL,
    currency text COLLATE "C" NOT NULL,
    series text COLLATE "C" NOT NULL,
    UNIQUE (issue_id, method, currency),
    UNIQUE (series, number)
);

-- The written files; recreated files have the same bytes.
CREATE TABLE payouts.outputs (
    file_id bigint NOT NULL REFERENCES payouts.files,
    bytes bigint NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (file_id, name)
);

CREATE TYPE payouts.payout_state AS ENUM (
    'pending',      -- waits for an issue
    'issued',       -- in a bank file or on a cheque
    'settled',      -- paid by the bank
    'returned',     -- returned by the bank or post; the money is in the person's balance
    'reissued',     -- replaced by another payout
    'held',         -- information is missing; the money is in the person's balance
    'void');        -- will not be paid; the money is in the person's balance

INSERT INTO ledger.kept_kinds
SELECT kind, 'Use ''errand payout hold'', ''void'' or ''return'' to reverse a payout.'
FROM unnest('{payout,payout_back,payout_settled}'::text[]) kind;

-- No foreign keys to the ledger and the run: the functions that write here ensure them, and their
-- checks would take a tenth of a close.
CREATE TABLE payouts.payouts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    person_id bigint NOT NULL,
    -- The person's account in the ledger, in the currency of the payout.
    account_id bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    -- The returned or void payout that this one replaces.
    replaces bigint REFERENCES payouts.payouts,
    file_id bigint,
    cheque_number bigint,
    -- The chunk of the close; null for a replacement.
    chunk int,
    state payouts.payout_state NOT NULL,
    -- The id in payouts.changes of its settlement.
    settlement bigint,
    -- Whether the close held it, so that the chunk's transaction did not debit it.
    was_held boolean NOT NULL DEFAULT false,
    -- Held until it is released: the close of a later quarter holds its money too.
    is_kept_back boolean NOT NULL DEFAULT false,
    -- The method; null before the issue for the default of the person.
    method payouts.method,
    currency text COLLATE "C" NOT NULL,
    -- Why it is held, returned or void.
    reason text,
    -- One payout per person, quarter and currency, except replacements.
    CONSTRAINT payouts_one UNIQUE NULLS NOT DISTINCT (account_id, run_id, replaces)
);
CREATE UNIQUE INDEX payouts_replaces ON payouts.payouts (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX payouts_state ON payouts.payouts (run_id, state, id);
-- For the close of later runs.
CREATE INDEX payouts_undone ON payouts.payouts (account_id) WHERE state IN ('held', 'returned');
-- Not unique, because other accounts of the company have the same numbers; the series ensure it.
CREATE INDEX payouts_cheque ON payouts.payouts (cheque_number, currency)
    WHERE cheque_number IS NOT NULL;

-- The data of a payout in a file, as frozen.
CREATE TABLE payouts.items (
    file_id bigint NOT NULL,
    payout_id bigint NOT NULL,
    person_id bigint NOT NULL,
    payee text NOT NULL,
    address text[] NOT NULL,
    -- Of a deposit: the version of the bank details, and the sealed details.
    given_at timestamptz,
    sealed bytea,
    -- Of a cheque: the rewards of the quarter, an array of [kind, count, minor units].
    lines jsonb,
    PRIMARY KEY (file_id, payout_id)
);

-- The history of changes: one row per chunk, page or single payout.
CREATE TABLE payouts.changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_id bigint NOT NULL,
    payout_id bigint,
    -- The number of changed payouts and their sum; null for changes of the run itself.
    payouts bigint,
    amount bigint,
    -- The transaction of the ledger.
    transaction_id bigint,
    -- The action, such as approve.
    action text COLLATE "C" NOT NULL,
    currency text COLLATE "C",
    actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
    reason text CHECK (length(reason) <= 500)
);
CREATE INDEX changes_payout ON payouts.changes (payout_id) WHERE payout_id IS NOT NULL;
CREATE INDEX changes_run ON payouts.changes (run_id, id);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('payouts.preview', 1, 'payouts', 2, 20), ('payouts.close', 1, 'payouts', 2, 20);
