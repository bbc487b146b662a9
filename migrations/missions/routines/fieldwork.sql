-- Shoppers accept or decline offers, arrive at the branch, work through the checklist and submit.

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

-- Accepts an offer. Withdraws it instead if the shopper has become ineligible.
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
        && (ARRAY['not_active', 'flagged', 'too_young', 'works_there']
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

-- Declines an offer or an accepted assignment, before arrival and before the deadline.
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

-- Records the shopper's arrival at the branch, which opens the checklist.
--   accuracy_m  the accuracy radius of the position, in metres
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

-- Records the result of a task, which may be replaced until the mission is submitted. Interaction,
-- photos and video are open from the arrival on, then the survey, then the report: each when all
-- required tasks of earlier steps are done.
--   content  JSON defined by the app, up to 16 KiB
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

-- Submits an assignment for review.
--   request_id  1 to 100 characters, the same when the app repeats the request
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
