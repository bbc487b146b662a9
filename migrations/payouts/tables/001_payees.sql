-- The rules of payouts, and where people are paid.

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
    person_id bigint PRIMARY KEY REFERENCES people.people ON DELETE CASCADE,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    name text NOT NULL CHECK (name ~ '\S' AND length(name) <= 80 AND name !~ '[[:cntrl:]]'),
    -- The lines below the name, as the post office wants them.
    address text[] NOT NULL CHECK (
        cardinality(address) BETWEEN 1 AND 4 AND array_position(address, NULL) IS NULL)
);

CREATE TABLE payouts.bank_details (
    person_id bigint PRIMARY KEY REFERENCES people.people ON DELETE CASCADE,
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

-- The app whose devices hear of payouts.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;
