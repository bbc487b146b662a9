-- Shoppers arrive at the branch, work through the checklist and submit.

CREATE OR REPLACE FUNCTION missions.arrive(
    person bigint, assignment bigint, longitude double precision, latitude double precision,
    accuracy_m double precision
) RETURNS missions.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    of missions.missions;
    rules missions.rules;
    at timestamptz;
    distance_m double precision;
    today date;
BEGIN
    PERFORM missions.expect_place(longitude, latitude);
    PERFORM errand.expect(accuracy_m >= 0 AND accuracy_m < 'Infinity',
        'accuracy_m: expected metres, 0 or more');
    held := missions.hold(assignment, person);
    at := clock_timestamp();
    IF held.id IS NULL THEN
        RETURN missions.no_answer();
    END IF;
    IF held.state <> 'accepted' THEN
        RETURN CASE WHEN held.state IN ('arrived', 'submitted', 'paid')
            THEN missions.answer_of(assignment, true, 'ok')
            ELSE missions.answer_of(assignment, false, held.state::text) END;
    END IF;
    SELECT * INTO of FROM missions.missions m WHERE m.id = held.mission_id;
    SELECT * INTO rules FROM missions.rules;
    IF at < of.opens_at OR at >= of.closes_at THEN
        RETURN missions.answer_of(assignment, false,
            CASE WHEN at < of.opens_at THEN 'too_early' ELSE 'too_late' END);
    END IF;
    IF accuracy_m > rules.worst_accuracy_m THEN
        RETURN missions.answer_of(assignment, false, 'too_vague');
    END IF;
    distance_m := greatest(0, missions.distance(missions.point(longitude, latitude), of.place)
        - least(accuracy_m, rules.counted_accuracy_m));
    IF distance_m > rules.arrival_m THEN
        RETURN missions.answer_of(assignment, false, 'too_far', distance_m::real);
    END IF;
    today := (at AT TIME ZONE of.time_zone)::date;
    UPDATE missions.assignments a SET state = 'arrived', arrived_at = at,
        due_at = of.closes_at + rules.finish_within,
        remind_at = missions.next_reminder(of.closes_at + rules.finish_within, at),
        barred = daterange(today, today + greatest(of.rest_days, 1))
    WHERE a.id = assignment;
    RETURN missions.answer_of(assignment, true, 'ok', distance_m::real);
END $$;
COMMENT ON FUNCTION missions.arrive(
    bigint, bigint, double precision, double precision, double precision) IS $doc$
Records that a shopper has arrived at the branch, which opens the checklist. By default, the
position counts within 100 m of the branch, after subtracting its accuracy, at most 50 m of it; a
position that is less accurate than 200 m does not count. The numbers are columns of
`missions.rules`.

Arguments:
  person: the shopper
  assignment: the assignment
  longitude: of the position, WGS 84
  latitude: of the position
  accuracy_m: the radius of its accuracy, in metres
Returns:
  is_accepted: whether it is done, by this request or by an earlier one
  reason: ok, or why it was not done
  assignment_id: the assignment
  mission_id: its mission
  state: of the assignment
  answer_by: until when an offer may be accepted
  closes_at: until when the shopper may arrive
  due_at: until when the shopper may submit
  distance_m: of an arrival: the distance from the branch, less the counted inaccuracy
  open_tasks: the numbers of the tasks that are open and not done
Reasons:
  ok: arrived, now or before
  unknown: the person has no such assignment
  declined: it was declined
  lapsed: the offer was not answered in time
  withdrawn: by an operator or the rules, or because the mission was cancelled
  missed: it was not submitted in time
  rejected: the review rejected it
  offered: the offer must be accepted first
  too_early: the mission is not open yet
  too_late: the mission has closed
  too_vague: the position is not accurate enough
  too_far: distance_m is too much
Errors:
  22003: the position is out of range
  22023: the accuracy is negative, or no number
Repeated: answers ok and changes nothing.
Sample:
  SELECT is_accepted, reason, open_tasks FROM missions.arrive(person => 18, assignment => 1,
      longitude => -73.57, latitude => 45.52, accuracy_m => 12);
$doc$;

CREATE OR REPLACE FUNCTION missions.finish_step(
    person bigint, assignment bigint, number int, content jsonb
) RETURNS missions.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    at timestamptz;
    step smallint;
BEGIN
    PERFORM errand.expect(jsonb_typeof(content) <> 'null' AND pg_column_size(content) <= 16384,
        'content: expected JSON of at most 16384 bytes');
    held := missions.hold(assignment, person);
    at := clock_timestamp();
    IF held.id IS NULL THEN
        RETURN missions.no_answer();
    END IF;
    IF held.state <> 'arrived' OR at >= held.due_at THEN
        RETURN missions.answer_of(assignment, false,
            CASE held.state WHEN 'arrived' THEN 'too_late' ELSE held.state::text END);
    END IF;
    step := (SELECT t.step FROM missions.tasks t
        WHERE t.mission_id = held.mission_id AND t.number = number);
    IF step IS NULL OR step > missions.open_step(assignment) THEN
        RETURN missions.answer_of(assignment, false,
            CASE WHEN step IS NULL THEN 'unknown_task' ELSE 'not_open' END);
    END IF;
    INSERT INTO missions.steps (assignment_id, done_at, number, content)
    VALUES (assignment, at, number, content) ON CONFLICT ON CONSTRAINT steps_pkey
    DO UPDATE SET done_at = at, content = excluded.content;
    RETURN missions.answer_of(assignment, true, 'ok');
END $$;
COMMENT ON FUNCTION missions.finish_step(bigint, bigint, int, jsonb) IS $doc$
Records the result of a task, which may be replaced until the mission is submitted. Interaction,
photos and video are open from the arrival on, then the survey, then the report: each when all
required tasks of earlier steps are done. The app stores pictures elsewhere; content refers to them.

Arguments:
  person: the shopper
  assignment: the assignment
  number: the task
  content: the result, JSON of the app's own, at most 16 KiB
Returns:
  is_accepted: whether it is done, by this request or by an earlier one
  reason: ok, or why it was not done
  assignment_id: the assignment
  mission_id: its mission
  state: of the assignment
  answer_by: until when an offer may be accepted
  closes_at: until when the shopper may arrive
  due_at: until when the shopper may submit
  distance_m: of an arrival: the distance from the branch, less the counted inaccuracy
  open_tasks: the numbers of the tasks that are open and not done
Reasons:
  ok: recorded
  unknown: the person has no such assignment
  declined: it was declined
  lapsed: the offer was not answered in time
  withdrawn: by an operator or the rules, or because the mission was cancelled
  missed: it was not submitted in time
  rejected: the review rejected it
  offered: the offer must be accepted first
  accepted: the shopper has not arrived
  submitted: it was submitted
  paid: it was approved
  too_late: the time to submit is over
  unknown_task: the checklist has no such task
  not_open: a required task of an earlier step is not done
Errors:
  22023: the content is null or too large
Repeated: records the same.
Sample:
  SELECT is_accepted, reason, open_tasks FROM missions.finish_step(person => 18,
      assignment => 1, number => 1, content => '{"photo": "p1"}');
$doc$;

CREATE OR REPLACE FUNCTION missions.submit(person bigint, assignment bigint, request_id text)
RETURNS missions.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    at timestamptz;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100,
        'request_id: expected 1 to 100 characters, the same when the app repeats the request');
    held := missions.hold(assignment, person);
    at := clock_timestamp();
    IF held.id IS NULL THEN
        RETURN missions.no_answer();
    END IF;
    IF held.state IN ('submitted', 'paid') AND held.request_id = request_id THEN
        RETURN missions.answer_of(assignment, true, 'ok');
    END IF;
    IF held.state <> 'arrived' THEN
        RETURN missions.answer_of(assignment, false, held.state::text);
    END IF;
    IF held.request_id = request_id THEN
        RETURN missions.answer_of(assignment, false, 'returned');
    END IF;
    IF at >= held.due_at THEN
        RETURN missions.answer_of(assignment, false, 'too_late');
    END IF;
    IF EXISTS (SELECT FROM missions.tasks t WHERE t.mission_id = held.mission_id AND t.is_required
        AND NOT EXISTS (SELECT FROM missions.steps s
            WHERE s.assignment_id = assignment AND s.number = t.number)) THEN
        RETURN missions.answer_of(assignment, false, 'unfinished');
    END IF;
    UPDATE missions.assignments a SET state = 'submitted', submitted_at = at, remind_at = NULL,
        request_id = request_id
    WHERE a.id = assignment;
    RETURN missions.answer_of(assignment, true, 'ok');
END $$;
COMMENT ON FUNCTION missions.submit(bigint, bigint, text) IS $doc$
Submits a mission for review. It leaves `missions.listing` and stands in `missions.done`, its pay is
pending until an operator approves it. No app approves: an app's login must not be able to pay.

Arguments:
  person: the shopper
  assignment: the assignment
  request_id: 1 to 100 characters, the same when the app repeats the request
Returns:
  is_accepted: whether it is done, by this request or by an earlier one
  reason: ok, or why it was not done
  assignment_id: the assignment
  mission_id: its mission
  state: of the assignment
  answer_by: until when an offer may be accepted
  closes_at: until when the shopper may arrive
  due_at: until when the shopper may submit
  distance_m: of an arrival: the distance from the branch, less the counted inaccuracy
  open_tasks: the numbers of the tasks that are open and not done
Reasons:
  ok: submitted, by this request or by an earlier one with its request_id
  unknown: the person has no such assignment
  declined: it was declined
  lapsed: the offer was not answered in time
  withdrawn: by an operator or the rules, or because the mission was cancelled
  missed: it was not submitted in time
  rejected: the review rejected it
  offered: the offer must be accepted first
  accepted: the shopper has not arrived
  submitted: another request has submitted it
  paid: it was approved
  returned: this submission was returned: a new one needs a new request_id
  too_late: the time to submit is over
  unfinished: a required task is not done
Errors:
  22023: the request_id is empty or too long
Repeated: with the same request_id, answers ok and changes nothing.
Sample:
  SELECT is_accepted, reason FROM missions.submit(person => 18, assignment => 1,
      request_id => 'b7c1');
$doc$;
