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

-- Puts something on the list; returns its id.
--   is_communal  everybody's; else the person's own
--   unit         such as kg; empty for pieces
CREATE OR REPLACE FUNCTION household.add_item(
    person bigint, name text, is_communal boolean, quantity numeric DEFAULT 1,
    unit text DEFAULT ''
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    most CONSTANT int := (SELECT r.max_items FROM household.rules r);
    item bigint;
BEGIN
    IF (SELECT count(*) FROM household.items i
        WHERE i.group_id = home AND i.state = 'open') >= most THEN
        PERFORM household.refuse_state(format('a list has at most %s items', most),
            'Take something off, or complete a trip.');
    END IF;
    name := btrim(name);
    unit := lower(btrim(unit));
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]',
        'name: expected 1 to 100 characters in one line');
    PERFORM errand.expect(quantity > 0 AND quantity <= 1000000 AND round(quantity, 3) = quantity,
        'quantity: expected up to 1000000 with three decimals at most, above 0');
    PERFORM errand.expect(length(unit) <= 20 AND unit !~ '[[:cntrl:]]',
        'unit: expected up to 20 characters in one line, such as kg');
    PERFORM errand.expect(is_communal IS NOT NULL, 'is_communal: found null');
    INSERT INTO household.items AS i (group_id, added_by, person_id, added_at, quantity, name,
        name_key, unit)
    VALUES (home, person, CASE WHEN NOT is_communal THEN person END, clock_timestamp(),
        trim_scale(quantity), name, household.name_key(name), unit)
    RETURNING i.id INTO item;
    PERFORM household.happened(home, 'item_added', person, jsonb_build_object('item_id', item),
        false);
    RETURN item;
END $$;

-- Takes something off the list that is not bought; false when it was off before. What is somebody's
-- own they take off themselves.
CREATE OR REPLACE FUNCTION household.remove_item(person bigint, item bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.items;
BEGIN
    SELECT * INTO of FROM household.items i WHERE i.id = item AND i.group_id = home;
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown('item', item);
    END IF;
    IF of.person_id <> person THEN
        PERFORM household.refuse_state(format('item %s is that of person %s', item, of.person_id),
            'They take it off themselves.');
    END IF;
    UPDATE household.items i SET state = 'removed' WHERE i.id = item AND i.state = 'open';
    RETURN FOUND;
END $$;

-- The list of the person's group: what is open, equal names added up, units apart.
--   name     as it was written last
--   persons  whose own it is, of some of it
CREATE OR REPLACE FUNCTION household.shopping_list(person bigint)
RETURNS TABLE (name text, quantity numeric, unit text, items bigint[], persons bigint[],
    is_communal boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT (array_agg(i.name ORDER BY i.id DESC))[1], trim_scale(sum(i.quantity)),
        i.unit, array_agg(i.id ORDER BY i.id),
        coalesce(array_agg(DISTINCT i.person_id) FILTER (WHERE i.person_id IS NOT NULL), '{}'),
        bool_or(i.person_id IS NULL)
    FROM household.items i
    WHERE i.group_id = household.home_of($1) AND i.state = 'open'
    GROUP BY i.name_key, i.unit ORDER BY i.name_key, i.unit;
END $$;

-- Notifies all that the person goes shopping; false, without a notice, if they did recently.
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
