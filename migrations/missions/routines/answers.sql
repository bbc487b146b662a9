-- Shoppers accept or decline offers; what each request of theirs returns.

-- The last open step of the checklist: all required tasks of earlier steps are done.
CREATE OR REPLACE FUNCTION missions.open_step(assignment bigint)
RETURNS int LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT coalesce(min(t.step), 3)
        FROM missions.assignments a JOIN missions.tasks t ON t.mission_id = a.mission_id
        WHERE a.id = assignment AND t.is_required AND NOT EXISTS (SELECT FROM missions.steps s
            WHERE s.assignment_id = assignment AND s.number = t.number));
END $$;

CREATE OR REPLACE FUNCTION missions.answer_of(
    assignment bigint, is_accepted boolean, reason text, distance_m real DEFAULT NULL
) RETURNS missions.answer LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    answer missions.answer;
BEGIN
    SELECT is_accepted, reason, a.id, a.mission_id, a.state, a.answer_by, m.closes_at, a.due_at,
        distance_m, CASE a.state WHEN 'arrived' THEN ARRAY(
            SELECT t.number::int FROM missions.tasks t
            WHERE t.mission_id = a.mission_id AND t.step <= missions.open_step(a.id)
              AND NOT EXISTS (SELECT FROM missions.steps s
                WHERE s.assignment_id = a.id AND s.number = t.number) ORDER BY t.number) END
    INTO answer
    FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
    WHERE a.id = assignment;
    RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION missions.no_answer()
RETURNS missions.answer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW (false, 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::missions.answer;

-- Locks the mission, the shopper and then the assignment; null if the person has no such
-- assignment.
CREATE OR REPLACE FUNCTION missions.hold(assignment bigint, person bigint)
RETURNS missions.assignments LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
BEGIN
    SELECT * INTO held FROM missions.assignments a
    WHERE a.id = assignment AND a.person_id = person;
    IF FOUND THEN
        PERFORM FROM missions.missions m WHERE m.id = held.mission_id FOR NO KEY UPDATE;
        PERFORM FROM missions.shoppers s WHERE s.person_id = held.person_id FOR NO KEY UPDATE;
        -- A new statement, so that its snapshot sees changes committed while it waited for locks.
        SELECT * INTO held FROM missions.assignments a WHERE a.id = assignment FOR NO KEY UPDATE;
    END IF;
    RETURN held;
END $$;

CREATE OR REPLACE FUNCTION missions.accept(person bigint, assignment bigint)
RETURNS missions.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    of record;
    at timestamptz;
BEGIN
    held := missions.hold(assignment, person);
    at := clock_timestamp();
    IF held.id IS NULL THEN
        RETURN missions.no_answer();
    END IF;
    IF held.state <> 'offered' THEN
        RETURN CASE WHEN held.state IN ('accepted', 'arrived', 'submitted', 'paid')
            THEN missions.answer_of(assignment, true, 'ok')
            ELSE missions.answer_of(assignment, false, held.state::text) END;
    END IF;
    SELECT m.state, m.closes_at, held.answer_by + r.offer_grace AS lapses_at
    INTO of FROM missions.missions m CROSS JOIN missions.rules r WHERE m.id = held.mission_id;
    -- An operator may have offered it despite a low quality.
    IF missions.objections(held.mission_id, person, at)
        && (ARRAY['not_active', 'blocked', 'flagged', 'too_young', 'works_there']
            || CASE WHEN held.actor IS NULL THEN 'quality' END) THEN
        PERFORM missions.finish(held, 'withdrawn', at, NULL, 'you get no offers now', NULL);
        RETURN missions.answer_of(assignment, false, 'withdrawn');
    END IF;
    IF of.state <> 'open' OR at >= of.closes_at THEN
        RETURN missions.answer_of(assignment, false, 'over');
    END IF;
    IF at >= of.lapses_at THEN
        PERFORM missions.finish(held, 'lapsed', at, NULL, NULL, NULL);
        RETURN missions.answer_of(assignment, false, 'lapsed');
    END IF;
    UPDATE missions.assignments a SET state = 'accepted', accepted_at = at,
        remind_at = missions.next_reminder(of.closes_at, at)
    WHERE a.id = assignment;
    RETURN missions.answer_of(assignment, true, 'ok');
END $$;
COMMENT ON FUNCTION missions.accept(bigint, bigint) IS $doc$
Accepts an offer. It is withdrawn instead if the shopper may get no offers any more. An accepted
mission may still be declined, until the shopper arrives or the mission closes.

Arguments:
  person: the shopper
  assignment: the assignment
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
  ok: accepted, now or before
  unknown: the person has no such assignment
  declined: it was declined
  lapsed: the offer was not answered in time
  withdrawn: by an operator or the rules, or because the mission was cancelled
  missed: it was not submitted in time
  rejected: the review rejected it
  over: the mission has closed or was cancelled
Repeated: answers ok and changes nothing.
Sample:
  SELECT is_accepted, reason, closes_at FROM missions.accept(person => 18, assignment => 1);
$doc$;

CREATE OR REPLACE FUNCTION missions.decline(
    person bigint, assignment bigint, reason text DEFAULT NULL)
RETURNS missions.answer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    at timestamptz;
BEGIN
    PERFORM errand.expect(coalesce(length(reason) <= 500, true),
        'reason: expected at most 500 characters');
    held := missions.hold(assignment, person);
    at := clock_timestamp();
    IF held.id IS NULL THEN
        RETURN missions.no_answer();
    END IF;
    IF held.state NOT IN ('offered', 'accepted', 'declined') THEN
        RETURN missions.answer_of(assignment, false, held.state::text);
    END IF;
    IF held.state = 'accepted' AND at >= held.due_at THEN
        RETURN missions.answer_of(assignment, false, 'too_late');
    END IF;
    IF held.state <> 'declined' THEN
        PERFORM missions.finish(held, 'declined', at, NULL, reason, NULL);
    END IF;
    RETURN missions.answer_of(assignment, true, 'ok');
END $$;
COMMENT ON FUNCTION missions.decline(bigint, bigint, text) IS $doc$
Declines an offer, or a mission that was accepted and not begun. The slot goes to another shopper,
and this one gets the mission no more.

Arguments:
  person: the shopper
  assignment: the assignment
  reason: why, for operators, at most 500 characters
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
  ok: declined, now or before
  unknown: the person has no such assignment
  too_late: the mission has closed
  arrived: the shopper has arrived
  submitted: it was submitted
  paid: it was approved
  rejected: the review rejected it
  lapsed: the offer was not answered in time
  withdrawn: by an operator or the rules, or because the mission was cancelled
  missed: it was not submitted in time
Errors:
  22023: the reason is too long
Repeated: answers ok and changes nothing.
Sample:
  SELECT is_accepted, reason FROM missions.decline(person => 19, assignment => 2);
$doc$;
