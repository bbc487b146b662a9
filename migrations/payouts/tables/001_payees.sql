-- The rules of payouts, and people's addresses and bank details.

CREATE SCHEMA payouts;

CREATE TABLE payouts.rules (
    -- The minimum payout in major units of each currency; smaller balances wait for a later run.
    minimum numeric(8, 2) NOT NULL DEFAULT 1.00 CHECK (minimum >= 0),
    -- The maximum deviation of a run from its preview, in percent, without acknowledgment.
    deviation_limit numeric(6, 2) NOT NULL DEFAULT 5.00 CHECK (deviation_limit >= 0),
    -- Whether one person may close and approve a run.
    allows_same boolean NOT NULL DEFAULT false,
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO payouts.rules DEFAULT VALUES;

-- The names and addresses on cheques and in bank files.
CREATE TABLE payouts.payees (
    person_id bigint PRIMARY KEY REFERENCES people.people ON DELETE CASCADE,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    name text NOT NULL CHECK (name ~ '\S' AND length(name) <= 80 AND name !~ '[[:cntrl:]]'),
    -- The postal address, below the name.
    address text[] NOT NULL CHECK (
        cardinality(address) BETWEEN 1 AND 4 AND array_position(address, NULL) IS NULL)
);

CREATE TABLE payouts.bank_details (
    person_id bigint PRIMARY KEY REFERENCES people.people ON DELETE CASCADE,
    given_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When a deposit was returned: deposits stop until the person enters new details.
    refused_at timestamptz,
    country text COLLATE "C" NOT NULL CHECK (country IN ('CA', 'US')),
    -- The last digits of the account, for people to recognize it.
    hint text NOT NULL CHECK (length(hint) BETWEEN 1 AND 8 AND hint ~ '^…[0-9A-Z]{1,4}$'),
    refused_for text,
    -- The details as JSON, sealed with AES-256-GCM for this person.
    sealed bytea NOT NULL CHECK (length(sealed) BETWEEN 32 AND 1024 AND get_byte(sealed, 0) = 1)
);

-- The app whose devices get notices about payouts.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;
