-- The items of trips, and what each bears for whose they are.

-- Puts items into a trip whose group is locked; those that it had and has no more are open again.
--   prices  one for each item, null where it is not known; or none at all
CREATE OR REPLACE FUNCTION household.take_items(
    home bigint, person bigint, bill bigint, items bigint[], prices bigint[]
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
        -- What only another member sees is as if it were not there.
        AND (i.is_shared OR i.person_id = person OR i.bill_id = bill)
    WHERE i.id IS NULL OR i.state <> 'open' AND i.bill_id IS DISTINCT FROM bill
    ORDER BY u.id LIMIT 1;
    IF taken.id IS NOT NULL AND taken.state IS NULL THEN
        PERFORM household.refuse_unknown('item', taken.id);
    ELSIF taken.id IS NOT NULL THEN
        PERFORM errand.refuse('not_open', format('item %s is %s', taken.id, taken.state)
            || coalesce(format(' by trip %s', taken.bill_id), ''),
            'Read the list again, and leave it out.');
    END IF;
    -- Of who has moved out, nothing goes back to the list.
    UPDATE household.items i SET bill_id = NULL, price = NULL,
        state = CASE WHEN i.is_listed AND (i.person_id IS NULL OR EXISTS (
            SELECT FROM household.members m WHERE m.group_id = home
              AND m.person_id = i.person_id AND m.left_at IS NULL))
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
        PERFORM errand.refuse('not_among',
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
    home bigint, person bigint, bill bigint, items bigint[], prices bigint[], split text,
    persons bigint[], parts bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM household.take_items(home, person, bill, items, prices);
    IF split = 'items' THEN
        PERFORM errand.expect(parts IS NULL, 'parts: expected none where items say it');
        parts := household.item_weights(bill, persons);
    END IF;
    PERFORM household.settle_bill(
        bill, CASE split WHEN 'items' THEN 'weights' ELSE split END, persons, parts);
END $$;
