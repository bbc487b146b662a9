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

CREATE OR REPLACE FUNCTION missions.open_mission(
    branch bigint, title text, opens_at timestamptz, closes_at timestamptz, paid bigint,
    pay bigint, tasks jsonb, time_zone text, slots int DEFAULT 1, freebies text DEFAULT NULL,
    min_quality real DEFAULT 0, radius_m real DEFAULT 25000, min_age int DEFAULT NULL,
    rest_days int DEFAULT NULL, is_urgent boolean DEFAULT false, currency text DEFAULT 'CAD',
    request_id text DEFAULT NULL, coupons jsonb DEFAULT '[]'
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    mission bigint;
    hash bytea;
BEGIN
    coupons := coalesce(coupons, '[]');
    PERFORM errand.expect(coalesce(length(request_id) BETWEEN 1 AND 100, true),
        'request_id: expected 1 to 100 characters, or null');
    IF request_id IS NOT NULL THEN
        hash := sha256(convert_to((jsonb_build_array(branch, title, extract(epoch FROM opens_at),
            extract(epoch FROM closes_at), paid, pay, tasks, time_zone, slots, freebies,
            min_quality, radius_m, min_age, rest_days, is_urgent, currency)
            || CASE coupons WHEN '[]' THEN '[]' ELSE jsonb_build_array(coupons) END)::text,
            'UTF8'));
        mission := missions.opened_by(request_id, hash);
        IF mission IS NOT NULL THEN
            RETURN mission;
        END IF;
    END IF;
    PERFORM missions.expect_terms(title, opens_at, closes_at, paid, pay, at);
    PERFORM missions.expect_conditions(
        slots, freebies, min_quality, radius_m, min_age, rest_days);
    PERFORM missions.expect_setting(is_urgent, currency, time_zone);
    PERFORM missions.expect_tasks(tasks);
    PERFORM missions.expect_rewards(coupons);
    IF EXISTS (SELECT FROM establishments.branches b
        WHERE b.id = branch AND b.closed_at IS NOT NULL) THEN
        PERFORM errand.refuse('closed', format('branch %s is closed', branch));
    END IF;
    INSERT INTO missions.missions AS m (branch_id, establishment_id, opens_at, closes_at,
        first_day, due_day, paid, pay, slots, rest_days, min_age, radius_m, min_quality,
        is_urgent, currency, time_zone, title, freebies, place, request_id, request_hash)
    SELECT b.id, b.establishment_id, opens_at, closes_at, (opens_at AT TIME ZONE time_zone)::date,
        -- A mission that closes at midnight ends on the day before.
        ((closes_at - interval '1 microsecond') AT TIME ZONE time_zone)::date,
        paid, pay, slots, coalesce(rest_days, r.rest_days), min_age, radius_m, min_quality,
        is_urgent, currency, time_zone, title, freebies, b.place, request_id, hash
    FROM establishments.branches b CROSS JOIN missions.rules r WHERE b.id = branch
    ON CONFLICT ON CONSTRAINT missions_request DO NOTHING
    RETURNING m.id INTO mission;
    IF mission IS NULL THEN
        -- The same request at once has just opened it.
        mission := missions.opened_by(request_id, hash);
        IF mission IS NOT NULL THEN
            RETURN mission;
        END IF;
        RAISE EXCEPTION 'branch % does not exist', branch
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the branch first.';
    END IF;
    INSERT INTO missions.tasks (mission_id, number, kind, is_required, title)
    SELECT mission, t.number, (t.task ->> 'kind')::missions.task_kind,
        coalesce((t.task ->> 'is_required')::boolean, true), t.task ->> 'title'
    FROM jsonb_array_elements(tasks) WITH ORDINALITY AS t (task, number);
    PERFORM missions.add_rewards(mission, coupons);
    IF is_urgent THEN
        PERFORM missions.seek(mission, at);
    END IF;
    RETURN mission;
END $$;
COMMENT ON FUNCTION missions.open_mission(
    bigint, text, timestamptz, timestamptz, bigint, bigint, jsonb, text, int, text, real, real, int,
    int, boolean, text, text, jsonb) IS $doc$
Opens a mission at a branch. The next assignment run offers it to shoppers; at once if it is urgent.

Arguments:
  branch: the branch
  title: what to do, 1 to 200 characters
  opens_at: when shoppers may arrive
  closes_at: until when, in the next ten years
  paid: what the establishment pays for each shopper, in minor units
  pay: the shopper's share of it
  tasks: an array of 1 to 50 objects with kind (interaction, photos, video, survey or report), title
    and optionally is_required (true)
  time_zone: the IANA name of the zone in which its days are counted, such as America/Toronto
  slots: how many shoppers, 1 to 100
  freebies: what shoppers may keep, at most 500 characters
  min_quality: the least quality of a shopper, 0 to 1
  radius_m: how far away shoppers may live, 100 to 200000
  min_age: 16 to 99 years; null for missions.rules
  rest_days: days between two visits of a shopper to the branch; null for missions.rules
  is_urgent: whether it is offered as soon as the transaction commits
  currency: of both amounts
  request_id: 1 to 100 characters, the same when the app repeats the request; null: each call opens
    another mission
  coupons: what a shopper gets besides the pay when the submission is approved: an array of at most
    10 objects with establishment, title and days, 1 to 365, for which the coupon is valid
Returns:
  open_mission: the mission's id
Reasons:
  closed: the branch, or the establishment of a coupon, is closed
Errors:
  22023: an argument is out of range; the text names it
  23503: no such branch, or no such establishment of a coupon
  23505: the request_id is known with other content
Repeated: with a request_id, answers the same id and opens nothing.
Sample:
  SELECT missions.open_mission(branch => 3, title => 'Ask about size', opens_at => now(),
      closes_at => now() + interval '3 days', paid => 2500, pay => 1500,
      tasks => '[{"kind": "photos", "title": "The shelf"},
          {"kind": "report", "title": "How it was"}]', time_zone => 'America/Toronto',
      coupons => '[{"establishment": 7, "title": "A free coffee", "days": 30}]');
$doc$;

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
COMMENT ON FUNCTION missions.cancel_mission(bigint, text) IS $doc$
Cancels a mission. Shoppers who have not submitted are notified, and their assignments withdrawn;
submissions are still reviewed and paid.

Arguments:
  mission: the mission
  reason: why, for shoppers to read, 1 to 500 characters
Returns:
  cancel_mission: whether it was open
Errors:
  22023: the reason is empty or too long
  P0002: no such mission
Repeated: answers false and changes nothing.
Sample:
  SELECT missions.cancel_mission(mission => 2, reason => 'The branch is closed.');
$doc$;

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
COMMENT ON FUNCTION missions.lock_mission(bigint, boolean) IS $doc$
Locks a mission, so that only operators offer it, or unlocks it.

Arguments:
  mission: the mission
  is_locked: true to lock it
Returns:
  lock_mission: whether anything changed
Errors:
  22023: is_locked is null
  P0002: no such mission
Repeated: answers false and changes nothing.
Sample:
  SELECT missions.lock_mission(mission => 1, is_locked => true);
$doc$;

-- The days on which an assignment bars the shopper from other visits to the branch: the days of the
-- mission and its rest period, which is at least one day.
CREATE OR REPLACE FUNCTION missions.days_of(of missions.missions)
RETURNS daterange LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN daterange((of).first_day, (of).due_day + greatest((of).rest_days, 1));
