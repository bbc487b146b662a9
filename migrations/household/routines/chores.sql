-- Chores: what is to be done, and by which rule.

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

-- Requests a new plan of the next occurrence; not for a chore without members who take turns, and
-- not for one without a day, which does not come again.
CREATE OR REPLACE FUNCTION household.replan(chore bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    plan int;
BEGIN
    UPDATE household.chores c SET plan = c.plan + 1, next_on = NULL, next_at = NULL, fault = NULL
    WHERE c.id = chore AND c.starts_on IS NOT NULL
      AND EXISTS (SELECT FROM household.turns t WHERE t.chore_id = chore)
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
DECLARE
    fault text;
BEGIN
    PERFORM errand.expect(length(title) <= 200 AND btrim(title) <> '' AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters in one line');
    PERFORM errand.expect(starts_on IS NULL OR starts_on BETWEEN '2000-01-01' AND '2500-12-31',
        'starts_on: expected a day of the years 2000 to 2500, or null for no day');
    PERFORM errand.expect(rule IS NULL
            OR length(rule) <= 500 AND rule ~ '^[A-Z]+=[A-Za-z0-9+,:=;-]+$',
        'rule: expected an RRULE of RFC 5545, such as FREQ=WEEKLY;INTERVAL=2;BYDAY=TU');
    PERFORM errand.expect(mode IN ('calendar', 'after_done'),
        'mode: expected calendar or after_done');
    PERFORM errand.expect(CASE mode WHEN 'after_done'
            THEN rule IS NULL AND coalesce(after_days BETWEEN 1 AND 3650, false)
            ELSE after_days IS NULL END,
        'after_days: expected 1 to 3650 and no rule for after_done, and none for calendar');
    PERFORM errand.expect(starts_on IS NOT NULL OR mode = 'calendar' AND rule IS NULL,
        'starts_on: expected a day, from which a rule or after_done counts');
    IF rule IS NOT NULL THEN
        fault := household.rule_fault(rule, starts_on);
        PERFORM errand.expect(fault IS NULL, 'rule: ' || fault);
    END IF;
END $$;

-- Opens a chore without a day: for all until somebody takes it or, of some persons, for the first.
CREATE OR REPLACE FUNCTION household.open_chore(home bigint, chore bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.chores c SET taken = 1 WHERE c.id = chore;
    INSERT INTO household.occurrences (chore_id, group_id, assignee_id, remind_from, number)
    VALUES (chore, home, household.next_turn(home, chore), 'infinity', 1);
END $$;

-- Who takes turns when it is for all: each chore begins with another one, so that not all fall to
-- the same in one week.
CREATE OR REPLACE FUNCTION household.all_by_turns(home bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    persons bigint[];
    place int;
BEGIN
    SELECT array_agg(m.person_id ORDER BY m.joined_at, m.person_id) INTO persons
    FROM household.members m WHERE m.group_id = home AND m.left_at IS NULL;
    place := (SELECT count(*) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed)
        % cardinality(persons);
    RETURN persons[place + 1 :] || persons[: place];
END $$;

-- The rule is checked here, so that no job finds a fault in it later.
CREATE OR REPLACE FUNCTION household.add_chore(
    person bigint, title text, starts_on date DEFAULT NULL, rule text DEFAULT NULL,
    mode text DEFAULT 'calendar', after_days int DEFAULT NULL, at_time time DEFAULT NULL,
    persons bigint[] DEFAULT NULL, does_skip_count boolean DEFAULT false,
    request_id text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    -- Without a day there are no turns, unless somebody is named.
    is_for_all CONSTANT boolean := persons IS NULL AND starts_on IS NOT NULL;
    most CONSTANT int := (SELECT r.max_chores FROM household.rules r);
    request CONSTANT bytea := household.digest('chore', person::text, title,
        to_char(starts_on, 'YYYY-MM-DD'), rule, mode, after_days::text, at_time::text,
        persons::text, does_skip_count::text);
    chore bigint := household.requested(home, request_id, request);
BEGIN
    IF chore IS NOT NULL THEN
        RETURN chore;
    END IF;
    PERFORM household.expect_chore(title, starts_on, rule, mode, after_days);
    PERFORM errand.expect(at_time IS NULL OR starts_on IS NOT NULL,
        'at_time: expected with the day on which it starts');
    PERFORM errand.expect(does_skip_count IS NOT NULL, 'does_skip_count: found null');
    IF (SELECT count(*) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed) >= most THEN
        PERFORM errand.refuse('too_many', format('a group has at most %s chores', most),
            'Remove one that nobody needs any more.');
    END IF;
    IF is_for_all THEN
        persons := household.all_by_turns(home);
    END IF;
    INSERT INTO household.chores AS c (group_id, created_by, created_at, starts_on, at_time,
        after_days, does_skip_count, is_for_all, mode, rule, title, plan)
    VALUES (home, person, clock_timestamp(), starts_on, at_time, after_days, does_skip_count,
        is_for_all, mode, rule, title, 0)
    RETURNING c.id INTO chore;
    IF persons IS NOT NULL THEN
        PERFORM household.rotate(home, chore, persons);
    END IF;
    IF starts_on IS NULL THEN
        PERFORM household.open_chore(home, chore);
    ELSE
        PERFORM household.replan(chore);
    END IF;
    PERFORM household.remember_chore(home, title);
    PERFORM household.remember_request(home, request_id, request, chore);
    PERFORM household.happened(home, 'chore_added', person, jsonb_build_object('chore_id', chore));
    RETURN chore;
END $$;
COMMENT ON FUNCTION household.add_chore(
    bigint, text, date, text, text, int, time, bigint[], boolean, text) IS $doc$
Adds a chore, keeps its title in the catalogue, and notifies the others. Returns the chore's id.
Without a day the chore is open at once and stays so until somebody does it: it is never overdue and
nobody is reminded of it. With a day it is open when its day begins, for the member whose turn it
is.

Arguments:
  person: the member who adds it
  title: 1 to 200 characters; household.chore_catalogue has titles to select from
  starts_on: the first day, by the clocks of the group; null for no day
  rule: an RRULE of RFC 5545 in whole days, without its name; null for once
  mode: calendar, or after_done for again after_days days after it was done
  after_days: only for after_done
  at_time: when on its day it is due; null for the end of the day
  persons: who takes turns, in this order; null for all, also those who join later
  does_skip_count: whether a skipped turn counts as taken
  request_id: names this request, so that it can be repeated; null for none
Returns:
  chore: the id of the chore
Reasons:
  no_group: the person is in no group
  not_a_member: one of the persons does not live in the group
  too_many: the group has as many chores as it may have
Errors:
  22023: an argument is invalid, such as a rule that needs a time of day or names no day
  23505: the request_id is known, with other content
Repeated: with the same request_id and content, returns the same id and changes nothing; without
  one, adds another.
Sample:
  SELECT household.add_chore(person => 17, title => 'Take out the bins',
      starts_on => current_date, rule => 'FREQ=WEEKLY;BYDAY=TU', at_time => '20:00');
  SELECT household.add_chore(person => 17, title => 'Fix the tap');
  SELECT household.add_chore(person => 17, title => 'Call the plumber', persons => '{17}');
  SELECT household.add_chore(person => 18, title => 'Defrost the fridge');
$doc$;

-- What was due stays.
CREATE OR REPLACE FUNCTION household.change_chore(
    person bigint, chore bigint, title text, starts_on date, rule text, mode text,
    after_days int, at_time time, does_skip_count boolean
) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    was household.chores;
BEGIN
    was := household.standing_chore(home, chore);
    PERFORM household.expect_chore(title, starts_on, rule, mode, after_days);
    PERFORM errand.expect((starts_on IS NULL) = (was.starts_on IS NULL), CASE
        WHEN was.starts_on IS NULL THEN 'starts_on: expected none, as the chore has no day'
        ELSE 'starts_on: expected a day, as the chore has one' END);
    PERFORM errand.expect(at_time IS NULL OR starts_on IS NOT NULL,
        'at_time: expected with the day on which it starts');
    PERFORM errand.expect(does_skip_count IS NOT NULL, 'does_skip_count: found null');
    UPDATE household.chores c SET title = title, starts_on = starts_on, rule = rule, mode = mode,
        after_days = after_days, at_time = at_time, does_skip_count = does_skip_count
    WHERE c.id = chore;
    PERFORM household.replan(chore);
    PERFORM household.remember_chore(home, title);
    PERFORM household.happened(home, 'chore_changed', person,
        jsonb_build_object('chore_id', chore));
END $$;
COMMENT ON FUNCTION household.change_chore(
    bigint, bigint, text, date, text, text, int, time, boolean) IS $doc$
Changes a chore, and notifies the others. All facts are set as they are given; see
household.add_chore. Its next occurrence is planned again; an open turn stays.

Arguments:
  person: the member who changes it
  chore: the chore's id
  title: 1 to 200 characters
  starts_on: the first day; null only for a chore without a day, which stays so
  rule: an RRULE of RFC 5545 in whole days; null for once
  mode: calendar or after_done
  after_days: only for after_done
  at_time: when on its day it is due; null for the end of the day
  does_skip_count: whether a skipped turn counts as taken
Reasons:
  no_group: the person is in no group
Errors:
  22023: an argument is invalid
  P0002: the group has no chore with this id
Repeated: changes nothing more, plans and notifies again.
Sample:
  SELECT household.change_chore(person => 18, chore => 1, title => 'Take out the bins',
      starts_on => current_date, rule => 'FREQ=WEEKLY;BYDAY=MO,TH', mode => 'calendar',
      after_days => NULL, at_time => '20:00', does_skip_count => false);
$doc$;

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

-- Its history stays.
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
COMMENT ON FUNCTION household.remove_chore(bigint, bigint) IS $doc$
Removes a chore and its open turn, and notifies the others. Its history stays, and its title stays
in the catalogue.

Arguments:
  person: the member who removes it
  chore: the chore's id
Reasons:
  no_group: the person is in no group
Errors:
  P0002: the group has no chore with this id, or it was removed before
Repeated: raises P0002.
Sample:
  SELECT household.remove_chore(person => 18, chore => household.add_chore(
      person => 18, title => 'Clean the oven'));
$doc$;
