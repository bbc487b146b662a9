-- When chores fall due, and what becomes of that. The rules of RFC 5545 are followed by jobs: SQL
-- receives the next day and instant of each chore, and stores them.

-- What a job needs to know that finds out when a chore comes next: of one that is not removed,
-- whose plan is still this, and that does not wait for what is due of it.
CREATE OR REPLACE FUNCTION household.chore_to_plan(chore bigint, plan int)
RETURNS TABLE (starts_on date, at_time time, rule text, mode text, after_days smallint,
    time_zone text, last_on date, last_ended_at timestamptz)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT c.starts_on, c.at_time, c.rule, c.mode, c.after_days, g.time_zone,
        l.due_on, coalesce(l.done_at, l.ended_at)
    FROM household.chores c JOIN household.groups g ON g.id = c.group_id
    LEFT JOIN LATERAL (
        SELECT o.due_on, o.done_at, o.ended_at, o.state FROM household.occurrences o
        WHERE o.chore_id = c.id ORDER BY o.due_on DESC LIMIT 1
    ) l ON true
    WHERE c.id = $1 AND c.plan = $2 AND NOT c.is_removed AND c.starts_on IS NOT NULL
      AND (c.mode = 'calendar' OR l.state IS NULL OR l.state NOT IN ('due', 'overdue'));
END $$;

-- Writes down what such a job has found: the next day, and the instant at which its occurrence is
-- taken; both null when there is none any more, or it waits. False when the chore has changed.
CREATE OR REPLACE FUNCTION household.plan_chore(
    chore bigint, plan int, next_on date, next_at timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.chores c SET next_on = next_on, next_at = next_at, plan_job = NULL,
        fault = NULL
    WHERE c.id = chore AND c.plan = plan AND NOT c.is_removed
      AND EXISTS (SELECT FROM household.turns t WHERE t.chore_id = chore);
    RETURN FOUND;
END $$;

-- Records why a chore has stopped, and notifies all who live there, each of whom can
-- fix it. False when that is known, or the chore has changed since.
CREATE OR REPLACE FUNCTION household.fail_chore(chore bigint, plan int, fault text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    home bigint;
BEGIN
    UPDATE household.chores c SET next_on = NULL, next_at = NULL, plan_job = NULL, fault = fault
    WHERE c.id = chore AND c.plan = plan AND NOT c.is_removed AND c.fault IS DISTINCT FROM fault
    RETURNING c.group_id INTO home;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM errand.enqueue_own('household.notify',
        jsonb_build_object('event', 'chore_fault', 'group_id', home, 'chore_id', chore,
            'plan', plan));
    RETURN true;
END $$;

-- Chores whose next occurrence is to be taken, locked; each is handed to household.take() with
-- what its rule says comes after next_on. Not in zones that cannot be read.
CREATE OR REPLACE FUNCTION household.due_chores(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 500)
RETURNS TABLE (chore_id bigint, next_on date, starts_on date, at_time time, rule text, mode text,
    time_zone text, plan int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    at := coalesce(at, clock_timestamp());
    RETURN QUERY SELECT c.id, c.next_on, c.starts_on, c.at_time, c.rule, c.mode, g.time_zone, c.plan
    FROM household.chores c JOIN household.groups g ON g.id = c.group_id
    WHERE c.next_at <= at AND NOT EXISTS (SELECT FROM household.zones z
        WHERE z.time_zone = g.time_zone AND z.fault IS NOT NULL)
    ORDER BY c.next_at, c.id LIMIT max_rows
    FOR NO KEY UPDATE OF c SKIP LOCKED;
END $$;

-- Takes the occurrence of a day: gives it to whose turn it is, and sets the next one;
-- household.take_many() notifies them. What was due before and was not done is missed. Null when
-- that day is not the chore's next any more, and then nothing is done: a job that is repeated
-- shifts no turn.
--   due_at            from when it is overdue
--   next_on, next_at  as of household.plan_chore(); null for what counts from its completion
--   remind_from       nobody is notified that it is overdue before; null: due_at
--   is_over           its day is over, and a later one has come: it is missed, and nobody's
CREATE OR REPLACE FUNCTION household.take_turn(
    chore bigint, due_on date, due_at timestamptz, next_on date DEFAULT NULL,
    next_at timestamptz DEFAULT NULL, remind_from timestamptz DEFAULT NULL,
    is_over boolean DEFAULT false
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.chores;
    occurrence bigint;
BEGIN
    SELECT * INTO of FROM household.chores c WHERE c.id = chore FOR NO KEY UPDATE;
    IF (of.next_on = due_on) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    PERFORM errand.expect(next_on IS NULL AND next_at IS NULL
            OR next_on > due_on AND next_at IS NOT NULL AND of.mode = 'calendar',
        'next_on: expected a later day with its instant, or none');
    PERFORM errand.expect(due_at IS NOT NULL, 'due_at: found null');
    UPDATE household.chores c SET next_on = next_on, next_at = next_at, taken = c.taken + 1
    WHERE c.id = chore;
    IF of.taken > 0 THEN
        -- A chore that was changed so that it comes on a day again that it has had.
        IF EXISTS (SELECT FROM household.occurrences o
            WHERE o.chore_id = chore AND o.due_on = due_on) THEN
            RETURN NULL;
        END IF;
        UPDATE household.occurrences o SET state = 'missed', remind_at = NULL,
            ended_at = clock_timestamp()
        WHERE o.chore_id = chore AND o.state IN ('due', 'overdue');
    END IF;
    INSERT INTO household.occurrences AS o (chore_id, group_id, due_on, due_at, remind_at,
        remind_from, number, assignee_id, state, ended_at)
    VALUES (chore, of.group_id, due_on, due_at, CASE WHEN NOT is_over THEN due_at END,
        greatest(remind_from, due_at), of.taken + 1,
        CASE WHEN NOT is_over THEN household.next_turn(of.group_id, chore) END,
        CASE WHEN is_over THEN 'missed' ELSE 'due' END::household.occurrence_state,
        CASE WHEN is_over THEN clock_timestamp() END)
    RETURNING o.id INTO occurrence;
    RETURN CASE WHEN NOT is_over THEN occurrence END;
END $$;

-- An occurrence of the person's group that is still to be done, with its chore locked.
CREATE OR REPLACE FUNCTION household.open_occurrence(home bigint, occurrence bigint)
RETURNS household.occurrences LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.occurrences;
BEGIN
    PERFORM FROM household.chores c WHERE c.id = (
        SELECT o.chore_id FROM household.occurrences o
        WHERE o.id = occurrence AND o.group_id = home) FOR NO KEY UPDATE;
    SELECT * INTO of FROM household.occurrences o
    WHERE o.id = occurrence AND o.group_id = home FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown('turn at a chore', occurrence);
    END IF;
    IF of.state NOT IN ('due', 'overdue') THEN
        PERFORM errand.refuse('not_open',
            format('turn %s at chore %s is %s', occurrence, of.chore_id, of.state),
            'household.open_chores() lists what is to be done now.');
    END IF;
    RETURN of;
END $$;

-- Ends what is due, and has the next found out where that counts from now. What does not come any
-- more leaves the lists with that; its history stays, of a chore without a day on the day of now.
CREATE OR REPLACE FUNCTION household.finish_occurrence(
    of household.occurrences, after household.occurrence_state, done_by bigint, at timestamptz,
    words text DEFAULT NULL, picture text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.occurrences o SET state = after, done_by = done_by, remind_at = NULL,
        done_at = CASE after WHEN 'done' THEN at END, ended_at = clock_timestamp(),
        due_on = coalesce(o.due_on, (SELECT (coalesce(at, clock_timestamp())
            AT TIME ZONE g.time_zone)::date FROM household.groups g WHERE g.id = o.group_id)),
        words = words, picture = picture
    WHERE o.id = of.id;
    PERFORM household.replan(c.id) FROM household.chores c
    WHERE c.id = of.chore_id AND c.mode = 'after_done' AND NOT c.is_removed;
    UPDATE household.chores c SET is_removed = true, plan = c.plan + 1
    WHERE c.id = of.chore_id AND c.mode = 'calendar' AND c.next_on IS NULL
      AND c.plan_job IS NULL AND c.fault IS NULL;
END $$;

-- Who steps in takes the turn, and the other one is due again sooner.
CREATE OR REPLACE FUNCTION household.done(
    person bigint, occurrence bigint, at timestamptz DEFAULT NULL, words text DEFAULT NULL,
    picture text DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    instant CONSTANT timestamptz := clock_timestamp();
    of household.occurrences;
BEGIN
    IF EXISTS (SELECT FROM household.occurrences o WHERE o.id = occurrence AND o.group_id = home
        AND o.done_by = person) THEN
        RETURN false;
    END IF;
    at := coalesce(at, instant);
    PERFORM errand.expect(at BETWEEN instant - interval '31 days'
        AND instant + interval '1 minute', 'at: expected an instant of the last 31 days');
    PERFORM errand.expect(words IS NULL OR length(words) BETWEEN 1 AND 500,
        'words: expected 1 to 500 characters');
    PERFORM household.expect_picture('picture', picture);
    of := household.open_occurrence(home, occurrence);
    PERFORM household.pass_turn(of, person);
    PERFORM household.finish_occurrence(of, 'done', person, least(at, instant), words, picture);
    PERFORM household.happened(home, 'chore_done', person,
        jsonb_build_object('chore_id', of.chore_id, 'occurrence_id', occurrence));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.done(bigint, bigint, timestamptz, text, text) IS $doc$
Records that a member has done a chore, in anyone's turn, and notifies the others. A member who does
the turn of another one takes it over, and the other one is due again sooner.

Arguments:
  person: who has done it
  occurrence: occurrence_id of household.open_chores
  at: when it was done, within the last 31 days; null for now
  words: what they say about it, 1 to 500 characters
  picture: where the app keeps a picture: an id or an address, never the picture itself
Returns:
  done: true; false if the person had recorded it before
Reasons:
  no_group: the person is in no group
  not_open: it was done by another one, skipped, missed, or the chore was removed
Errors:
  22023: an argument is invalid
  P0002: the group has no turn with this id
Repeated: returns false and changes nothing; the first words stay.
Sample:
  SELECT household.done(person => 18, occurrence => o.occurrence_id,
      words => 'It needed a new washer')
  FROM household.open_chores(person => 18) o WHERE o.title = 'Fix the tap';
$doc$;

-- The next turn comes as it would have come.
CREATE OR REPLACE FUNCTION household.skip(person bigint, occurrence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    of := household.open_occurrence(home, occurrence);
    IF of.assignee_id IS DISTINCT FROM person THEN
        PERFORM errand.refuse('not_yours', format('turn %s is not that of person %s', occurrence,
            person), 'Who has it skips it; anybody may do it instead.');
    END IF;
    UPDATE household.turns t SET turns = t.turns - 1
    FROM household.chores c
    WHERE c.id = of.chore_id AND NOT c.does_skip_count
      AND t.chore_id = of.chore_id AND t.person_id = of.assignee_id;
    PERFORM household.finish_occurrence(of, 'skipped', NULL, NULL);
    PERFORM household.happened(home, 'chore_skipped', person,
        jsonb_build_object('chore_id', of.chore_id, 'occurrence_id', occurrence));
END $$;
COMMENT ON FUNCTION household.skip(bigint, bigint) IS $doc$
Skips a turn of one's own: nobody does it this time. The others are notified.

Arguments:
  person: whose turn it is
  occurrence: occurrence_id of household.open_chores
Reasons:
  no_group: the person is in no group
  not_open: it was done, skipped or missed, or the chore was removed
  not_yours: it is nobody's turn, or somebody else's
Errors:
  P0002: the group has no turn with this id
Repeated: refused with not_open.
Sample:
  SELECT household.skip(person => 17, occurrence => o.occurrence_id)
  FROM household.open_chores(person => 17) o WHERE o.assignee_id = 17;
$doc$;

-- Who had it is due again sooner for it.
CREATE OR REPLACE FUNCTION household.take_over(person bigint, occurrence bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    of := household.open_occurrence(home, occurrence);
    IF of.assignee_id = person THEN
        RETURN false;
    END IF;
    PERFORM household.pass_turn(of, person);
    PERFORM household.happened(home, 'chore_taken_over', person,
        jsonb_build_object('chore_id', of.chore_id, 'occurrence_id', occurrence));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.take_over(bigint, bigint) IS $doc$
Takes a turn of somebody else, or of nobody, and notifies the others. Who had it is due again
sooner.

Arguments:
  person: who takes it
  occurrence: occurrence_id of household.open_chores
Returns:
  taken: true; false if it was the person's turn already
Reasons:
  no_group: the person is in no group
  not_open: it was done, skipped or missed, or the chore was removed
Errors:
  P0002: the group has no turn with this id
Repeated: returns false and changes nothing.
Sample:
  SELECT household.take_over(person => 19, occurrence => o.occurrence_id)
  FROM household.open_chores(person => 19) o WHERE o.assignee_id IS NULL;
$doc$;
