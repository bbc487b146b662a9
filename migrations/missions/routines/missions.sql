-- Missions: opened, cancelled, locked and unlocked.

-- Enqueues an assignment run for a mission, if it can still be offered. The caller holds the lock
-- on its row.
CREATE OR REPLACE FUNCTION missions.seek(mission bigint, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF EXISTS (SELECT FROM missions.missions m CROSS JOIN missions.rules r
        WHERE m.id = mission AND m.state = 'open' AND NOT m.is_locked
          AND at <= m.closes_at - r.lead) THEN
        PERFORM errand.enqueue_own('missions.assign', jsonb_build_object('mission_id', mission),
            unique_key => 'mission:' || mission);
    END IF;
END $$;

-- Notifies a shopper of an event of their assignment.
CREATE OR REPLACE FUNCTION missions.notify(assignment bigint, event text, step int DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.enqueue_own('missions.notify', jsonb_build_object(
        'assignment_id', assignment, 'event', event, 'step', step));
END $$;

-- Finishes an assignment without payment and frees the slot. The rest period of the branch is
-- lifted if the shopper never arrived. The caller holds the lock on the mission.
--   event  the event to notify the shopper of; null: none
CREATE OR REPLACE FUNCTION missions.finish(
    held missions.assignments, after missions.assignment_state, at timestamptz, actor text,
    reason text, event text
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE missions.assignments a SET state = after, ended_at = at, remind_at = NULL,
        barred = CASE WHEN a.arrived_at IS NULL THEN 'empty' ELSE a.barred END,
        actor = actor, reason = reason
    WHERE a.id = held.id;
    IF event IS NOT NULL THEN
        PERFORM missions.notify(held.id, event);
    END IF;
    PERFORM missions.seek(held.mission_id, at);
END $$;

-- Opens a mission at a branch; returns its id.
--   paid, pay           amounts in minor units: the establishment's price and the shopper's pay
--   tasks               [{"kind": "photos", "title": "The entrance", "is_required": true}, ...]
--   time_zone           the IANA name of the zone in which its days are counted
--   slots               the number of shoppers
--   min_quality         the minimum of shoppers.quality, 0 to 1
--   min_age, rest_days  null: the default in missions.rules
--   is_urgent           start an assignment run when the transaction commits
CREATE OR REPLACE FUNCTION missions.open_mission(
    branch bigint, title text, opens_at timestamptz, closes_at timestamptz, paid bigint,
    pay bigint, tasks jsonb, time_zone text, slots int DEFAULT 1, freebies text DEFAULT NULL,
    min_quality real DEFAULT 0, radius_m real DEFAULT 25000, min_age int DEFAULT NULL,
    rest_days int DEFAULT NULL, is_urgent boolean DEFAULT false, currency text DEFAULT 'CAD'
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    mission bigint;
BEGIN
    PERFORM errand.expect(opens_at < closes_at AND closes_at > at
            AND opens_at >= at - interval '1 year' AND closes_at <= at + interval '10 years',
        'opens_at, closes_at: expected opens_at < closes_at, a closes_at within the next ten '
        'years, and an opens_at of at most one year ago');
    PERFORM errand.expect(pay >= 1 AND pay <= paid AND paid <= 1000000000,
        'paid, pay: expected minor units, 1 <= pay <= paid <= 10^9');
    PERFORM errand.expect(length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters on one line');
    PERFORM errand.expect(slots BETWEEN 1 AND 100, 'slots: expected 1 to 100');
    PERFORM errand.expect(coalesce(length(freebies) <= 500, true),
        'freebies: expected at most 500 characters');
    PERFORM errand.expect(min_quality BETWEEN 0 AND 1, 'min_quality: expected 0 to 1');
    PERFORM errand.expect(radius_m BETWEEN 100 AND 200000,
        'radius_m: expected 100 to 200000 metres');
    PERFORM errand.expect(coalesce(min_age BETWEEN 16 AND 99, true),
        'min_age: expected 16 to 99 years, or null');
    PERFORM errand.expect(coalesce(rest_days BETWEEN 0 AND 3650, true),
        'rest_days: expected 0 to 3650, or null');
    PERFORM errand.expect(is_urgent IS NOT NULL, 'is_urgent: expected true or false');
    PERFORM errand.expect(currency ~ '^[A-Z]{3}$',
        'currency: expected an ISO 4217 code such as CAD');
    PERFORM errand.expect(EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = time_zone),
        'time_zone: expected an IANA name such as America/Toronto');
    PERFORM errand.expect(CASE WHEN jsonb_typeof(tasks) = 'array'
        THEN jsonb_array_length(tasks) BETWEEN 1 AND 50 END, 'tasks: expected an array of 1 to 50');
    PERFORM errand.expect((SELECT bool_and((
            t ->> 'kind' IN ('interaction', 'photos', 'video', 'survey', 'report')
            AND jsonb_typeof(t -> 'title') = 'string'
            AND length(t ->> 'title') BETWEEN 1 AND 200 AND t ->> 'title' !~ '[[:cntrl:]]'
            AND coalesce(jsonb_typeof(t -> 'is_required') = 'boolean', true)
            ) IS TRUE) FROM jsonb_array_elements(tasks) t),
        'tasks: expected each to have a kind (interaction, photos, video, survey, report), a '
        'title of 1 to 200 characters, and optionally is_required, true or false');
    INSERT INTO missions.missions AS m (branch_id, establishment_id, opens_at, closes_at,
        first_day, due_day, paid, pay, slots, rest_days, min_age, radius_m, min_quality,
        is_urgent, currency, time_zone, title, freebies, place)
    SELECT b.id, b.establishment_id, opens_at, closes_at, (opens_at AT TIME ZONE time_zone)::date,
        -- A mission that closes at midnight ends on the day before.
        ((closes_at - interval '1 microsecond') AT TIME ZONE time_zone)::date,
        paid, pay, slots, coalesce(rest_days, r.rest_days), min_age, radius_m, min_quality,
        is_urgent, currency, time_zone, title, freebies, b.place
    FROM establishments.branches b CROSS JOIN missions.rules r WHERE b.id = branch
    RETURNING m.id INTO mission;
    IF mission IS NULL THEN
        RAISE EXCEPTION 'branch % does not exist', branch
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the branch first.';
    END IF;
    INSERT INTO missions.tasks (mission_id, number, kind, is_required, title)
    SELECT mission, t.number, (t.task ->> 'kind')::missions.task_kind,
        coalesce((t.task ->> 'is_required')::boolean, true), t.task ->> 'title'
    FROM jsonb_array_elements(tasks) WITH ORDINALITY AS t (task, number);
    IF is_urgent THEN
        PERFORM missions.seek(mission, at);
    END IF;
    RETURN mission;
END $$;

-- Locks a mission; raises an error if it does not exist.
CREATE OR REPLACE FUNCTION missions.hold_mission(mission bigint)
RETURNS missions.missions LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of missions.missions;
BEGIN
    SELECT * INTO of FROM missions.missions m WHERE m.id = mission FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'mission % does not exist', mission USING ERRCODE = 'no_data_found';
    END IF;
    RETURN of;
END $$;

-- Cancels a mission. Unsubmitted assignments are withdrawn and their shoppers notified; submissions
-- are still reviewed and paid. Returns false if the mission was already cancelled or over.
CREATE OR REPLACE FUNCTION missions.cancel_mission(mission bigint, reason text)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz;
    held missions.assignments;
BEGIN
    PERFORM errand.expect(length(reason) BETWEEN 1 AND 500,
        'reason: expected 1 to 500 characters');
    IF (missions.hold_mission(mission)).state <> 'open' THEN
        RETURN false;
    END IF;
    at := clock_timestamp();
    UPDATE missions.missions m SET state = 'cancelled', reason = reason WHERE m.id = mission;
    FOR held IN SELECT a.* FROM missions.assignments a
        WHERE a.mission_id = mission AND a.state IN ('offered', 'accepted', 'arrived')
        ORDER BY a.id
    LOOP
        PERFORM missions.finish(held, 'withdrawn', at, NULL, reason, 'withdrawn');
    END LOOP;
    RETURN true;
END $$;

-- Excludes a mission from the schedule (locks it) or includes it again; false if nothing changed.
CREATE OR REPLACE FUNCTION missions.lock_mission(mission bigint, is_locked boolean)
RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(is_locked IS NOT NULL, 'is_locked: expected true or false');
    IF (missions.hold_mission(mission)).is_locked = is_locked THEN
        RETURN false;
    END IF;
    UPDATE missions.missions m SET is_locked = is_locked WHERE m.id = mission;
    IF NOT is_locked THEN
        PERFORM missions.seek(mission, clock_timestamp());
    END IF;
    RETURN true;
END $$;

-- The days on which an assignment bars the shopper from other visits to the branch: the days of the
-- mission and its rest period, which is at least one day.
CREATE OR REPLACE FUNCTION missions.days_of(of missions.missions)
RETURNS daterange LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN daterange((of).first_day, (of).due_day + greatest((of).rest_days, 1));
