-- Chores as the app lists them: all of a group, and what is to be done now.

-- What is due is household.open_chores().
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
COMMENT ON FUNCTION household.chores(bigint) IS $doc$
Lists the chores of the person's group with their rules. What is to be done of them now is
household.open_chores.

Arguments:
  person: a member
Returns:
  chore_id: the id of the chore
  title: its title
  rule: the RRULE; null for none
  mode: calendar or after_done
  after_days: days from when it was done to the next time; null otherwise
  starts_on: null for a chore without a day
  at_time: when on its day it is due; null for the end of the day
  next_on: the day on which it comes next; null while that is computed, or if it does not come
  does_skip_count: whether a skipped turn counts as taken
  is_for_all: whether who joins later takes turns, too
  fault: why it does not come any more until a member changes it; null for none
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT chore_id, title, rule, starts_on FROM household.chores(person => 17);
$doc$;

-- By the indexes of open occurrences, however much history there is.
CREATE OR REPLACE FUNCTION household.open_chores(person bigint)
RETURNS TABLE (occurrence_id bigint, chore_id bigint, title text, due_on date,
    due_at timestamptz, is_overdue boolean, assignee_id bigint, instead_of bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.id, c.id, c.title, o.due_on, o.due_at, o.state = 'overdue',
        o.assignee_id, o.instead_of
    FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
    WHERE c.group_id = household.home_of($1) AND NOT c.is_removed
      AND o.state IN ('due', 'overdue')
    ORDER BY o.due_at, o.id;
END $$;
COMMENT ON FUNCTION household.open_chores(bigint) IS $doc$
Lists everything that is to be done now in the person's group, whatever its age: the oldest first,
then the chores without a day.

Arguments:
  person: a member
Returns:
  occurrence_id: for household.done, household.skip and household.take_over
  chore_id: the id of the chore
  title: its title
  due_on: the day; null for a chore without a day
  due_at: from when it is overdue; null for never
  is_overdue: whether its assignee was late when overdue chores were last marked
  assignee_id: whose turn it is; null for nobody's
  instead_of: whose turn it was, if somebody else has it now
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT occurrence_id, title, due_on, assignee_id FROM household.open_chores(person => 17);
$doc$;
