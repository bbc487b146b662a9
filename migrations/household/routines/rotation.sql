-- Whose turn it is: see household.turns. Their chore is locked by all who change turns.

-- As many turns as those who are there have had: with so many somebody joins them. The median,
-- because who has taken over many, or has been away for long, is no measure.
CREATE OR REPLACE FUNCTION household.level(chore bigint)
RETURNS int LANGUAGE sql STABLE RETURN coalesce((
    SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t.turns DESC)
    FROM household.turns t JOIN household.chores c ON c.id = t.chore_id
    JOIN household.members m ON m.group_id = c.group_id AND m.person_id = t.person_id
    WHERE t.chore_id = chore AND NOT m.is_away), (
    SELECT max(t.turns) FROM household.turns t WHERE t.chore_id = chore), 0);

-- Sets who takes turns at a chore, in this order. Who did before keeps the turns that they had;
-- what is due of who does no more goes to the next.
CREATE OR REPLACE FUNCTION household.rotate(home bigint, chore bigint, persons bigint[])
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    level CONSTANT int := household.level(chore);
    stranger bigint;
BEGIN
    PERFORM errand.expect(cardinality(persons) BETWEEN 1 AND 200
            AND cardinality(persons) = (SELECT count(DISTINCT p) FROM unnest(persons) p),
        'persons: expected 1 to 200 room-mates, none of them twice');
    SELECT p INTO stranger FROM unnest(persons) p WHERE NOT EXISTS (
        SELECT FROM household.members m
        WHERE m.group_id = home AND m.person_id = p AND m.left_at IS NULL) LIMIT 1;
    IF stranger IS NOT NULL THEN
        PERFORM household.refuse_state(format('person %s is not in your group', stranger),
            'Choose among those who live in it now.');
    END IF;
    DELETE FROM household.turns t WHERE t.chore_id = chore AND t.person_id <> ALL (persons);
    INSERT INTO household.turns AS t (chore_id, person_id, position, turns)
    SELECT chore, u.person, u.position, level
    FROM unnest(persons) WITH ORDINALITY AS u (person, position)
    ON CONFLICT ON CONSTRAINT turns_pkey DO UPDATE SET position = excluded.position;
    PERFORM household.hand_over(o) FROM household.occurrences o
    WHERE o.chore_id = chore AND o.state IN ('due', 'overdue')
      AND (o.assignee_id <> ALL (persons)) IS NOT FALSE;
END $$;

-- Whose turn it is, which counts as taken with this; null when nobody is there.
CREATE OR REPLACE FUNCTION household.next_turn(home bigint, chore bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    assignee bigint;
BEGIN
    UPDATE household.turns t SET turns = t.turns + 1
    WHERE t.chore_id = chore AND t.person_id = (
        SELECT n.person_id FROM household.turns n
        JOIN household.members m ON m.group_id = home AND m.person_id = n.person_id
        WHERE n.chore_id = chore AND NOT m.is_away AND m.left_at IS NULL
        ORDER BY n.turns, n.position LIMIT 1)
    RETURNING t.person_id INTO assignee;
    RETURN assignee;
END $$;

-- Gives what is due to somebody who steps in: the turn counts for them, and not for who had it.
CREATE OR REPLACE FUNCTION household.pass_turn(of household.occurrences, person bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF of.assignee_id = person THEN
        RETURN;
    END IF;
    UPDATE household.turns t
    SET turns = t.turns + CASE t.person_id WHEN person THEN 1 ELSE -1 END
    WHERE t.chore_id = of.chore_id AND t.person_id IN (of.assignee_id, person);
    UPDATE household.occurrences o SET assignee_id = person,
        instead_of = coalesce(o.instead_of, of.assignee_id), reminders = 0,
        remind_at = CASE o.state WHEN 'overdue' THEN clock_timestamp() + interval '1 day'
            ELSE o.remind_at END
    WHERE o.id = of.id;
END $$;

-- Gives what is due to the next who is there, because who had it has gone or is away; the turn is
-- theirs again when they are back.
CREATE OR REPLACE FUNCTION household.hand_over(of household.occurrences)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.turns t SET turns = t.turns - 1
    WHERE t.chore_id = of.chore_id AND t.person_id = of.assignee_id;
    -- They have a day, too, before they are told that it is overdue.
    UPDATE household.occurrences o SET instead_of = coalesce(o.instead_of, of.assignee_id),
        assignee_id = household.next_turn(of.group_id, of.chore_id),
        remind_from = greatest(o.remind_from, clock_timestamp() + interval '1 day'), reminders = 0,
        remind_at = CASE o.state
            WHEN 'overdue' THEN greatest(o.remind_from, clock_timestamp() + interval '1 day')
            ELSE o.remind_at END
    WHERE o.id = of.id;
    PERFORM errand.enqueue('household.tell', jsonb_build_object('event', 'chore_handed_over',
        'group_id', of.group_id, 'chore_id', of.chore_id, 'occurrence_id', of.id,
        'instead_of', of.assignee_id));
END $$;

-- Takes the occurrences of some chores, and has all be told whose turns they are by one job. The
-- arguments are those of household.take_turn(), one of each for each chore. Returns how many.
CREATE OR REPLACE FUNCTION household.take_many(
    chores bigint[], due_on date[], due_at timestamptz[], next_on date[], next_at timestamptz[],
    remind_from timestamptz[] DEFAULT NULL, is_over boolean[] DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    taken jsonb;
BEGIN
    SELECT jsonb_agg(t.id ORDER BY t.id) INTO taken FROM (
        SELECT household.take_turn(u.chore, u.due_on, u.due_at, u.next_on, u.next_at,
            u.remind_from, coalesce(u.is_over, false)) AS id
        FROM unnest(chores, due_on, due_at, next_on, next_at, remind_from, is_over)
            AS u (chore, due_on, due_at, next_on, next_at, remind_from, is_over)
        OFFSET 0) t
    WHERE t.id IS NOT NULL;
    IF taken IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM errand.enqueue('household.tell',
        jsonb_build_object('event', 'chore_due', 'occurrence_ids', taken));
    RETURN jsonb_array_length(taken);
END $$;

-- The same of one chore; null when nothing was taken.
CREATE OR REPLACE FUNCTION household.take(
    chore bigint, due_on date, due_at timestamptz, next_on date DEFAULT NULL,
    next_at timestamptz DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF household.take_many(ARRAY[chore], ARRAY[due_on], ARRAY[due_at], ARRAY[next_on],
        ARRAY[next_at]) = 0 THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT o.id FROM household.occurrences o
        WHERE o.chore_id = chore AND o.due_on = due_on);
END $$;

-- Moves what was computed by other rules of a zone: when chores come next, as of
-- household.plan_chore(), and from when turns are overdue that are not yet.
CREATE OR REPLACE FUNCTION household.move_times(
    chores bigint[], next_at timestamptz[], turns bigint[], due_at timestamptz[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.chores c SET next_at = u.next_at
    FROM unnest(chores, next_at) AS u (id, next_at)
    WHERE c.id = u.id AND c.next_on IS NOT NULL AND c.next_at <> u.next_at;
    UPDATE household.occurrences o SET due_at = u.due_at, remind_at = u.due_at,
        remind_from = o.remind_from + (u.due_at - o.due_at)
    FROM unnest(turns, due_at) AS u (id, due_at)
    WHERE o.id = u.id AND o.state = 'due' AND o.due_at <> u.due_at;
END $$;

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
        WHERE c.group_id = home AND NOT c.is_removed
          AND EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.left_at IS NULL)
          AND NOT EXISTS (SELECT FROM household.turns t WHERE t.chore_id = c.id)
    LOOP
        PERFORM household.fail_chore(stopped.id, stopped.plan,
            'Nobody who takes turns lives here any more: say who does.');
    END LOOP;
END $$;

-- Sets who takes turns at a chore, in this order.
--   is_for_all  whether who moves in later takes part
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

-- Says that a member is away, or back. Chores go to the others meanwhile; they make up for the
-- turns that they missed when they are back, unless forgive_turns() is called. False when it was
-- so before.
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

-- Forgives another member the turns that they still owe at a chore; returns how many.
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
        PERFORM household.refuse_state(
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
