-- Shared bills and payments, and who owes whom by accounts of the ledger.

-- What one owes another of a group. Each pair has two sides, and each side an account: above zero
-- the other owes the person, and the other's side then stands as far below zero.
CREATE TABLE household.sides (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id bigint NOT NULL REFERENCES household.groups,
    person_id bigint NOT NULL REFERENCES people.people,
    other_id bigint NOT NULL REFERENCES people.people CHECK (other_id <> person_id),
    -- Of the ledger; null only while it is made.
    account_id bigint UNIQUE,
    UNIQUE (group_id, person_id, other_id)
);
CREATE INDEX sides_person ON household.sides (person_id);

-- Bills and trips to the shop; a trip is a bill with a receipt and bought items.
CREATE TABLE household.bills (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id bigint NOT NULL REFERENCES household.groups,
    payer_id bigint NOT NULL REFERENCES people.people,
    entered_by bigint NOT NULL REFERENCES people.people,
    -- Minor units of the group's currency; a trip may have cost nothing.
    amount bigint NOT NULL CHECK (amount BETWEEN 0 AND 10000000000),
    -- The ledger's transaction of the present shares; null when nobody owes for it.
    transaction_id bigint UNIQUE,
    entered_at timestamptz NOT NULL,
    changed_at timestamptz,
    spent_on date NOT NULL,
    revision int NOT NULL DEFAULT 1,
    is_trip boolean NOT NULL DEFAULT false,
    is_removed boolean NOT NULL DEFAULT false,
    split text COLLATE "C" NOT NULL CHECK (split IN ('equal', 'weights', 'amounts', 'items')),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- Where the app keeps the receipt.
    receipt text CHECK (length(receipt) BETWEEN 1 AND 500),
    -- By which the app repeats what it got no answer to.
    request_id text COLLATE "C" NOT NULL CHECK (length(request_id) BETWEEN 1 AND 100),
    -- What was asked for with it, so that another bill is not taken for the same.
    request bytea NOT NULL,
    CHECK (is_trip OR amount > 0 AND split <> 'items'),
    UNIQUE (group_id, request_id)
) WITH (fillfactor = 80);
CREATE INDEX bills_group ON household.bills (group_id, spent_on, id);

-- What each has to bear, of each revision of a bill: what was before stays.
CREATE TABLE household.shares (
    bill_id bigint NOT NULL REFERENCES household.bills,
    person_id bigint NOT NULL REFERENCES people.people,
    amount bigint NOT NULL CHECK (amount >= 0),
    revision int NOT NULL,
    PRIMARY KEY (bill_id, revision, person_id)
);

CREATE TABLE household.payments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id bigint NOT NULL REFERENCES household.groups,
    from_id bigint NOT NULL REFERENCES people.people,
    to_id bigint NOT NULL REFERENCES people.people CHECK (to_id <> from_id),
    entered_by bigint NOT NULL REFERENCES people.people,
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 10000000000),
    transaction_id bigint NOT NULL UNIQUE,
    paid_at timestamptz NOT NULL,
    -- When it was taken back.
    undone_at timestamptz,
    request_id text COLLATE "C" NOT NULL CHECK (length(request_id) BETWEEN 1 AND 100),
    UNIQUE (group_id, request_id)
);
-- Accounts of the ledger for what one room-mate owes another: see household.sides.
INSERT INTO ledger.owner_kinds VALUES ('side', 'household', 'is_side');
INSERT INTO ledger.account_kinds VALUES ('roommate', 'credit', 'side', false,
    'what a room-mate is owed by another; below zero what they owe');
INSERT INTO ledger.kept_kinds VALUES
    ('shared_bill', 'Edit the bill or remove it: household.edit_bill(), household.remove_bill().'),
    ('roommate_payment', 'Take the payment back: household.undo_payment().');
