-- Trips to the shop, whose cost is split like a bill's.

-- What was bought leaves the lists.
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
        to_char(spent_on, 'YYYY-MM-DD'), split, persons::text, parts::text, prices::text, receipt,
        title);
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
    PERFORM household.expect_picture('receipt', receipt);
    persons := coalesce(persons, ARRAY(SELECT m.person_id FROM household.members m
        WHERE m.group_id = home AND m.left_at IS NULL ORDER BY 1));
    PERFORM household.expect_bearers(home, NULL, persons);
    INSERT INTO household.bills AS b (group_id, payer_id, entered_by, amount, entered_at,
        spent_on, is_trip, split, title, receipt, request_id, request)
    VALUES (home, person, person, amount, clock_timestamp(), spent_on, true, split, title, receipt,
        request_id, request) RETURNING b.id INTO bill;
    PERFORM household.settle_trip(home, person, bill, items, prices, split, persons, parts);
    PERFORM household.happened(home, 'trip_completed', person,
        jsonb_build_object('bill_id', bill));
    RETURN bill;
END $$;
COMMENT ON FUNCTION household.complete_trip(bigint, bigint[], bigint, text, date, text, bigint[],
    bigint[], bigint[], text, text) IS $doc$
Completes a trip to the shop: takes what was bought off the lists, splits its cost, and notifies
all. What was bought and was on no list is added with household.add_trip_item. Returns the trip's
id.

Arguments:
  person: who was shopping and has paid
  items: ids of open items, in any number; empty for none
  amount: what was paid, in minor units; 0 if there is nothing to share
  request_id: names this request, so that it can be repeated; unique in the group
  spent_on: the day, by the clocks of the group
  split: equal, weights, amounts, or items: each bears their own items and a share of the communal
    ones
  persons: who bears it; null for all who live in the group
  parts: for weights and amounts, one for each of the persons; null otherwise
  prices: one for each of the items, or null where it is not known; null for none
  receipt: where the app keeps a picture of it: an id or an address, never the picture itself
  title: what it is called, 1 to 200 characters
Returns:
  trip: the id of the trip
Reasons:
  no_group: the person is in no group
  not_a_member: one of the persons does not live in the group
  not_open: an item was bought or taken off meanwhile
  not_among: a member has items in the trip and is not among the persons of a split by items
Errors:
  22023: an argument is invalid
  23505: the request_id is known, with other content
  P0002: the group has no such item, or it is one that only another member sees
Repeated: with the same request_id and content, returns the same id and changes nothing.
Sample:
  SELECT household.complete_trip(person => 17, items => '{1,2}', amount => 640,
      request_id => 'trip-1', spent_on => current_date, split => 'items', prices => '{400,240}',
      receipt => 'receipts/market.jpg');
$doc$;

-- Its posting is reversed, and it is split again.
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
    PERFORM household.expect_picture('receipt', nullif(receipt, ''));
    PERFORM household.expect_bearers(home, trip, persons);
    PERFORM household.reverse_debts(of.transaction_id, 'edited');
    UPDATE household.bills b SET amount = amount, split = split,
        receipt = nullif(coalesce(receipt, of.receipt), ''), revision = of.revision + 1,
        changed_at = clock_timestamp()
    WHERE b.id = trip;
    PERFORM household.settle_trip(home, person, trip, items, prices, split, persons, parts);
    PERFORM household.happened(home, 'trip_edited', person,
        jsonb_build_object('bill_id', trip, 'revision', of.revision + 1));
    RETURN of.revision + 1;
END $$;
COMMENT ON FUNCTION household.edit_trip(
    bigint, bigint, bigint[], bigint, text, bigint[], bigint[], bigint[], text) IS $doc$
Changes a trip: its posting is reversed, it is split again, and all are notified. All facts but the
receipt are set as they are given. Items that it has no more are open again. Single items are
changed with household.edit_trip_item. Returns the trip's revision.

Arguments:
  person: a member
  trip: the trip's id
  items: ids of its items and of open ones
  amount: what was paid, in minor units
  split: equal, weights, amounts or items
  persons: who bears it
  parts: for weights and amounts, one for each of the persons
  prices: one for each of the items, or null where it is not known
  receipt: where the app keeps a picture; null leaves it as it is, an empty text takes it away
Returns:
  revision: the trip's revision
Reasons:
  no_group: the person is in no group
  not_a_member: one of the persons is not in the group, and bore nothing before
  not_open: an item was taken off, or bought by another trip
  not_among: a member has items in the trip and is not among the persons of a split by items
  removed: the trip was removed
Errors:
  22023: an argument is invalid
  P0002: the group has no trip or item with this id
Repeated: posts the same again, and notifies again.
Sample:
  SELECT household.edit_trip(person => 18, trip => 3, items => '{1,2}', amount => 660,
      split => 'items', persons => '{17,18,19}', prices => '{400,260}');
$doc$;

-- Its items are open again.
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
    PERFORM household.take_items(home, person, trip, '{}', NULL);
    UPDATE household.bills b SET is_removed = true, transaction_id = NULL,
        changed_at = clock_timestamp()
    WHERE b.id = trip;
    PERFORM household.happened(home, 'trip_removed', person, jsonb_build_object('bill_id', trip));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.remove_trip(bigint, bigint) IS $doc$
Removes a trip that never was: what it posted is reversed, its items are open again, and all are
notified.

Arguments:
  person: a member
  trip: the trip's id
Returns:
  removed: true; false if it was removed before
Reasons:
  no_group: the person is in no group
Errors:
  P0002: the group has no trip with this id
Repeated: returns false and changes nothing.
Sample:
  SELECT household.remove_trip(person => 17, trip => household.complete_trip(person => 17,
      items => '{}', amount => 500, request_id => 'trip-2', spent_on => current_date));
$doc$;

-- With all of their items.
CREATE OR REPLACE FUNCTION household.trips(
    person bigint, before_on date DEFAULT 'infinity',
    before_id bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 50
) RETURNS TABLE (trip_id bigint, spent_on date, title text, amount bigint, payer_id bigint,
    split text, receipt text, revision int, persons bigint[], shares bigint[], items jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT b.id, b.spent_on, b.title, b.amount, b.payer_id, b.split, b.receipt,
        b.revision, s.persons, s.shares, i.items
    FROM household.bills b CROSS JOIN LATERAL (
        SELECT array_agg(s.person_id ORDER BY s.person_id) AS persons,
            array_agg(s.amount ORDER BY s.person_id) AS shares
        FROM household.shares s WHERE s.bill_id = b.id AND s.revision = b.revision
    ) s CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(jsonb_build_object('item_id', i.id, 'name', i.name,
                'quantity', i.quantity, 'unit', i.unit, 'note', i.note, 'price', i.price,
                'owner_id', i.person_id) ORDER BY i.id), '[]') AS items
        FROM household.items i WHERE i.bill_id = b.id
    ) i
    WHERE b.group_id = household.home_of($1) AND b.is_trip AND NOT b.is_removed
      AND (b.spent_on, b.id) < (before_on, before_id)
    ORDER BY b.spent_on DESC, b.id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION household.trips(bigint, date, bigint, int) IS $doc$
Lists the completed trips of the person's group with their items, the newest first. For the next
page, pass spent_on and trip_id of the last row.

Arguments:
  person: a member
  before_on: only trips of this day and earlier
  before_id: of that day, only trips with smaller ids
  max_rows: the maximum number of rows, up to 1000
Returns:
  trip_id: the id of the trip
  spent_on: the day
  title: what it is called
  amount: minor units
  payer_id: who was shopping
  split: equal, weights, amounts or items
  receipt: where the app keeps a picture; null for none
  revision: how often its money was set
  persons: who bears it
  shares: what each of the persons bears, in minor units
  items: an array of objects with item_id, name, quantity, unit, note, price, and owner_id, which
    is null for what was communal
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT trip_id, spent_on, amount, jsonb_array_length(items) AS items
  FROM household.trips(person => 19);
$doc$;
