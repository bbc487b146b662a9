-- The shopping list.

CREATE TYPE household.item_state AS ENUM ('open', 'bought', 'removed');

CREATE TABLE household.items (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id bigint NOT NULL REFERENCES household.groups,
    added_by bigint NOT NULL REFERENCES people.people,
    -- Whose it is; null: everybody's.
    person_id bigint REFERENCES people.people,
    -- The trip that bought it.
    bill_id bigint REFERENCES household.bills,
    -- What it cost, in minor units, where that is known.
    price bigint CHECK (price BETWEEN 0 AND 10000000000),
    added_at timestamptz NOT NULL,
    state household.item_state NOT NULL DEFAULT 'open',
    quantity numeric NOT NULL CHECK (quantity > 0 AND quantity <= 1000000 AND scale(quantity) <= 3),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
    -- By which equal names are found: household.name_key().
    name_key text COLLATE "C" NOT NULL,
    -- Such as kg; empty for pieces.
    unit text COLLATE "C" NOT NULL DEFAULT ''
        CHECK (length(unit) <= 20 AND unit !~ '[[:cntrl:]]'),
    CHECK ((state = 'bought') = (bill_id IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX items_open ON household.items (group_id, name_key, unit) WHERE state = 'open';
CREATE INDEX items_bill ON household.items (bill_id) WHERE bill_id IS NOT NULL;
