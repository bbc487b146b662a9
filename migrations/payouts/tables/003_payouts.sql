-- Payouts, the files and cheques that pay them, and every change.

-- The files of a run are made at once; payouts that come later are issued by another one.
CREATE TABLE payouts.issues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES payouts.runs,
    -- All payouts have been given to files, whose content stands from then on.
    frozen_at timestamptz,
    -- All files and the manifest were written.
    published_at timestamptz,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The day that its files bear, and when the money is to arrive.
    issued_on date NOT NULL,
    pay_date date NOT NULL,
    number int NOT NULL,
    -- Payouts that no file could take, and that were held instead.
    held bigint NOT NULL DEFAULT 0,
    actor text NOT NULL,
    UNIQUE (run_id, number)
);
CREATE UNIQUE INDEX issues_unfinished ON payouts.issues (run_id) WHERE published_at IS NULL;

-- Numbers in sequence, never used again: of files for a bank and of cheques on an account.
CREATE TABLE payouts.series (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL CHECK (last >= 0)
);

CREATE TYPE payouts.method AS ENUM ('aft', 'nacha', 'cheque');

CREATE TABLE payouts.files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issue_id bigint NOT NULL REFERENCES payouts.issues,
    -- In the series of its method and originator: of cheques the first one's.
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

-- What was written, file by file: made again they have the same bytes.
CREATE TABLE payouts.outputs (
    file_id bigint NOT NULL REFERENCES payouts.files,
    bytes bigint NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (file_id, name)
);

CREATE TYPE payouts.payout_state AS ENUM (
    'pending',      -- to be issued
    'issued',       -- in a file, or on a cheque
    'settled',      -- the bank has paid
    'returned',     -- it came back; the money is the person's again
    'reissued',     -- paid by another payout, which replaces this one
    'held',         -- something is missing; the money is the person's
    'void');        -- it was never paid, or its cheque is worthless; the money is the person's

INSERT INTO ledger.kept_kinds
SELECT kind, 'The money of a payout is moved by ''errand payout hold'', ''void'' and ''return''.'
FROM unnest('{payout,payout_back,payout_settled}'::text[]) kind;

-- References to the ledger and the run are seen to by the functions that write here: checking each
-- row against them would be a tenth of a close.
CREATE TABLE payouts.payouts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    person_id bigint NOT NULL,
    -- The person's in the ledger; it has the currency.
    account_id bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    -- The payout that came back or was void, and is paid by this one.
    replaces bigint REFERENCES payouts.payouts,
    file_id bigint,
    cheque_number bigint,
    -- Of the close; null for one that replaces another.
    chunk int,
    state payouts.payout_state NOT NULL,
    -- Of the note of payouts.changes that it was settled by.
    settlement bigint,
    -- Held when the run was closed, so that the chunk's transaction does not pay it.
    was_held boolean NOT NULL DEFAULT false,
    -- Held until somebody decides: the close of a later quarter holds its money as well.
    is_kept_back boolean NOT NULL DEFAULT false,
    -- By what means it has to be paid; null for whatever the person's bank details allow.
    method payouts.method,
    currency text COLLATE "C" NOT NULL,
    -- Why it is held, came back or is void.
    reason text,
    -- One payout a person, a quarter and a currency, beside those that replace others.
    CONSTRAINT payouts_one UNIQUE NULLS NOT DISTINCT (account_id, run_id, replaces)
);
CREATE UNIQUE INDEX payouts_replaces ON payouts.payouts (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX payouts_state ON payouts.payouts (run_id, state, id);
-- What the close of another run has to look at.
CREATE INDEX payouts_undone ON payouts.payouts (account_id) WHERE state IN ('held', 'returned');
-- Not unique: another account of the company has the same numbers. The series see to that.
CREATE INDEX payouts_cheque ON payouts.payouts (cheque_number, currency)
    WHERE cheque_number IS NOT NULL;

-- What a file says of a payout, as it was when the file was frozen.
CREATE TABLE payouts.items (
    file_id bigint NOT NULL,
    payout_id bigint NOT NULL,
    person_id bigint NOT NULL,
    payee text NOT NULL,
    address text[] NOT NULL,
    -- Of a deposit: when the person gave these bank details, and the details, sealed as they were.
    given_at timestamptz,
    sealed bytea,
    -- Of a cheque: what was earned in the quarter, [kind, how many, minor units] each.
    lines jsonb,
    PRIMARY KEY (file_id, payout_id)
);

-- Who changed what, when and why: one row for a chunk, a page or a single payout.
CREATE TABLE payouts.changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_id bigint NOT NULL,
    payout_id bigint,
    -- How many it changed, and their sum; null where it is of the run as a whole.
    payouts bigint,
    amount bigint,
    -- Of the ledger.
    transaction_id bigint,
    -- What was done, such as approve.
    action text COLLATE "C" NOT NULL,
    currency text COLLATE "C",
    actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
    reason text CHECK (length(reason) <= 500)
);
CREATE INDEX changes_payout ON payouts.changes (payout_id) WHERE payout_id IS NOT NULL;
CREATE INDEX changes_run ON payouts.changes (run_id, id);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('payouts.preview', 1, 'payouts', 2, 20), ('payouts.close', 1, 'payouts', 2, 20);
