-- Members: which group a person lives in, and who lives there.

-- For what a function looked for and did not find in the person's group.
CREATE OR REPLACE FUNCTION household.refuse_unknown(what text, id bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no % of your group has the id %', what, coalesce(id::text, 'null')
        USING ERRCODE = 'no_data_found';
END $$;

-- The group that a person lives in; refused when they live in none.
CREATE OR REPLACE FUNCTION household.home_of(person bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    home bigint;
BEGIN
    SELECT m.group_id INTO home FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF home IS NULL THEN
        PERFORM errand.refuse('no_group',
            format('person %s is in no group', coalesce(person::text, 'null')),
            'Create a group, or accept an invitation.');
    END IF;
    RETURN home;
END $$;

-- The same, locked until the end of the transaction: with this every function begins that writes.
CREATE OR REPLACE FUNCTION household.enter(person bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    home bigint;
BEGIN
    LOOP
        home := household.home_of(person);
        PERFORM FROM household.groups g WHERE g.id = home FOR NO KEY UPDATE;
        -- They may have moved while this waited.
        IF EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.person_id = person AND m.left_at IS NULL) THEN
            RETURN home;
        END IF;
    END LOOP;
END $$;

-- What a notice calls a person of a group.
CREATE OR REPLACE FUNCTION household.name_of(home bigint, person bigint) RETURNS text
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN coalesce((SELECT CASE WHEN m.is_erased THEN 'Former room-mate' ELSE m.called END
        FROM household.members m
        WHERE m.group_id = home AND m.person_id = person), 'Room-mate ' || person);
END $$;

-- The facts of notices about what somebody does: their name, and in "named" their id, by which the
-- erasure finds who has read the name. A notice that says "former room-mate" names nobody.
CREATE OR REPLACE FUNCTION household.by(home bigint, person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN jsonb_build_object('by', household.name_of(home, person), 'named', to_jsonb(ARRAY(
        SELECT person WHERE NOT EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.person_id = person AND m.is_erased))));
END $$;

-- household.my_group() and household.roommates() read it back.
CREATE OR REPLACE FUNCTION household.set_name(person bigint, called text)
RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM errand.expect(called IS NULL
            OR length(called) BETWEEN 1 AND 50 AND called !~ '[[:cntrl:]]',
        'called: expected 1 to 50 characters in one line');
    UPDATE household.members m SET called = called
    WHERE m.group_id = home AND m.person_id = person;
END $$;
COMMENT ON FUNCTION household.set_name(bigint, text) IS $doc$
Sets the name that the others of the group see in notices. It is read back by household.my_group and
household.roommates.

Arguments:
  person: a member
  called: 1 to 50 characters; null for the person's number
Reasons:
  no_group: the person is in no group
Errors:
  22023: the name is invalid
Repeated: changes nothing more.
Sample:
  SELECT household.set_name(person => 17, called => 'Room 3');
$doc$;

-- An app asks this first.
CREATE OR REPLACE FUNCTION household.my_group(person bigint)
RETURNS TABLE (group_id bigint, name text, time_zone text, currency text, joined_at timestamptz,
    called text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT g.id, g.name, g.time_zone, g.currency, m.joined_at, m.called
    FROM household.members m JOIN household.groups g ON g.id = m.group_id
    WHERE m.person_id = person AND m.left_at IS NULL;
END $$;
COMMENT ON FUNCTION household.my_group(bigint) IS $doc$
Returns the group that a person lives in; no row if they live in none.

Arguments:
  person: the person
Returns:
  group_id: the group's id, for household.paid and household.debt_lines
  name: the group's name
  time_zone: by whose clocks the group's days are
  currency: of all its amounts
  joined_at: when they moved in
  called: the name that the person has set; null for none
Repeated: Reads only.
Sample:
  SELECT group_id, name, currency, called FROM household.my_group(person => 17);
$doc$;

-- Of an erased person nothing is left but the id.
CREATE OR REPLACE FUNCTION household.roommates(person bigint)
RETURNS TABLE (person_id bigint, joined_at timestamptz, left_at timestamptz, is_away boolean,
    called text, is_erased boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT m.person_id, m.joined_at, m.left_at, m.is_away, m.called, m.is_erased
    FROM household.members m
    WHERE m.group_id = household.home_of($1) ORDER BY m.left_at DESC NULLS FIRST, m.joined_at, 1;
END $$;
COMMENT ON FUNCTION household.roommates(bigint) IS $doc$
Lists who lives, and has lived, in the person's group.

Arguments:
  person: a member
Returns:
  person_id: who lives or lived there
  joined_at: when they moved in
  left_at: null for those who live there now
  is_away: whether others get their turns now
  called: the name that they have set; null for none
  is_erased: whether their data was erased; show them as a former room-mate
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT person_id, called, left_at FROM household.roommates(person => 18);
$doc$;
