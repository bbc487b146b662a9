-- Chores: what is to be done, by which rule, and what the app shows of them.

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

-- Requests a new plan of the next occurrence; not for a chore without members who take turns.
CREATE OR REPLACE FUNCTION household.replan(chore bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    plan int;
BEGIN
    UPDATE household.chores c SET plan = c.plan + 1, next_on = NULL, next_at = NULL, fault = NULL
    WHERE c.id = chore AND EXISTS (SELECT FROM household.turns t WHERE t.chore_id = chore)
    RETURNING c.plan INTO plan;
    IF FOUND THEN
        UPDATE household.chores c SET plan_job = errand.enqueue_own('household.plan',
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

-- Adds a chore and notifies all; returns its id.
--   starts_on   the first day, by the clocks of the group
--   rule        RRULE of RFC 5545 without its name; null: once
--   mode        calendar; or after_done: after_days after it was done
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
    most CONSTANT int := (SELECT r.max_chores FROM household.rules r);
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

-- Changes a chore: all of these are set as they are given. Its next occurrence is planned again;
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

-- Removes a chore, and notifies all; its history stays.
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

-- The chores of the person's group.
CREATE OR REPLACE FUNCTION household.chores(person bigint)
RETURNS TABLE (chore_id bigint, title text, rule text, mode text, after_days smallint,
    starts_on date, at_time time, next_on date, does_skip_count boolean, is_for_all boolean,
    fault text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT c.id, c.title, c.rule, c.mode, c.after_days, c.starts_on, c.at_time,
        c.next_on, c.does_skip_count, c.is_for_all, c.fault
    FROM household.chores c WHERE c.group_id = household.home_of($1) AND NOT c.is_removed
    ORDER BY c.next_on, c.id;
END $$;

-- Turns at the chores of the person's group, from a day until another, which is not among them;
-- the newest first.
CREATE OR REPLACE FUNCTION household.occurrences(person bigint, from_on date, until_on date)
RETURNS TABLE (occurrence_id bigint, chore_id bigint, title text, due_on date, due_at timestamptz,
    state text, assignee_id bigint, instead_of bigint, done_by bigint, done_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.id, o.chore_id, c.title, o.due_on, o.due_at, o.state::text,
        o.assignee_id, o.instead_of, o.done_by, o.done_at
    FROM household.occurrences o JOIN household.chores c ON c.id = o.chore_id
    WHERE o.group_id = household.home_of($1) AND o.due_on >= from_on AND o.due_on < until_on
    ORDER BY o.due_on DESC, o.id DESC LIMIT 10000;
END $$;

-- What each has done of the chores of a group, by days, weeks (from Monday), months or years, from
-- a day until another, which is not among them. All who live there in a period are in it, with 0
-- where they had no turn, but for periods that are still to come.
--   assigned    turns that were theirs in the end
--   done        of all, in anyone's turn; late: of those, after they were due
--   for_others  of those done, instead of somebody else
CREATE OR REPLACE FUNCTION household.stats_of(home bigint, from_on date, until_on date, period text)
RETURNS TABLE (begins_on date, person_id bigint, assigned bigint, done bigint, late bigint,
    for_others bigint, skipped bigint, missed bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    step interval;
    -- Their days by the clocks of any zone: which is theirs is not known here.
    today CONSTANT date := (clock_timestamp() AT TIME ZONE 'UTC' + interval '14 hours')::date;
BEGIN
    PERFORM errand.expect(period IN ('day', 'week', 'month', 'year'),
        'period: expected day, week, month or year');
    step := ('1 ' || period)::interval;
    -- Who does it has the turn: done_by is the assignee.
    RETURN QUERY SELECT date_trunc($4, o.due_on::timestamp)::date, o.assignee_id, count(*),
        count(*) FILTER (WHERE o.state = 'done'),
        count(*) FILTER (WHERE o.state = 'done' AND o.done_at > o.due_at),
        count(*) FILTER (WHERE o.state = 'done' AND o.instead_of <> o.done_by),
        count(*) FILTER (WHERE o.state = 'skipped'),
        count(*) FILTER (WHERE o.state = 'missed')
    FROM household.occurrences o
    WHERE o.group_id = home AND o.due_on >= from_on AND o.due_on < until_on
      AND o.assignee_id IS NOT NULL AND o.state <> 'dropped'
    GROUP BY 1, 2
    UNION ALL
    SELECT b.begins_on, m.person_id, 0, 0, 0, 0, 0, 0
    FROM household.members m CROSS JOIN LATERAL (
        SELECT p::date AS begins_on FROM generate_series(
            date_trunc($4, greatest(from_on,
                (m.joined_at AT TIME ZONE 'UTC' - interval '12 hours')::date)::timestamp),
            least(until_on - 1, today,
                (m.left_at AT TIME ZONE 'UTC' + interval '14 hours')::date)::timestamp, step) p) b
    WHERE m.group_id = home AND NOT EXISTS (SELECT FROM household.occurrences o
        WHERE o.group_id = home AND o.due_on >= greatest(from_on, b.begins_on)
          AND o.due_on < least(until_on, (b.begins_on + step)::date)
          AND o.assignee_id = m.person_id AND o.state <> 'dropped')
    ORDER BY 1, 2;
END $$;

-- The same of the group that the person lives in.
CREATE OR REPLACE FUNCTION household.stats(
    person bigint, from_on date, until_on date, period text DEFAULT 'week'
) RETURNS TABLE (begins_on date, person_id bigint, assigned bigint, done bigint, late bigint,
    for_others bigint, skipped bigint, missed bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.* FROM household.stats_of(household.home_of($1), $2, $3, $4) s;
END $$;
