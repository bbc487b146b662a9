-- Queries of the shoppers' app.

CREATE OR REPLACE FUNCTION missions.listing(person bigint)
RETURNS TABLE (assignment_id bigint, mission_id bigint, state missions.assignment_state,
    title text, branch_id bigint, branch text, establishment text, longitude double precision,
    latitude double precision, distance_m real, opens_at timestamptz, closes_at timestamptz,
    due_at timestamptz, time_zone text, pay bigint, currency text, freebies text,
    answer_by timestamptz, open_tasks int, reason text, reason_code text, reason_tasks int[],
    faces_tasks int[], coupons jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT a.id, a.mission_id, a.state, m.title, a.branch_id, b.name, e.name,
        missions.longitude(m.place), missions.latitude(m.place), a.distance_m, m.opens_at,
        m.closes_at, a.due_at, m.time_zone, m.pay, m.currency, m.freebies, a.answer_by,
        (SELECT count(*)::int FROM missions.tasks t WHERE t.mission_id = m.id AND NOT EXISTS (
            SELECT FROM missions.steps s WHERE s.assignment_id = a.id AND s.number = t.number)),
        a.reason, a.review_code, a.review_tasks, a.faces_tasks, missions.rewards_of(m.id)
    FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
    JOIN establishments.branches b ON b.id = a.branch_id
    JOIN establishments.establishments e ON e.id = m.establishment_id
    WHERE a.person_id = $1 AND a.state IN ('offered', 'accepted', 'arrived')
      AND (a.state <> 'offered' OR a.answer_by > clock_timestamp())
    ORDER BY a.due_at, a.id;
END $$;
COMMENT ON FUNCTION missions.listing(bigint) IS $doc$
Lists the offers and unfinished missions of a shopper, by deadline. Expired offers are left out, and
so are submitted missions, which stand in `missions.done`.

Arguments:
  person: the shopper
Returns:
  assignment_id: the assignment, which answers name
  mission_id: the mission
  state: offered, accepted or arrived
  title: what to do
  branch_id: the branch
  branch: its name
  establishment: the name of its establishment
  longitude: where it is, WGS 84
  latitude: where it is
  distance_m: from the shopper's home when it was offered
  opens_at: when the shopper may arrive
  closes_at: until when
  due_at: until when the shopper may submit
  time_zone: the zone of its days
  pay: what the shopper earns, in minor units
  currency: of the pay
  freebies: what the shopper may keep; null for nothing
  answer_by: until when an offer may be accepted
  open_tasks: how many tasks are not done
  reason: why a submission was returned
  reason_code: faces, wrong_place, unclear, copied or incomplete; null for none
  reason_tasks: the numbers of the tasks that it is about
  faces_tasks: the tasks whose submitted pictures the app deletes, because people can be recognized
  coupons: what the shopper gets besides the pay, an array of objects with establishment (its name),
    establishment_id, title and days, for which the coupon is valid from the approval on
Repeated: Reads only.
Sample:
  SELECT assignment_id, state, title, branch, pay, coupons, answer_by
  FROM missions.listing(person => 18);
$doc$;

CREATE OR REPLACE FUNCTION missions.done(
    person bigint, before_id bigint DEFAULT NULL, max_rows int DEFAULT 50
) RETURNS TABLE (assignment_id bigint, mission_id bigint, state text, title text, branch_id bigint,
    branch text, establishment text, submitted_at timestamptz, decided_at timestamptz,
    amount bigint, pending bigint, credited bigint, currency text, freebies text, reason text,
    reason_code text, reason_tasks int[], faces_tasks int[], coupons jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT a.id, a.mission_id,
        CASE a.state WHEN 'paid' THEN 'approved' ELSE a.state::text END, m.title, a.branch_id,
        b.name, e.name, a.submitted_at, a.ended_at, m.pay,
        CASE a.state WHEN 'submitted' THEN m.pay ELSE 0 END,
        CASE a.state WHEN 'paid' THEN m.pay ELSE 0 END, m.currency, m.freebies, a.reason,
        a.review_code, a.review_tasks, a.faces_tasks, missions.rewards_of(m.id, a.id)
    FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
    JOIN establishments.branches b ON b.id = a.branch_id
    JOIN establishments.establishments e ON e.id = m.establishment_id
    WHERE a.person_id = $1 AND a.state IN ('submitted', 'paid', 'rejected')
      AND a.id < coalesce(before_id, 9223372036854775807)
    ORDER BY a.id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION missions.done(bigint, bigint, int) IS $doc$
Lists the missions that a shopper has submitted, newest first, with what became of them. A
submission that was returned is back in `missions.listing`.

Arguments:
  person: the shopper
  before_id: assignment_id of the last row of the page before; null for the first page
  max_rows: how many at most, up to 1000
Returns:
  assignment_id: the assignment
  mission_id: the mission
  state: submitted, approved or rejected
  title: what was done
  branch_id: the branch
  branch: its name
  establishment: the name of its establishment
  submitted_at: when it was submitted last
  decided_at: when it was approved or rejected; null before
  amount: the pay of the mission, in minor units
  pending: the pay while it waits for the review, then 0
  credited: the pay once it is approved, otherwise 0
  currency: of the amounts
  freebies: what the shopper may keep
  reason: why it was rejected
  reason_code: faces, wrong_place, unclear, copied or incomplete; null for none
  reason_tasks: the numbers of the tasks that it is about
  faces_tasks: the tasks whose submitted pictures the app deletes, because people can be recognized
  coupons: as in missions.listing, each with coupon, the id of the one that was granted, or null
Repeated: Reads only.
Sample:
  SELECT assignment_id, state, amount, pending, reason FROM missions.done(person => 18);
$doc$;

-- The pay of a person's submitted missions that wait for the review; see ledger.pending_sources.
CREATE OR REPLACE FUNCTION missions.pending(person bigint)
RETURNS TABLE (currency text, amount bigint) LANGUAGE sql STABLE AS $$
    SELECT m.currency, sum(m.pay)::bigint
    FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
    WHERE a.person_id = $1 AND a.state = 'submitted' GROUP BY 1
$$;

CREATE OR REPLACE FUNCTION missions.checklist(person bigint, assignment bigint)
RETURNS TABLE (number smallint, step smallint, kind missions.task_kind, title text,
    is_required boolean, is_open boolean, is_done boolean, done_at timestamptz, content jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT t.number, t.step, t.kind, t.title, t.is_required,
        a.state = 'arrived' AND t.step <= missions.open_step(a.id), s.number IS NOT NULL,
        s.done_at, s.content
    FROM missions.assignments a JOIN missions.tasks t ON t.mission_id = a.mission_id
    LEFT JOIN missions.steps s ON s.assignment_id = a.id AND s.number = t.number
    WHERE a.id = $2 AND a.person_id = $1 ORDER BY t.number;
END $$;
COMMENT ON FUNCTION missions.checklist(bigint, bigint) IS $doc$
Lists the tasks of a shopper's assignment by number; no row if it is not theirs.

Arguments:
  person: the shopper
  assignment: the assignment
Returns:
  number: the task
  step: 1 for interaction, photos and video, 2 for the survey, 3 for the report
  kind: interaction, photos, video, survey or report
  title: what to do
  is_required: whether the mission cannot be submitted without it
  is_open: whether it can be done now
  is_done: whether it is done
  done_at: when it was done last
  content: its result
Repeated: Reads only.
Sample:
  SELECT number, kind, title, is_open, is_done FROM missions.checklist(person => 18,
      assignment => 1);
$doc$;

CREATE OR REPLACE FUNCTION missions.standing(person bigint)
RETURNS TABLE (state missions.shopper_state, state_since timestamptz, reason text, quality real,
    reviewed int, good int, completed int, missed int, radius_m real, daily_capacity smallint,
    expected_pay bigint, away_until timestamptz, has_home boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.state, s.state_since, s.reason, s.quality, s.reviewed, s.good,
        s.completed, s.missed, s.radius_m, s.daily_capacity, s.expected_pay, s.away_until,
        s.home IS NOT NULL
    FROM missions.shoppers s WHERE s.person_id = $1;
END $$;
COMMENT ON FUNCTION missions.standing(bigint) IS $doc$
Reads a person's own state as a shopper; no row if they never were one.

Arguments:
  person: the person
Returns:
  state: candidate, active, suspended, refused or left
  state_since: since when
  reason: why, for the person to read
  quality: the lower Wilson bound of the share of good answers, 0 to 1
  reviewed: how many answers were reviewed within a year
  good: how many of them were good
  completed: how many missions were approved
  missed: how many accepted missions were not submitted in time
  radius_m: how far they travel
  daily_capacity: how many missions a day
  expected_pay: the pay that they expect, in minor units; null for any
  away_until: they get no offers before
  has_home: whether a home is set
Repeated: Reads only.
Sample:
  SELECT state, quality, completed, has_home FROM missions.standing(person => 18);
$doc$;
