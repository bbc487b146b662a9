-- What people give up, such as before their erasure.

INSERT INTO ledger.account_kinds VALUES
    ('forfeited', 'credit', 'nobody', true, 'amounts that people gave up');

-- The requests of apps. A person who is erased is known by the id alone, so that rows stay.
CREATE TABLE payouts.forfeits (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    person_id bigint NOT NULL,
    -- The SHA-256 of the request's id.
    request_hash bytea PRIMARY KEY,
    -- An array of objects with currency and amount, in minor units.
    amounts jsonb NOT NULL
);
CREATE INDEX forfeits_person ON payouts.forfeits (person_id);
