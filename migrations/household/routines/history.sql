-- The history of chores: who has done what.

-- What is still to be done of chores without a day is in household.open_chores() alone.
CREATE OR REPLACE FUNCTION household.occurrences(person bigint, from_on date, until_on date)
RETURNS TABLE (occurrence_id bigint, chore_id bigint, title text, due_on date, due_at timestamptz,
    state text, assignee_id bigint, instead_of bigint, done_by bigint, done_at timestamptz,
    words text, picture text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.id, o.chore_id, c.title, o.due_on, o.due_at, o.state::text,
        o.assignee_id, o.instead_of, o.done_by, o.done_at, o.words, o.picture
    FROM household.occurrences o JOIN household.chores c ON c.id = o.chore_id
    WHERE o.group_id = household.home_of($1) AND o.due_on >= from_on AND o.due_on < until_on
    ORDER BY o.due_on DESC, o.id DESC LIMIT 10000;
END $$;
COMMENT ON FUNCTION household.occurrences(bigint, date, date) IS $doc$
Lists turns at the chores of the person's group by their days, the newest first, at most 10,000.
What is open, whatever its day, is household.open_chores. A chore without a day is here on the day
on which it was done.

Arguments:
  person: a member
  from_on: the first day
  until_on: the day after the last one
Returns:
  occurrence_id: the id of the turn
  chore_id: the id of the chore
  title: the chore's title
  due_on: its day
  due_at: from when it is overdue; null for never
  state: due, overdue, done, skipped (by choice), missed (the next one came first) or dropped (the
    chore was removed)
  assignee_id: whose turn it was in the end; null for nobody's
  instead_of: whose turn it would have been
  done_by: who has done it
  done_at: when it was done
  words: what they said about it
  picture: where the app keeps a picture
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT title, due_on, state, done_by, words FROM household.occurrences(person => 17,
      from_on => current_date - 31, until_on => current_date + 2);
$doc$;

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
COMMENT ON FUNCTION household.stats(bigint, date, date, text) IS $doc$
Counts what each member has done of the group's chores, by periods. All who lived there in a period
are in it, with 0 where they had no turn. A turn counts on its day, for who had it in the end.

Arguments:
  person: a member
  from_on: the first day
  until_on: the day after the last one
  period: day, week (from Monday), month or year
Returns:
  begins_on: the first day of the period
  person_id: the member
  assigned: turns that were theirs in the end
  done: of these, the ones that they did
  late: of those done, after they were due
  for_others: of those done, instead of somebody else
  skipped: left out by choice
  missed: not done before the next one came
Reasons:
  no_group: the person is in no group
Errors:
  22023: the period is none of these
Repeated: Reads only.
Sample:
  SELECT begins_on, person_id, assigned, done FROM household.stats(person => 17,
      from_on => current_date - 31, until_on => current_date + 1, period => 'month');
$doc$;
