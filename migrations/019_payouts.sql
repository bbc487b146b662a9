-- Quarterly payouts: what people have earned by the end of a quarter is paid to them, by deposit
-- if they gave bank details, by cheque if not.
--
-- The money of a payout that is pending or issued is in the account payouts_in_transit, of one that
-- is settled it has left the bank, and in every other state it is the person's.

CREATE SCHEMA payouts;

CREATE TABLE payouts.rules (
    -- In whole units of each currency; people to whom less is owed are paid by a later run.
    minimum numeric(8, 2) NOT NULL DEFAULT 1.00 CHECK (minimum >= 0),
    -- By how much a run's total may differ from its preview, in percent, to be approved unasked.
    deviation_limit numeric(6, 2) NOT NULL DEFAULT 5.00 CHECK (deviation_limit >= 0),
    -- Whether who has closed a run may approve it.
    allows_same boolean NOT NULL DEFAULT false,
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO payouts.rules DEFAULT VALUES;

-- Who is paid, as it stands on a cheque and in a bank's file.
CREATE TABLE payouts.payees (
    person_id bigint PRIMARY KEY REFERENCES notification.people ON DELETE CASCADE,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    name text NOT NULL CHECK (name ~ '\S' AND length(name) <= 80 AND name !~ '[[:cntrl:]]'),
    -- The lines below the name, as the post office wants them.
    address text[] NOT NULL CHECK (
        cardinality(address) BETWEEN 1 AND 4 AND array_position(address, NULL) IS NULL)
);

CREATE TABLE payouts.bank_details (
    person_id bigint PRIMARY KEY REFERENCES notification.people ON DELETE CASCADE,
    given_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A deposit came back: nothing is sent there until new ones are given.
    refused_at timestamptz,
    country text COLLATE "C" NOT NULL CHECK (country IN ('CA', 'US')),
    -- The last digits of the account, for the person to know it by.
    hint text NOT NULL CHECK (length(hint) BETWEEN 1 AND 8 AND hint ~ '^…[0-9A-Z]{1,4}$'),
    refused_for text,
    -- The details as JSON, sealed by AES-256-GCM for this person.
    sealed bytea NOT NULL CHECK (length(sealed) BETWEEN 32 AND 1024 AND get_byte(sealed, 0) = 1)
);

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
CREATE FUNCTION payouts.keep_series() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payouts.series only goes up: numbers that were given are not given again'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER goes_up BEFORE UPDATE ON payouts.series FOR EACH ROW
    WHEN (NEW.last < OLD.last OR NEW.name <> OLD.name) EXECUTE FUNCTION payouts.keep_series();
CREATE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON payouts.series
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.keep_series();

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

CREATE FUNCTION payouts.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payouts.% is only added to: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON payouts.changes
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.refuse_change();
ALTER TABLE payouts.changes ENABLE ALWAYS TRIGGER is_only_added_to;

-- The ways from state to state, whoever writes.
CREATE FUNCTION payouts.guard_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('issued', 'held', 'void')
        WHEN 'issued' THEN NEW.state IN ('settled', 'returned', 'void')
        WHEN 'settled' THEN NEW.state = 'returned'
        WHEN 'returned' THEN NEW.state IN ('reissued', 'void')
        WHEN 'held' THEN NEW.state IN ('pending', 'void')
        WHEN 'void' THEN NEW.state = 'reissued'
        ELSE false END) THEN
        RAISE EXCEPTION 'payout % is %: it cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guards_state BEFORE UPDATE OF state ON payouts.payouts
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION payouts.guard_payout();

CREATE FUNCTION payouts.keep_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a payout keeps its run, person, amount and currency, and is not deleted'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER keeps_amount
    BEFORE UPDATE OF run_id, person_id, account_id, amount, replaces, chunk, was_held, currency
    ON payouts.payouts FOR EACH ROW
    WHEN ((OLD.run_id, OLD.person_id, OLD.account_id, OLD.amount, OLD.replaces, OLD.chunk,
            OLD.was_held, OLD.currency)
        IS DISTINCT FROM (NEW.run_id, NEW.person_id, NEW.account_id, NEW.amount, NEW.replaces,
            NEW.chunk, NEW.was_held, NEW.currency))
    EXECUTE FUNCTION payouts.keep_payout();
CREATE TRIGGER keeps_payouts BEFORE DELETE OR TRUNCATE ON payouts.payouts
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.keep_payout();

CREATE FUNCTION payouts.guard_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- What comes back after all was settled can be issued anew.
    IF NOT (CASE OLD.state
        WHEN 'preview' THEN NEW.state = 'closed'
        WHEN 'closed' THEN NEW.state = 'approved'
        WHEN 'approved' THEN NEW.state = 'issued'
        WHEN 'issued' THEN NEW.state = 'settled'
        WHEN 'settled' THEN NEW.state = 'issued' END) THEN
        RAISE EXCEPTION 'run % is %: it cannot become %', OLD.quarter, OLD.state, NEW.state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guards_state BEFORE UPDATE OF state ON payouts.runs
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION payouts.guard_run();
