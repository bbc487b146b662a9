-- Who takes turns at a chore: joined, left, away, and forgiven.

-- Lets a new member take part in what is for all, as the last.
CREATE OR REPLACE FUNCTION household.join_rotations(home bigint, person bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    nobodys bigint[];
BEGIN
    PERFORM FROM household.chores c WHERE c.group_id = home AND NOT c.is_removed
    ORDER BY c.id FOR NO KEY UPDATE;
    nobodys := ARRAY(
        SELECT c.id FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed AND c.is_for_all AND c.fault IS NOT NULL
          AND NOT EXISTS (SELECT FROM household.turns t WHERE t.chore_id = c.id)
        ORDER BY c.id);
    INSERT INTO household.turns (chore_id, person_id, position, turns)
    SELECT c.id, person, 1 + coalesce((
            SELECT max(t.position) FROM household.turns t WHERE t.chore_id = c.id), 0),
        household.level(c.id)
    FROM household.chores c
    WHERE c.group_id = home AND NOT c.is_removed AND c.is_for_all;
    -- What nobody was there for.
    PERFORM household.hand_over(o)
    FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
    WHERE c.group_id = home AND NOT c.is_removed AND c.is_for_all
      AND o.state IN ('due', 'overdue') AND o.assignee_id IS NULL;
    PERFORM household.replan(n.chore) FROM unnest(nobodys) AS n (chore);
END $$;

-- Takes a member who leaves out of all chores; what was due of them goes to the next. Chores of
-- which nobody else takes turns do not come any more, until the others say who does.
CREATE OR REPLACE FUNCTION household.leave_rotations(home bigint, person bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.occurrences;
    stopped household.chores;
BEGIN
    PERFORM FROM household.chores c WHERE c.group_id = home AND NOT c.is_removed
    ORDER BY c.id FOR NO KEY UPDATE;
    DELETE FROM household.turns t USING household.chores c
    WHERE c.group_id = home AND NOT c.is_removed AND t.chore_id = c.id AND t.person_id = person;
    FOR of IN SELECT o.* FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
        WHERE c.group_id = home AND NOT c.is_removed AND o.assignee_id = person
          AND o.state IN ('due', 'overdue') ORDER BY o.id
    LOOP
        PERFORM household.hand_over(of);
    END LOOP;
    FOR stopped IN SELECT * FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed AND c.starts_on IS NOT NULL
          AND EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.left_at IS NULL)
          AND NOT EXISTS (SELECT FROM household.turns t WHERE t.chore_id = c.id)
    LOOP
        PERFORM household.fail_chore(stopped.id, stopped.plan,
            'Nobody who takes turns lives here any more: say who does.');
    END LOOP;
END $$;

-- Who did before keeps the turns that they had.
CREATE OR REPLACE FUNCTION household.set_rotation(
    person bigint, chore bigint, persons bigint[], is_for_all boolean
) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    was_nobodys boolean;
BEGIN
    PERFORM household.standing_chore(home, chore);
    PERFORM errand.expect(is_for_all IS NOT NULL, 'is_for_all: found null');
    SELECT c.fault IS NOT NULL  -- such as that nobody did it
        OR NOT EXISTS (SELECT FROM household.turns t WHERE t.chore_id = chore)
    INTO was_nobodys FROM household.chores c WHERE c.id = chore;
    PERFORM household.rotate(home, chore, persons);
    IF was_nobodys THEN
        PERFORM household.replan(chore);
    END IF;
    UPDATE household.chores c SET is_for_all = is_for_all WHERE c.id = chore;
    PERFORM household.happened(home, 'rotation_changed', person,
        jsonb_build_object('chore_id', chore));
END $$;
COMMENT ON FUNCTION household.set_rotation(bigint, bigint, bigint[], boolean) IS $doc$
Sets who takes turns at a chore, and in which order, and notifies the others. An open turn of
somebody who takes none any more goes to the next one.

Arguments:
  person: a member
  chore: the chore's id
  persons: who takes turns, in this order
  is_for_all: whether who joins later takes turns, too
Reasons:
  no_group: the person is in no group
  not_a_member: one of the persons does not live in the group
Errors:
  22023: an argument is invalid
  P0002: the group has no chore with this id
Repeated: changes nothing more, and notifies again.
Sample:
  SELECT household.set_rotation(person => 17, chore => 1, persons => '{19,17,18}',
      is_for_all => true);
$doc$;

-- Their open turns go to the others, and come back as household.forgive_turns() says.
CREATE OR REPLACE FUNCTION household.set_away(person bigint, is_away boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    PERFORM errand.expect(is_away IS NOT NULL, 'is_away: found null');
    PERFORM FROM household.chores c WHERE c.group_id = home AND NOT c.is_removed
    ORDER BY c.id FOR NO KEY UPDATE;
    UPDATE household.members m SET is_away = is_away
    WHERE m.group_id = home AND m.person_id = person AND m.is_away <> is_away;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Back: they take what nobody was there for.
    FOR of IN SELECT o.* FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
        WHERE c.group_id = home AND NOT c.is_removed AND o.state IN ('due', 'overdue')
          AND CASE WHEN is_away THEN o.assignee_id = person ELSE o.assignee_id IS NULL END
        ORDER BY o.id
    LOOP
        PERFORM household.hand_over(of);
    END LOOP;
    PERFORM household.happened(home, CASE WHEN is_away THEN 'away' ELSE 'back' END, person);
    RETURN true;
END $$;
COMMENT ON FUNCTION household.set_away(bigint, boolean) IS $doc$
Says that a member is away, or back, and notifies the others. Chores go to the others meanwhile;
afterwards the member makes up for the missed turns, unless another member forgives them.

Arguments:
  person: a member
  is_away: whether they are away
Returns:
  changed: true; false if it was so before
Reasons:
  no_group: the person is in no group
Errors:
  22023: is_away is null
Repeated: returns false and changes nothing.
Sample:
  SELECT household.set_away(person => 18, is_away => true);
$doc$;

-- Nobody forgives themselves.
CREATE OR REPLACE FUNCTION household.forgive_turns(person bigint, chore bigint, member bigint)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    forgiven int;
BEGIN
    PERFORM household.standing_chore(home, chore);
    PERFORM errand.expect(person <> member, 'member: expected another one, who owes turns');
    forgiven := (SELECT r.owed FROM household.rotation_of(chore) r WHERE r.person_id = member);
    IF forgiven IS NULL THEN
        PERFORM errand.refuse('no_turns',
            format('person %s takes no turns at chore %s', member, chore));
    END IF;
    UPDATE household.turns t SET turns = t.turns + forgiven
    WHERE t.chore_id = chore AND t.person_id = member AND forgiven > 0;
    IF FOUND THEN
        PERFORM household.happened(home, 'turns_forgiven', person,
            jsonb_build_object('chore_id', chore, 'member_id', member));
    END IF;
    RETURN forgiven;
END $$;
COMMENT ON FUNCTION household.forgive_turns(bigint, bigint, bigint) IS $doc$
Forgives another member the turns that they are behind the others at a chore, and notifies the
others. Returns how many these were.

Arguments:
  person: who forgives
  chore: the chore's id
  member: who is forgiven, not the person
Returns:
  turns: how many turns are forgiven
Reasons:
  no_group: the person is in no group
  no_turns: the member takes no turns at this chore
Errors:
  22023: the member is the person
  P0002: the group has no chore with this id
Repeated: returns 0 and changes nothing.
Sample:
  SELECT household.forgive_turns(person => 17, chore => 1, member => 18);
$doc$;

-- Who takes turns at a chore, who has it next first as it stands now.
--   owed  turns that they are behind the others, because they were away or somebody stepped in
CREATE OR REPLACE FUNCTION household.rotation_of(chore bigint)
RETURNS TABLE (person_id bigint, turns int, owed int, is_away boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    -- Who is the last of a round is one behind the others, and owes nothing.
    RETURN QUERY SELECT t.person_id, t.turns, greatest(coalesce((
            SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY o.turns DESC)
            FROM household.turns o
            JOIN household.members p ON p.group_id = c.group_id AND p.person_id = o.person_id
            WHERE o.chore_id = c.id AND o.person_id <> t.person_id AND NOT p.is_away), 0)
            - 1 - t.turns, 0), m.is_away
    FROM household.chores c JOIN household.turns t ON t.chore_id = c.id
    JOIN household.members m ON m.group_id = c.group_id AND m.person_id = t.person_id
    WHERE c.id = $1 ORDER BY m.is_away, t.turns, t.position;
END $$;

-- The same for a member.
CREATE OR REPLACE FUNCTION household.rotation(person bigint, chore bigint)
RETURNS TABLE (person_id bigint, turns int, owed int, is_away boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT r.* FROM household.chores c CROSS JOIN LATERAL household.rotation_of(c.id) r
    WHERE c.id = chore AND c.group_id = household.home_of($1);
END $$;
COMMENT ON FUNCTION household.rotation(bigint, bigint) IS $doc$
Lists who takes turns at a chore of the person's group, the next one first.

Arguments:
  person: a member
  chore: the chore's id
Returns:
  person_id: the member
  turns: how many they have had, or as if they had been there since the beginning
  owed: how many they are behind the others
  is_away: whether others get their turns now
Reasons:
  no_group: the person is in no group
Repeated: Reads only. No rows for a chore of another group.
Sample:
  SELECT person_id, turns, owed, is_away FROM household.rotation(person => 17, chore => 1);
$doc$;
