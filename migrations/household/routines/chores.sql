-- Chores: what is to be done when, and whose turn it is. The rules of RFC 5545 are followed by
-- jobs: SQL is told the next day and instant of each chore, and keeps them.

-- A chore of the person's group, locked; an error when it is not there, or was removed.
CREATE OR REPLACE FUNCTION household.standing_chore(home bigint, chore bigint)
RETURNS household.chores LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.chores;
BEGIN
    SELECT * INTO of FROM household.chores c
    WHERE c.id = chore AND c.group_id = home AND NOT c.is_removed FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown('chore', chore);
    END IF;
    RETURN of;
END $$;

-- Has the next occurrence found out anew; not of a chore of which nobody takes turns.
CREATE OR REPLACE FUNCTION household.replan(chore bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    plan int;
BEGIN
    UPDATE household.chores c SET plan = c.plan + 1, next_on = NULL, next_at = NULL, fault = NULL
    WHERE c.id = chore AND EXISTS (SELECT FROM household.turns t WHERE t.chore_id = chore)
    RETURNING c.plan INTO plan;
    IF FOUND THEN
        UPDATE household.chores c SET plan_job = errand.enqueue('household.plan',
            jsonb_build_object('chore_id', chore, 'plan', plan))
        WHERE c.id = chore;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION household.expect_chore(
    title text, starts_on date, rule text, mode text, after_days int
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters in one line');
    PERFORM errand.expect(starts_on BETWEEN '2000-01-01' AND '2500-12-31',
        'starts_on: expected a day of the years 2000 to 2500');
    PERFORM errand.expect(rule IS NULL
            OR length(rule) <= 500 AND rule ~ '^[A-Z]+=[A-Za-z0-9+,:=;-]+$',
        'rule: expected an RRULE of RFC 5545, such as FREQ=WEEKLY;INTERVAL=2;BYDAY=TU');
    PERFORM errand.expect(mode IN ('calendar', 'after_done'),
        'mode: expected calendar or after_done');
    PERFORM errand.expect(CASE mode WHEN 'after_done'
            THEN rule IS NULL AND coalesce(after_days BETWEEN 1 AND 3650, false)
            ELSE after_days IS NULL END,
        'after_days: expected 1 to 3650 and no rule for after_done, and none for calendar');
END $$;

-- Adds a chore and tells all; returns its id.
--   starts_on   the first day, by the clocks of the group
--   rule        RRULE of RFC 5545 without its name; null: once
--   mode        calendar; or after_done: so many days after it was done, whenever that is
--   at_time     when on its day it is due; null: by the end of it
--   persons     who takes turns, in this order; null: all, also those who move in later
--   does_skip_count  whether a turn that is skipped counts as taken
CREATE OR REPLACE FUNCTION household.add_chore(
    person bigint, title text, starts_on date, rule text DEFAULT NULL,
    mode text DEFAULT 'calendar', after_days int DEFAULT NULL, at_time time DEFAULT NULL,
    persons bigint[] DEFAULT NULL, does_skip_count boolean DEFAULT false
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    is_for_all CONSTANT boolean := persons IS NULL;
    most CONSTANT int := (SELECT r.most_chores FROM household.rules r);
    chore bigint;
    place int;
BEGIN
    PERFORM household.expect_chore(title, starts_on, rule, mode, after_days);
    PERFORM errand.expect(does_skip_count IS NOT NULL, 'does_skip_count: found null');
    IF (SELECT count(*) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed) >= most THEN
        PERFORM household.refuse_state(format('a group has at most %s chores', most),
            'Remove one that nobody needs any more.');
    END IF;
    IF is_for_all THEN
        SELECT array_agg(m.person_id ORDER BY m.joined_at, m.person_id) INTO persons
        FROM household.members m WHERE m.group_id = home AND m.left_at IS NULL;
        -- Each chore begins with another one, so that not all fall to the same in one week.
        place := (SELECT count(*) FROM household.chores c
            WHERE c.group_id = home AND NOT c.is_removed)
            % cardinality(persons);
        persons := persons[place + 1 :] || persons[: place];
    END IF;
    INSERT INTO household.chores AS c (group_id, created_by, created_at, starts_on, at_time,
        after_days, does_skip_count, is_for_all, mode, rule, title, plan)
    VALUES (home, person, clock_timestamp(), starts_on, at_time, after_days, does_skip_count,
        is_for_all, mode, rule, title, 0)
    RETURNING c.id INTO chore;
    PERFORM household.rotate(home, chore, persons);
    PERFORM household.replan(chore);
    PERFORM household.happened(home, 'chore_added', person, jsonb_build_object('chore_id', chore));
    RETURN chore;
END $$;

-- Changes a chore: all of these are set as they are given. Its next occurrence is found out anew;
-- what was due stays.
CREATE OR REPLACE FUNCTION household.change_chore(
    person bigint, chore bigint, title text, starts_on date, rule text, mode text,
    after_days int, at_time time, does_skip_count boolean
) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM household.standing_chore(home, chore);
    PERFORM household.expect_chore(title, starts_on, rule, mode, after_days);
    PERFORM errand.expect(does_skip_count IS NOT NULL, 'does_skip_count: found null');
    UPDATE household.chores c SET title = title, starts_on = starts_on, rule = rule, mode = mode,
        after_days = after_days, at_time = at_time, does_skip_count = does_skip_count
    WHERE c.id = chore;
    PERFORM household.replan(chore);
    PERFORM household.happened(home, 'chore_changed', person,
        jsonb_build_object('chore_id', chore));
END $$;

-- Takes a chore and what is due of it off.
CREATE OR REPLACE FUNCTION household.drop_chore(chore bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.chores c SET is_removed = true, next_on = NULL, next_at = NULL,
        plan_job = NULL, plan = c.plan + 1
    WHERE c.id = chore;
    UPDATE household.occurrences o SET state = 'dropped', remind_at = NULL
    WHERE o.chore_id = chore AND o.state IN ('due', 'overdue');
END $$;

-- Removes a chore, and tells all; its history stays.
CREATE OR REPLACE FUNCTION household.remove_chore(person bigint, chore bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM household.standing_chore(home, chore);
    PERFORM household.drop_chore(chore);
    PERFORM household.happened(home, 'chore_removed', person,
        jsonb_build_object('chore_id', chore));
END $$;

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
    WHERE c.id = $1 AND c.plan = $2 AND NOT c.is_removed
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

-- Writes down why a chore does not come any more, and tells all who live there, each of whom can
-- mend it. False when that is known, or the chore has changed since.
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
    PERFORM errand.enqueue('household.tell',
        jsonb_build_object('event', 'chore_fault', 'group_id', home, 'chore_id', chore,
            'plan', plan));
    RETURN true;
END $$;

-- Chores whose next occurrence is to be taken, locked; each is handed to household.take() with
-- what its rule says comes after next_on. Not in zones that cannot be read.
CREATE OR REPLACE FUNCTION household.due_chores(
    at timestamptz DEFAULT NULL, at_most int DEFAULT 500)
RETURNS TABLE (chore_id bigint, next_on date, starts_on date, at_time time, rule text, mode text,
    time_zone text, plan int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    at := coalesce(at, clock_timestamp());
    RETURN QUERY SELECT c.id, c.next_on, c.starts_on, c.at_time, c.rule, c.mode, g.time_zone, c.plan
    FROM household.chores c JOIN household.groups g ON g.id = c.group_id
    WHERE c.next_at <= at AND NOT EXISTS (SELECT FROM household.zones z
        WHERE z.time_zone = g.time_zone AND z.fault IS NOT NULL)
    ORDER BY c.next_at, c.id LIMIT at_most
    FOR NO KEY UPDATE OF c SKIP LOCKED;
END $$;

-- Takes the occurrence of a day: gives it to whose turn it is, and sets the next one;
-- household.take_many() has them told. What was due before and was not done is missed. Null when
-- that day is not the chore's next any more, and then nothing is done: a job that is repeated
-- shifts no turn.
--   due_at            from when it is overdue
--   next_on, next_at  as of household.plan_chore(); null for what counts from its completion
--   remind_from       before then nobody is told that it is overdue; null: due_at
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
        PERFORM household.refuse_state(
            format('turn %s at chore %s is %s', occurrence, of.chore_id, of.state),
            'household.chores() lists what is to be done now.');
    END IF;
    RETURN of;
END $$;

-- Ends what is due, and has the next found out where that counts from now. What does not come any
-- more leaves the lists with that; its history stays.
CREATE OR REPLACE FUNCTION household.finish_occurrence(
    of household.occurrences, after household.occurrence_state, done_by bigint, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.occurrences o SET state = after, done_by = done_by, remind_at = NULL,
        done_at = CASE after WHEN 'done' THEN at END, ended_at = clock_timestamp()
    WHERE o.id = of.id;
    PERFORM household.replan(c.id) FROM household.chores c
    WHERE c.id = of.chore_id AND c.mode = 'after_done' AND NOT c.is_removed;
    UPDATE household.chores c SET is_removed = true, plan = c.plan + 1
    WHERE c.id = of.chore_id AND c.mode = 'calendar' AND c.next_on IS NULL
      AND c.plan_job IS NULL AND c.fault IS NULL;
END $$;

-- Notes that somebody has done what was due, whoever's turn it was, and tells all. Who steps in
-- takes the turn, and the other one is due again sooner. False when the same was noted before.
--   at  when it was done; now when it is null
CREATE OR REPLACE FUNCTION household.done(
    person bigint, occurrence bigint, at timestamptz DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql
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
    of := household.open_occurrence(home, occurrence);
    PERFORM household.pass_turn(of, person);
    PERFORM household.finish_occurrence(of, 'done', person, least(at, instant));
    PERFORM household.happened(home, 'chore_done', person,
        jsonb_build_object('chore_id', of.chore_id, 'occurrence_id', occurrence));
    RETURN true;
END $$;

-- Lets a turn of one's own be: nobody does it this time.
CREATE OR REPLACE FUNCTION household.skip(person bigint, occurrence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    of := household.open_occurrence(home, occurrence);
    IF of.assignee_id IS DISTINCT FROM person THEN
        PERFORM household.refuse_state(format('turn %s is not that of person %s', occurrence,
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

-- Takes a turn of somebody else's, who is due again sooner for it; all are told. False when it was
-- the person's already.
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
