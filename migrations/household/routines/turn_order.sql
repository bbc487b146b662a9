-- Whose turn it is: see household.turns. Their chore is locked by all who change turns.

-- The number of turns with which a new member begins: the number that the others have had. The
-- median, because who has taken over many, or has been away for long, is no measure.
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
        PERFORM errand.refuse('not_a_member', format('person %s is not in your group', stranger),
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
    -- They have a day, too, before the notice that it is overdue.
    UPDATE household.occurrences o SET instead_of = coalesce(o.instead_of, of.assignee_id),
        assignee_id = household.next_turn(of.group_id, of.chore_id),
        remind_from = greatest(o.remind_from, clock_timestamp() + interval '1 day'), reminders = 0,
        remind_at = CASE o.state
            WHEN 'overdue' THEN greatest(o.remind_from, clock_timestamp() + interval '1 day')
            ELSE o.remind_at END
    WHERE o.id = of.id;
    -- Nobody waits for what has no day.
    IF of.due_at IS NOT NULL THEN
        PERFORM errand.enqueue_own('household.notify', jsonb_build_object(
            'event', 'chore_handed_over', 'group_id', of.group_id, 'chore_id', of.chore_id,
            'occurrence_id', of.id, 'instead_of', of.assignee_id));
    END IF;
END $$;

-- Takes the occurrences of some chores, and notifies all whose turns they are by one job. The
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
    PERFORM errand.enqueue_own('household.notify',
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
