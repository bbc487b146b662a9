-- Groceries: what is to be bought.

-- By which names of things to buy are equal: whatever their case and white space, and in the
-- singular or the plural. It is compared and never shown, so that it need not be a word.
--
-- Accents distinguish words (pâte, pâté), and a final e does (can, cane). Plurals lose their s or
-- x.
-- Where English adds es, as to peach, box, glass and tomato, the singular may have ended in e, too
-- (quiche, mousse, shoe): there both lose the e. Of ies (berries, cookies) and ie comes y, and of
-- the few that change f into v (loaves), f.
CREATE OR REPLACE FUNCTION household.name_key(name text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    key text := '';
    word text;
BEGIN
    -- Where the database's own rules for case know ASCII alone.
    name := translate(lower(normalize(name)), 'ÀÂÄÁÃÅÇÉÈÊËÍÎÏÌÑÓÔÖÒÕÚÙÛÜÝ’',
        'àâäáãåçéèêëíîïìñóôöòõúùûüý''');
    name := replace(replace(replace(replace(name, 'Œ', 'oe'), 'œ', 'oe'), 'Æ', 'ae'), 'æ', 'ae');
    name := translate(name, U&'\00A0\202F', '  ');
    FOREACH word IN ARRAY regexp_split_to_array(btrim(name, E' \t\n\r'), '[[:space:]]+') LOOP
        word := CASE
            WHEN word ~ '(loa|lea|hal|cal|shel|scar|wol)ves$' THEN left(word, -3) || 'f'
            WHEN word ~ 'knives$' THEN left(word, -3) || 'fe'
            WHEN word ~ '..(ch|sh|ss|x|z|o)es$' THEN left(word, -2)
            WHEN word ~ '..(ch|sh|ss|x|z|o)e$' THEN left(word, -1)
            WHEN word ~ '..ies$' THEN left(word, -3) || 'y'
            WHEN word ~ '..ie$' THEN left(word, -2) || 'y'
            WHEN word ~ '.(eau|yau|ou|eu)x$' THEN left(word, -1)
            WHEN word ~ '.aux$' THEN left(word, -2) || 'l'
            WHEN word ~ '..[^s]s$' THEN left(word, -1)
            ELSE word END;
        key := key || ' ' || word;
    END LOOP;
    RETURN substr(key, 2);
END $$;

-- An error unless an item can be like this.
CREATE OR REPLACE FUNCTION household.expect_item(
    name text, quantity numeric, unit text, note text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]',
        'name: expected 1 to 100 characters in one line');
    PERFORM errand.expect(quantity > 0 AND quantity <= 1000000 AND round(quantity, 3) = quantity,
        'quantity: expected up to 1000000 with three decimals at most, above 0');
    PERFORM errand.expect(length(unit) <= 20 AND unit !~ '[[:cntrl:]]',
        'unit: expected up to 20 characters in one line, such as kg');
    PERFORM errand.expect(note IS NULL OR length(note) BETWEEN 1 AND 200 AND note !~ '[[:cntrl:]]',
        'note: expected 1 to 200 characters in one line');
END $$;

-- What is everybody's has no owner.
CREATE OR REPLACE FUNCTION household.add_item(
    person bigint, name text, is_communal boolean, quantity numeric DEFAULT 1,
    unit text DEFAULT '', note text DEFAULT NULL, is_shared boolean DEFAULT true,
    request_id text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    most CONSTANT int := (SELECT r.max_items FROM household.rules r);
    request CONSTANT bytea := household.digest('item', person::text, name, is_communal::text,
        quantity::text, unit, note, is_shared::text);
    item bigint := household.requested(home, request_id, request);
BEGIN
    IF item IS NOT NULL THEN
        RETURN item;
    END IF;
    IF (SELECT count(*) FROM household.items i
        WHERE i.group_id = home AND i.state = 'open') >= most THEN
        PERFORM errand.refuse('too_many', format('a list has at most %s items', most),
            'Take something off, or complete a trip.');
    END IF;
    name := btrim(name);
    unit := lower(btrim(unit));
    PERFORM household.expect_item(name, quantity, unit, note);
    PERFORM errand.expect(is_communal IS NOT NULL, 'is_communal: found null');
    PERFORM errand.expect(coalesce(is_shared OR NOT is_communal, false),
        'is_shared: expected true for what is communal');
    INSERT INTO household.items AS i (group_id, added_by, person_id, added_at, quantity, name,
        name_key, unit, note, is_shared)
    VALUES (home, person, CASE WHEN NOT is_communal THEN person END, clock_timestamp(),
        trim_scale(quantity), name, household.name_key(name), unit, note, is_shared)
    RETURNING i.id INTO item;
    PERFORM household.remember_request(home, request_id, request, item);
    RETURN item;
END $$;
COMMENT ON FUNCTION household.add_item(
    bigint, text, boolean, numeric, text, text, boolean, text) IS $doc$
Adds an item to the communal list or to the person's own list, and returns its id. An own item is in
the merged list, which all see, unless is_shared is false: then only the person sees it.

Arguments:
  person: a member
  name: 1 to 100 characters; household.item_names has names of earlier items
  is_communal: true for everybody's, false for the person's own
  quantity: above 0, up to 1,000,000, with at most three decimals
  unit: such as kg; empty for pieces
  note: such as the brand, 1 to 200 characters
  is_shared: whether an own item is in the merged list; always true for what is communal
  request_id: names this request, so that it can be repeated; null for none
Returns:
  item: the id of the item
Reasons:
  no_group: the person is in no group
  too_many: the lists of the group are full
Errors:
  22023: an argument is invalid
  23505: the request_id is known, with other content
Repeated: with the same request_id and content, returns the same id and changes nothing; without
  one, adds another.
Sample:
  SELECT household.add_item(person => 17, name => 'Tomatoes', is_communal => true, quantity => 4);
  SELECT household.add_item(person => 18, name => 'tomato', is_communal => false, quantity => 2,
      note => 'the small ones');
  SELECT household.add_item(person => 18, name => 'Birthday cake', is_communal => false,
      is_shared => false);
$doc$;

-- An open item that the person may change, which is locked with its group.
CREATE OR REPLACE FUNCTION household.open_item(home bigint, person bigint, item bigint)
RETURNS household.items LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.items;
BEGIN
    SELECT * INTO of FROM household.items i WHERE i.id = item AND i.group_id = home
      AND (i.is_shared OR i.person_id = person OR i.state = 'bought');
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown('item', item);
    END IF;
    IF of.person_id <> person THEN
        PERFORM errand.refuse('not_yours', format('item %s is that of person %s', item,
            of.person_id), 'They change it themselves.');
    END IF;
    RETURN of;
END $$;

-- Of a trip's items, household.edit_trip_item().
CREATE OR REPLACE FUNCTION household.edit_item(
    person bigint, item bigint, name text DEFAULT NULL, quantity numeric DEFAULT NULL,
    unit text DEFAULT NULL, note text DEFAULT NULL, is_communal boolean DEFAULT NULL,
    is_shared boolean DEFAULT NULL
) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.items;
BEGIN
    of := household.open_item(home, person, item);
    IF of.state <> 'open' THEN
        PERFORM errand.refuse('not_open', format('item %s is %s', item, of.state));
    END IF;
    name := coalesce(btrim(name), of.name);
    quantity := coalesce(quantity, of.quantity);
    unit := coalesce(lower(btrim(unit)), of.unit);
    note := nullif(coalesce(note, of.note), '');
    is_communal := coalesce(is_communal, of.person_id IS NULL);
    is_shared := coalesce(is_shared, of.is_shared OR is_communal);
    PERFORM household.expect_item(name, quantity, unit, note);
    PERFORM errand.expect(is_shared OR NOT is_communal,
        'is_shared: expected true for what is communal');
    UPDATE household.items i SET name = name, name_key = household.name_key(name),
        quantity = trim_scale(quantity), unit = unit, note = note, is_shared = is_shared,
        person_id = CASE WHEN NOT is_communal THEN coalesce(of.person_id, person) END
    WHERE i.id = item;
END $$;
COMMENT ON FUNCTION household.edit_item(
    bigint, bigint, text, numeric, text, text, boolean, boolean) IS $doc$
Changes an item that is not bought yet. Null leaves a fact as it is. What is communal any member may
change, what is somebody's own only they themselves.

Arguments:
  person: a member
  item: the item's id
  name: 1 to 100 characters
  quantity: above 0, up to 1,000,000, with at most three decimals
  unit: such as kg; empty for pieces
  note: such as the brand; an empty text takes it away
  is_communal: true makes it everybody's, false the person's own
  is_shared: whether an own item is in the merged list, which all see
Reasons:
  no_group: the person is in no group
  not_yours: it is another member's own
  not_open: it was bought or taken off
Errors:
  22023: an argument is invalid
  P0002: the group has no such item, or it is one that only another member sees
Repeated: changes nothing more.
Sample:
  SELECT household.edit_item(person => 18, item => 2, quantity => 3, note => 'cherry tomatoes');
$doc$;

-- It is never bought then.
CREATE OR REPLACE FUNCTION household.remove_item(person bigint, item bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.items;
BEGIN
    of := household.open_item(home, person, item);
    UPDATE household.items i SET state = 'removed' WHERE i.id = of.id AND i.state = 'open';
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION household.remove_item(bigint, bigint) IS $doc$
Takes an item off its list. What is communal any member may take off, what is somebody's own only
they themselves.

Arguments:
  person: a member
  item: the item's id
Returns:
  removed: true; false if it was not open
Reasons:
  no_group: the person is in no group
  not_yours: it is another member's own
Errors:
  P0002: the group has no such item, or it is one that only another member sees
Repeated: returns false and changes nothing; so it does for what was bought.
Sample:
  SELECT household.remove_item(person => 17, item => household.add_item(person => 17,
      name => 'Salt', is_communal => true));
$doc$;
