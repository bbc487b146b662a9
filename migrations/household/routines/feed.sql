-- What happens in a group: notices of it, and the feed of completed activities.

-- Whether events of this kind are completed activities, which the feed shows.
CREATE OR REPLACE FUNCTION household.is_activity(event text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN event IN ('joined', 'left', 'paid', 'chore_done', 'bill_added', 'trip_completed');

-- Records an event in a group that is locked, and enqueues its notices. The job reads the
-- recipients; it gets ids only, and the event's number, by which it notifies once. The last 30
-- activities are kept: activity n is written over activity n - 30.
CREATE OR REPLACE FUNCTION household.happened(
    home bigint, event text, person bigint, data jsonb DEFAULT '{}',
    is_notified boolean DEFAULT true
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    is_activity CONSTANT boolean := household.is_activity(event);
    counted bigint;
    activity bigint;
BEGIN
    UPDATE household.groups g SET events = g.events + 1,
        activities = g.activities + is_activity::int
    WHERE g.id = home RETURNING g.events, g.activities INTO counted, activity;
    IF is_activity THEN
        INSERT INTO household.events (group_id, number, at, person_id, slot, kind, data)
        VALUES (home, activity, clock_timestamp(), person, (activity % 30)::smallint, event, data)
        ON CONFLICT ON CONSTRAINT events_pkey DO UPDATE SET number = excluded.number,
            at = excluded.at, person_id = excluded.person_id, kind = excluded.kind,
            data = excluded.data;
    END IF;
    IF is_notified THEN
        PERFORM errand.enqueue_own('household.notify', data || jsonb_build_object(
            'group_id', home, 'event', event, 'number', counted, 'person_id', person,
            'at', clock_timestamp()));
    END IF;
END $$;

-- Bills, payments and chores by their ids, as they are now.
CREATE OR REPLACE FUNCTION household.feed(person bigint)
RETURNS TABLE (number bigint, at timestamptz, kind text, person_id bigint, data jsonb,
    title text, amount bigint, is_undone boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    home CONSTANT bigint := household.home_of(person);
BEGIN
    RETURN QUERY SELECT e.number, e.at, e.kind, e.person_id, e.data, coalesce(b.title, c.title),
        coalesce(b.amount, p.amount), coalesce(b.is_removed, p.undone_at IS NOT NULL)
    FROM household.events e
    LEFT JOIN household.bills b ON b.id = (e.data ->> 'bill_id')::bigint
    LEFT JOIN household.payments p ON p.id = (e.data ->> 'payment_id')::bigint
    LEFT JOIN household.chores c ON c.id = (e.data ->> 'chore_id')::bigint
    WHERE e.group_id = home ORDER BY e.number DESC;
END $$;
COMMENT ON FUNCTION household.feed(bigint) IS $doc$
Lists the last completed activities in the person's group, the newest first, at most 30: payments,
chores done, trips, bills, and who has joined or left.

Arguments:
  person: a member
Returns:
  number: counts the activities of the group since it was created
  at: when it happened
  kind: joined, left, paid, chore_done, bill_added or trip_completed
  person_id: who has done it
  data: ids of what it is about, such as bill_id
  title: of the bill, trip or chore
  amount: of the bill, trip or payment, in minor units
  is_undone: whether the bill or trip was removed, or the payment undone
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT at, kind, person_id, title, amount FROM household.feed(person => 17);
$doc$;
