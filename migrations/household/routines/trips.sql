-- Trips to the shop, whose cost is split like a bill's.

-- Puts items into a trip whose group is locked; those that it had and has no more are open again.
--   prices  one for each item, null where it is not known; or none at all
CREATE OR REPLACE FUNCTION household.take_items(
    home bigint, bill bigint, items bigint[], prices bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    taken record;
BEGIN
    PERFORM errand.expect(array_position(items, NULL) IS NULL AND cardinality(items) <= 1000
            AND cardinality(items) = (SELECT count(DISTINCT i) FROM unnest(items) i),
        'items: expected at most 1000, none of them twice');
    PERFORM errand.expect(prices IS NULL OR cardinality(prices) = cardinality(items)
            AND NOT EXISTS (SELECT FROM unnest(prices) p WHERE p NOT BETWEEN 0 AND 10000000000),
        'prices: expected one of 0 to 10^10, or null, for each of the items');
    SELECT u.id, i.state, i.bill_id INTO taken
    FROM unnest(items) AS u (id) LEFT JOIN household.items i ON i.id = u.id AND i.group_id = home
    WHERE i.id IS NULL OR i.state <> 'open' AND i.bill_id IS DISTINCT FROM bill
    ORDER BY u.id LIMIT 1;
    IF taken.id IS NOT NULL AND taken.state IS NULL THEN
        PERFORM household.refuse_unknown('item', taken.id);
    ELSIF taken.id IS NOT NULL THEN
        PERFORM household.refuse_state(format('item %s is %s', taken.id, taken.state)
            || coalesce(format(' by trip %s', taken.bill_id), ''),
            'Read the list again, and leave it out.');
    END IF;
    -- Of who has moved out, nothing goes back to the list.
    UPDATE household.items i SET bill_id = NULL, price = NULL,
        state = CASE WHEN i.person_id IS NULL OR EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.person_id = i.person_id AND m.left_at IS NULL)
            THEN 'open' ELSE 'removed' END::household.item_state
    WHERE i.bill_id = bill AND i.id <> ALL (items);
    UPDATE household.items i SET state = 'bought', bill_id = bill, price = u.price
    FROM unnest(items, coalesce(prices, array_fill(NULL::bigint, ARRAY[cardinality(items)])))
        AS u (id, price)
    WHERE i.id = u.id;
END $$;

-- Weights of some persons by whose items a trip has bought: each bears their own ones and as much
-- of the communal ones as the others, by their prices. What has no price counts nothing beside
-- what has one; where nothing has, each item counts the same. Taxes and the like go along.
CREATE OR REPLACE FUNCTION household.item_weights(bill bigint, persons bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    are_priced CONSTANT boolean := EXISTS (
        SELECT FROM household.items i WHERE i.bill_id = bill AND i.price > 0);
    communal numeric;
    stranger bigint;
    dearest household.items;
BEGIN
    SELECT * INTO dearest FROM household.items i WHERE i.bill_id = bill
    ORDER BY i.price DESC NULLS LAST, i.id LIMIT 1;
    PERFORM errand.expect(coalesce((
            SELECT sum(i.price) FROM household.items i WHERE i.bill_id = bill), 0)
            * cardinality(persons) <= 10000000000,
        format('item %s (%s): its price of %s is too high to split by items: all of them, times '
            'the persons, may come to 10^10', dearest.id, dearest.name, dearest.price));
    SELECT i.person_id INTO stranger FROM household.items i
    WHERE i.bill_id = bill AND i.person_id <> ALL (persons) ORDER BY 1 LIMIT 1;
    IF stranger IS NOT NULL THEN
        PERFORM household.refuse_state(
            format('person %s has items in this trip and is not among the persons', stranger),
            'Add them, leave their items out, or split otherwise.');
    END IF;
    PERFORM errand.expect(
        EXISTS (SELECT FROM household.items i WHERE i.bill_id = bill),
        'split: expected items, to split by whose they are');
    communal := (SELECT coalesce(sum(CASE WHEN are_priced THEN coalesce(i.price, 0) ELSE 1 END), 0)
        FROM household.items i WHERE i.bill_id = bill AND i.person_id IS NULL);
    -- In parts of a cent, so that communal ones can be divided.
    RETURN ARRAY(
        SELECT (communal + cardinality(persons) * coalesce((
            SELECT sum(CASE WHEN are_priced THEN coalesce(i.price, 0) ELSE 1 END)
            FROM household.items i WHERE i.bill_id = bill AND i.person_id = u.person), 0))::bigint
        FROM unnest(persons) WITH ORDINALITY AS u (person, place) ORDER BY u.place);
END $$;

-- Takes the items into the trip, and writes down and posts what each has to bear.
CREATE OR REPLACE FUNCTION household.settle_trip(
    home bigint, bill bigint, items bigint[], prices bigint[], split text, persons bigint[],
    parts bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM household.take_items(home, bill, items, prices);
    IF split = 'items' THEN
        PERFORM errand.expect(parts IS NULL, 'parts: expected none where items say it');
        parts := household.item_weights(bill, persons);
    END IF;
    PERFORM household.settle_bill(
        bill, CASE split WHEN 'items' THEN 'weights' ELSE split END, persons, parts);
END $$;

-- Ends a trip to the shop: takes what was bought off the list, splits its cost, and notifies all;
-- returns its id. The same request again changes nothing, and returns the same id.
--   items    of the list, in any number
--   amount   what was paid, in minor units; 0 when there is nothing to share
--   split    equal, items, weights or amounts: see household.add_bill(), household.item_weights()
--   persons  who bears it; null: all who live in the group
--   receipt  where the app keeps it
CREATE OR REPLACE FUNCTION household.complete_trip(
    person bigint, items bigint[], amount bigint, request_id text, spent_on date,
    split text DEFAULT 'equal', persons bigint[] DEFAULT NULL, parts bigint[] DEFAULT NULL,
    prices bigint[] DEFAULT NULL, receipt text DEFAULT NULL, title text DEFAULT 'Groceries'
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    request CONSTANT bytea := household.digest('trip', person::text, items::text, amount::text,
        spent_on::text, split, persons::text, parts::text, prices::text, receipt, title);
    bill bigint;
BEGIN
    bill := household.requested_bill(home, request_id, request);
    IF bill IS NOT NULL THEN
        RETURN bill;
    END IF;
    PERFORM household.expect_bill(amount, 0, title, spent_on);
    PERFORM errand.expect(items IS NOT NULL, 'items: found null');
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts', 'items'),
        'split: expected equal, items, weights or amounts');
    PERFORM errand.expect(receipt IS NULL OR length(receipt) BETWEEN 1 AND 500,
        'receipt: expected 1 to 500 characters');
    persons := coalesce(persons, ARRAY(SELECT m.person_id FROM household.members m
        WHERE m.group_id = home AND m.left_at IS NULL ORDER BY 1));
    PERFORM household.expect_bearers(home, NULL, persons);
    INSERT INTO household.bills AS b (group_id, payer_id, entered_by, amount, entered_at,
        spent_on, is_trip, split, title, receipt, request_id, request)
    VALUES (home, person, person, amount, clock_timestamp(), spent_on, true, split, title, receipt,
        request_id, request) RETURNING b.id INTO bill;
    PERFORM household.settle_trip(home, bill, items, prices, split, persons, parts);
    PERFORM household.happened(home, 'trip_completed', person,
        jsonb_build_object('bill_id', bill));
    RETURN bill;
END $$;

-- Changes a trip: its posting is reversed, it is split again, and all are notified. All of these
-- are set as they are given; items that it has no more are open again. Returns the trip's revision.
--   receipt  null leaves it as it is, an empty one takes it away
CREATE OR REPLACE FUNCTION household.edit_trip(
    person bigint, trip bigint, items bigint[], amount bigint, split text, persons bigint[],
    parts bigint[] DEFAULT NULL, prices bigint[] DEFAULT NULL, receipt text DEFAULT NULL
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
BEGIN
    of := household.standing_bill(home, trip, true);
    PERFORM household.expect_bill(amount, 0, of.title, of.spent_on);
    PERFORM errand.expect(items IS NOT NULL, 'items: found null');
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts', 'items'),
        'split: expected equal, items, weights or amounts');
    PERFORM errand.expect(receipt IS NULL OR length(receipt) <= 500,
        'receipt: expected up to 500 characters');
    PERFORM household.expect_bearers(home, trip, persons);
    PERFORM household.reverse_debts(of.transaction_id, 'edited');
    UPDATE household.bills b SET amount = amount, split = split,
        receipt = nullif(coalesce(receipt, of.receipt), ''), revision = of.revision + 1,
        changed_at = clock_timestamp()
    WHERE b.id = trip;
    PERFORM household.settle_trip(home, trip, items, prices, split, persons, parts);
    PERFORM household.happened(home, 'trip_edited', person,
        jsonb_build_object('bill_id', trip, 'revision', of.revision + 1));
    RETURN of.revision + 1;
END $$;

-- Removes a trip that never was: what it posted is reversed, its items are open again, and all are
-- notified. False if it was removed before.
CREATE OR REPLACE FUNCTION household.remove_trip(person bigint, trip bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
BEGIN
    IF EXISTS (SELECT FROM household.bills b
        WHERE b.id = trip AND b.group_id = home AND b.is_trip AND b.is_removed) THEN
        RETURN false;
    END IF;
    of := household.standing_bill(home, trip, true);
    PERFORM household.reverse_debts(of.transaction_id, 'removed');
    PERFORM household.take_items(home, trip, '{}', NULL);
    UPDATE household.bills b SET is_removed = true, transaction_id = NULL,
        changed_at = clock_timestamp()
    WHERE b.id = trip;
    PERFORM household.happened(home, 'trip_removed', person, jsonb_build_object('bill_id', trip));
    RETURN true;
END $$;
