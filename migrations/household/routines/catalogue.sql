-- The catalogue: chores to select from, predetermined ones and those that a group has added.

-- By which titles of chores are equal: whatever their case and white space.
CREATE OR REPLACE FUNCTION household.title_key(title text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT lower(btrim(regexp_replace(normalize(title), '[[:space:]]+', ' ', 'g')))
$$;

-- Keeps the title of a chore for the next time, unless it is predetermined; returns its id in the
-- catalogue. Of too many, the one that was selected the longest ago goes.
CREATE OR REPLACE FUNCTION household.remember_chore(home bigint, title text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    key CONSTANT text := household.title_key(title);
    most CONSTANT int := (SELECT r.max_custom_chores FROM household.rules r);
    entry bigint;
BEGIN
    SELECT c.id INTO entry FROM household.catalogue c
    WHERE c.group_id IS NULL AND c.title_key = key;
    IF FOUND THEN
        RETURN entry;
    END IF;
    INSERT INTO household.catalogue AS c (group_id, used_at, title, title_key)
    VALUES (home, clock_timestamp(), btrim(title), key)
    ON CONFLICT ON CONSTRAINT catalogue_group_id_title_key_key DO UPDATE
    SET used_at = excluded.used_at, title = excluded.title
    RETURNING c.id INTO entry;
    DELETE FROM household.catalogue c WHERE c.id IN (
        SELECT o.id FROM household.catalogue o WHERE o.group_id = home
        ORDER BY o.used_at DESC, o.id DESC OFFSET most);
    RETURN entry;
END $$;

-- Custom ones first, as they were selected last.
CREATE OR REPLACE FUNCTION household.chore_catalogue(person bigint)
RETURNS TABLE (entry_id bigint, title text, code text, is_custom boolean, used_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    home CONSTANT bigint := household.home_of(person);
BEGIN
    RETURN QUERY SELECT c.id, c.title, c.code, c.group_id IS NOT NULL, c.used_at
    FROM household.catalogue c WHERE c.group_id IS NULL OR c.group_id = home
    ORDER BY c.used_at DESC NULLS LAST, c.id;
END $$;
COMMENT ON FUNCTION household.chore_catalogue(bigint) IS $doc$
Lists the chores to select from: those that the group has added itself, the last used first, then
the predetermined ones. A chore that is done or removed stays here for the next time.

Arguments:
  person: a member
Returns:
  entry_id: the id of the entry
  title: for household.add_chore
  code: names a predetermined chore for translation; null for a custom one
  is_custom: whether the group has added it
  used_at: when a custom one was added or selected last
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT title, code, is_custom FROM household.chore_catalogue(person => 17);
$doc$;

-- household.add_chore() does the same.
CREATE OR REPLACE FUNCTION household.add_to_catalogue(person bigint, title text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM errand.expect(length(btrim(title)) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters in one line');
    RETURN household.remember_chore(home, title);
END $$;
COMMENT ON FUNCTION household.add_to_catalogue(bigint, text) IS $doc$
Adds a custom chore to the group's catalogue without adding the chore itself, and returns the
entry's id. household.add_chore adds its title, too. A group keeps 500 custom chores; of more, the
one that was used the longest ago goes.

Arguments:
  person: a member
  title: 1 to 200 characters
Returns:
  entry: the id of the entry
Reasons:
  no_group: the person is in no group
Errors:
  22023: the title is invalid
Repeated: returns the id of the entry with this title, whatever its case and white space.
Sample:
  SELECT household.add_to_catalogue(person => 17, title => 'Descale the kettle');
$doc$;

-- Chores that were made from it stay.
CREATE OR REPLACE FUNCTION household.remove_from_catalogue(person bigint, entry bigint)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    DELETE FROM household.catalogue c WHERE c.id = entry AND c.group_id = home;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION household.remove_from_catalogue(bigint, bigint) IS $doc$
Removes a custom chore from the group's catalogue. Chores with its title stay. Predetermined chores
cannot be removed.

Arguments:
  person: a member
  entry: entry_id of household.chore_catalogue
Returns:
  removed: true; false if the group has no custom entry with this id
Reasons:
  no_group: the person is in no group
Repeated: returns false and changes nothing; so it does for an entry of another group.
Sample:
  SELECT household.remove_from_catalogue(person => 17, entry => household.add_to_catalogue(
      person => 17, title => 'descale  the kettle'));
$doc$;
