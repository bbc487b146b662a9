-- The shopping lists, each by itself and merged, and names to select from.

-- The name is the one that was written last.
CREATE OR REPLACE FUNCTION household.shopping_list(person bigint)
RETURNS TABLE (name text, quantity numeric, unit text, items bigint[], persons bigint[],
    is_communal boolean, notes text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT (array_agg(i.name ORDER BY i.id DESC))[1], trim_scale(sum(i.quantity)),
        i.unit, array_agg(i.id ORDER BY i.id),
        coalesce(array_agg(DISTINCT i.person_id) FILTER (WHERE i.person_id IS NOT NULL), '{}'),
        bool_or(i.person_id IS NULL),
        coalesce(array_agg(i.note ORDER BY i.id) FILTER (WHERE i.note IS NOT NULL), '{}')
    FROM household.items i
    WHERE i.group_id = household.home_of($1) AND i.state = 'open' AND i.is_shared
    GROUP BY i.name_key, i.unit ORDER BY i.name_key, i.unit;
END $$;
COMMENT ON FUNCTION household.shopping_list(bigint) IS $doc$
Returns the merged list of the person's group: the communal list and what members share of their own
lists. Equal names add up ("egg" and "Eggs"), with units apart.

Arguments:
  person: a member
Returns:
  name: as it was written last
  quantity: how much in all
  unit: such as kg; empty for pieces
  items: the ids of the items that add up
  persons: whose own some of it is
  is_communal: whether some of it is everybody's
  notes: the notes of the items
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT name, quantity, unit, items, notes FROM household.shopping_list(person => 17);
$doc$;

-- As the items were added, nothing added up.
CREATE OR REPLACE FUNCTION household.communal_list(person bigint)
RETURNS TABLE (item_id bigint, name text, quantity numeric, unit text, note text,
    added_by bigint, added_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.id, i.name, i.quantity, i.unit, i.note, i.added_by, i.added_at
    FROM household.items i
    WHERE i.group_id = household.home_of($1) AND i.state = 'open' AND i.person_id IS NULL
    ORDER BY i.name_key, i.unit, i.id;
END $$;
COMMENT ON FUNCTION household.communal_list(bigint) IS $doc$
Returns the communal list of the person's group by itself: what is everybody's and not bought yet.

Arguments:
  person: a member
Returns:
  item_id: the id of the item
  name: its name
  quantity: how much
  unit: such as kg; empty for pieces
  note: such as the brand; null for none
  added_by: who has added it
  added_at: when it was added
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT item_id, name, quantity, note FROM household.communal_list(person => 18);
$doc$;

-- What others do not see, too.
CREATE OR REPLACE FUNCTION household.my_list(person bigint)
RETURNS TABLE (item_id bigint, name text, quantity numeric, unit text, note text,
    is_shared boolean, added_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.id, i.name, i.quantity, i.unit, i.note, i.is_shared, i.added_at
    FROM household.items i
    WHERE i.group_id = household.home_of($1) AND i.state = 'open' AND i.person_id = $1
    ORDER BY i.name_key, i.unit, i.id;
END $$;
COMMENT ON FUNCTION household.my_list(bigint) IS $doc$
Returns a person's own list by itself: what they want and is not bought yet.

Arguments:
  person: a member
Returns:
  item_id: the id of the item
  name: its name
  quantity: how much
  unit: such as kg; empty for pieces
  note: such as the brand; null for none
  is_shared: whether it is in the merged list, which all see
  added_at: when it was added
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT item_id, name, quantity, note, is_shared FROM household.my_list(person => 18);
$doc$;

-- By the index of what was bought.
CREATE OR REPLACE FUNCTION household.item_names(
    person bigint, starting text DEFAULT '', max_rows int DEFAULT 50
) RETURNS TABLE (name text, unit text, note text, times bigint, last_on date)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT (array_agg(i.name ORDER BY i.id DESC))[1], i.unit,
        (array_agg(i.note ORDER BY i.id DESC)
            FILTER (WHERE i.note IS NOT NULL
                AND (i.person_id IS NULL OR i.person_id = $1)))[1], count(*), max(b.spent_on)
    FROM household.items i JOIN household.bills b ON b.id = i.bill_id
    WHERE i.group_id = household.home_of($1) AND i.state = 'bought'
      AND starts_with(lower(i.name), lower(starting))
    GROUP BY i.name_key, i.unit ORDER BY 5 DESC, 4 DESC, i.name_key, i.unit
    LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION household.item_names(bigint, text, int) IS $doc$
Lists the names of items that the person's group has bought before, to select from: the ones bought
last first.

Arguments:
  person: a member
  starting: only names that begin so, in any case
  max_rows: the maximum number of rows, up to 1000
Returns:
  name: as it was written last
  unit: such as kg; empty for pieces
  note: the last note of a communal item, or of the person's own
  times: how often it was bought
  last_on: the day of the last trip
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT name, unit, times FROM household.item_names(person => 17, starting => 'tom');
$doc$;

-- Nobody is notified twice in an hour: household.rules.
CREATE OR REPLACE FUNCTION household.going_shopping(person bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    UPDATE household.members m SET shopping_at = at
    WHERE m.group_id = home AND m.person_id = person AND (m.shopping_at IS NULL
        OR m.shopping_at <= at - (SELECT r.shopping_cooldown FROM household.rules r));
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM household.happened(home, 'going_shopping', person);
    RETURN true;
END $$;
COMMENT ON FUNCTION household.going_shopping(bigint) IS $doc$
Notifies the others that the person goes shopping, so that they can add what they need.

Arguments:
  person: a member
Returns:
  notified: true; false if the person went shopping within the last hour
Reasons:
  no_group: the person is in no group
Repeated: within an hour, returns false and notifies nobody.
Sample:
  SELECT household.going_shopping(person => 17);
$doc$;
