-- The items of completed trips: read, added, revised and deleted one by one.

-- After its items have changed: splits it again, if it is split by them, and notifies all. Returns
-- its revision.
CREATE OR REPLACE FUNCTION household.resplit_trip(
    home bigint, of household.bills, person bigint) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    revision CONSTANT int := of.revision + (of.split = 'items')::int;
    persons bigint[];
BEGIN
    UPDATE household.bills b SET revision = revision, changed_at = clock_timestamp()
    WHERE b.id = of.id;
    IF of.split = 'items' THEN
        persons := ARRAY(SELECT s.person_id FROM household.shares s
            WHERE s.bill_id = of.id AND s.revision = of.revision ORDER BY 1);
        PERFORM household.reverse_debts(of.transaction_id, 'edited');
        PERFORM household.settle_bill(of.id, 'weights', persons,
            household.item_weights(of.id, persons));
    END IF;
    PERFORM household.happened(home, 'trip_edited', person,
        jsonb_build_object('bill_id', of.id, 'revision', revision));
    RETURN revision;
END $$;

-- An item of a completed trip of the person's group; unknown when it is open or removed.
CREATE OR REPLACE FUNCTION household.bought_item(home bigint, item bigint)
RETURNS household.items LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.items;
BEGIN
    SELECT * INTO of FROM household.items i
    WHERE i.id = item AND i.group_id = home AND i.state = 'bought';
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown('bought item', item);
    END IF;
    RETURN of;
END $$;

-- It was on no list.
CREATE OR REPLACE FUNCTION household.add_trip_item(
    person bigint, trip bigint, name text, quantity numeric DEFAULT 1, unit text DEFAULT '',
    price bigint DEFAULT NULL, owner bigint DEFAULT NULL, note text DEFAULT NULL,
    request_id text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
    request CONSTANT bytea := household.digest('trip item', person::text, trip::text, name,
        quantity::text, unit, price::text, owner::text, note);
    item bigint := household.requested(home, request_id, request);
BEGIN
    IF item IS NOT NULL THEN
        RETURN item;
    END IF;
    of := household.standing_bill(home, trip, true);
    name := btrim(name);
    unit := lower(btrim(unit));
    PERFORM household.expect_item(name, quantity, unit, note);
    PERFORM household.expect_price(price);
    PERFORM household.expect_bearers(home, trip, array_remove(ARRAY[owner], NULL));
    IF (SELECT count(*) FROM household.items i WHERE i.bill_id = trip) >= 1000 THEN
        PERFORM errand.refuse('too_many', 'a trip has at most 1000 items');
    END IF;
    INSERT INTO household.items AS i (group_id, added_by, person_id, bill_id, price, added_at,
        state, quantity, name, name_key, unit, note, is_listed)
    VALUES (home, person, owner, trip, price, clock_timestamp(), 'bought', trim_scale(quantity),
        name, household.name_key(name), unit, note, false)
    RETURNING i.id INTO item;
    PERFORM household.remember_request(home, request_id, request, item);
    PERFORM household.resplit_trip(home, of, person);
    RETURN item;
END $$;
COMMENT ON FUNCTION household.add_trip_item(
    bigint, bigint, text, numeric, text, bigint, bigint, text, text) IS $doc$
Adds an item that was on no list to a completed trip, and notifies all. A trip that is split by
items is split again; its amount stays. Returns the item's id.

Arguments:
  person: a member
  trip: the trip's id
  name: 1 to 100 characters
  quantity: above 0, up to 1,000,000, with at most three decimals
  unit: such as kg; empty for pieces
  price: minor units, up to 10^10; null if it is not known
  owner: whose it is; null for everybody's
  note: such as the brand, 1 to 200 characters
  request_id: names this request, so that it can be repeated; null for none
Returns:
  item: the id of the item
Reasons:
  no_group: the person is in no group
  not_a_member: the owner is not in the group, and bore nothing of the trip
  not_among: the owner is not among those who bear the trip, which is split by items
  removed: the trip was removed
  too_many: the trip has 1,000 items
Errors:
  22023: an argument is invalid
  23505: the request_id is known, with other content
  P0002: the group has no trip with this id
Repeated: with the same request_id and content, returns the same id and changes nothing; without
  one, adds another.
Sample:
  SELECT household.add_trip_item(person => 17, trip => 3, name => 'Basil', price => 150);
$doc$;

CREATE OR REPLACE FUNCTION household.expect_price(price bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(price IS NULL OR price BETWEEN 0 AND 10000000000,
        'price: expected minor units from 0 to 10^10');
END $$;

-- Whose it is stays: household.remove_trip_item() and household.add_trip_item() change it.
CREATE OR REPLACE FUNCTION household.edit_trip_item(
    person bigint, item bigint, name text DEFAULT NULL, quantity numeric DEFAULT NULL,
    unit text DEFAULT NULL, price bigint DEFAULT NULL, note text DEFAULT NULL
) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of CONSTANT household.items := household.bought_item(home, item);
    trip CONSTANT household.bills := household.standing_bill(home, of.bill_id, true);
BEGIN
    name := coalesce(btrim(name), of.name);
    quantity := coalesce(quantity, of.quantity);
    unit := coalesce(lower(btrim(unit)), of.unit);
    note := nullif(coalesce(note, of.note), '');
    PERFORM household.expect_item(name, quantity, unit, note);
    PERFORM household.expect_price(price);
    UPDATE household.items i SET name = name, name_key = household.name_key(name),
        quantity = trim_scale(quantity), unit = unit, note = note,
        price = coalesce(price, of.price)
    WHERE i.id = item;
    RETURN household.resplit_trip(home, trip, person);
END $$;
COMMENT ON FUNCTION household.edit_trip_item(
    bigint, bigint, text, numeric, text, bigint, text) IS $doc$
Revises an item of a completed trip, and notifies all. Null leaves a fact as it is. A trip that is
split by items is split again; its amount stays. Returns the trip's revision.

Arguments:
  person: a member
  item: the item's id
  name: 1 to 100 characters
  quantity: above 0, up to 1,000,000, with at most three decimals
  unit: such as kg; empty for pieces
  price: minor units, up to 10^10
  note: such as the brand; an empty text takes it away
Returns:
  revision: the trip's revision
Reasons:
  no_group: the person is in no group
  removed: the trip was removed
Errors:
  22023: an argument is invalid
  P0002: the group has bought no item with this id
Repeated: changes nothing more, and notifies again.
Sample:
  SELECT household.edit_trip_item(person => 18, item => i.item_id, quantity => 2)
  FROM household.trip_items(person => 18, trip => 3) i WHERE i.name = 'Basil';
$doc$;

-- What was on a list goes back to it only if that is asked for.
CREATE OR REPLACE FUNCTION household.remove_trip_item(
    person bigint, item bigint, is_still_needed boolean DEFAULT false
) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of CONSTANT household.items := household.bought_item(home, item);
    trip CONSTANT household.bills := household.standing_bill(home, of.bill_id, true);
BEGIN
    PERFORM errand.expect(is_still_needed IS NOT NULL, 'is_still_needed: found null');
    UPDATE household.items i SET bill_id = NULL, price = NULL, is_listed = is_still_needed,
        -- Of who has moved out, nothing goes back to the list.
        state = CASE WHEN is_still_needed AND (of.person_id IS NULL OR EXISTS (
            SELECT FROM household.members m WHERE m.group_id = home
              AND m.person_id = of.person_id AND m.left_at IS NULL))
            THEN 'open' ELSE 'removed' END::household.item_state
    WHERE i.id = item;
    RETURN household.resplit_trip(home, trip, person);
END $$;
COMMENT ON FUNCTION household.remove_trip_item(bigint, bigint, boolean) IS $doc$
Deletes an item of a completed trip, and notifies all. A trip that is split by items is split again;
its amount stays. Returns the trip's revision.

Arguments:
  person: a member
  item: the item's id
  is_still_needed: whether it goes (back) to the list, because it was not bought after all
Returns:
  revision: the trip's revision
Reasons:
  no_group: the person is in no group
  removed: the trip was removed
Errors:
  22023: it is the last item of a trip that is split by items
  P0002: the group has bought no item with this id
Repeated: raises P0002.
Sample:
  SELECT household.remove_trip_item(person => 18, item => i.item_id)
  FROM household.trip_items(person => 18, trip => 3) i WHERE i.name = 'Basil';
$doc$;

-- Also of a trip that was read long ago.
CREATE OR REPLACE FUNCTION household.trip_items(person bigint, trip bigint)
RETURNS TABLE (item_id bigint, name text, quantity numeric, unit text, note text, price bigint,
    owner_id bigint, added_by bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.id, i.name, i.quantity, i.unit, i.note, i.price, i.person_id, i.added_by
    FROM household.items i
    WHERE i.bill_id = trip AND i.group_id = household.home_of($1) ORDER BY i.id;
END $$;
COMMENT ON FUNCTION household.trip_items(bigint, bigint) IS $doc$
Lists the items of one completed trip of the person's group.

Arguments:
  person: a member
  trip: the trip's id
Returns:
  item_id: the id of the item
  name: its name
  quantity: how much
  unit: such as kg; empty for pieces
  note: such as the brand; null for none
  price: minor units; null if it is not known
  owner_id: whose it is; null for everybody's
  added_by: who has put it on the list, or added it to the trip
Reasons:
  no_group: the person is in no group
Repeated: Reads only. No rows for a trip of another group.
Sample:
  SELECT item_id, name, quantity, price, owner_id FROM household.trip_items(person => 17,
      trip => 3);
$doc$;
