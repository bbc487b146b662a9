-- Missions that are opened, who may be sent there, and offers.

-- Lets shoppers be sought for a mission, whose row is locked, if any may still be sent there.
CREATE OR REPLACE FUNCTION missions.seek(mission bigint, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF EXISTS (SELECT FROM missions.missions m CROSS JOIN missions.rules r
        WHERE m.id = mission AND m.state = 'open' AND NOT m.is_locked
          AND at <= m.closes_at - r.lead) THEN
        PERFORM errand.enqueue('missions.assign', jsonb_build_object('mission_id', mission),
            unique_key => 'mission:' || mission);
    END IF;
END $$;

-- Tells a shopper what became of an assignment of theirs.
CREATE OR REPLACE FUNCTION missions.tell(assignment bigint, event text, step int DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.enqueue('missions.tell', jsonb_build_object(
        'assignment_id', assignment, 'event', event, 'step', step));
END $$;

-- Ends an assignment, whose mission is locked, other than by payment: the slot is free again, and
-- so is the branch for those who never were there.
--   event  what the shopper is told; null: nothing
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
        PERFORM missions.tell(held.id, event);
    END IF;
    PERFORM missions.seek(held.mission_id, at);
END $$;

-- Opens a mission at a branch; returns its id.
--   paid, pay      minor units: what the establishment pays, and the shopper's part of it
--   tasks          [{"kind": "photos", "title": "The entrance", "is_required": true}, ...]
--   time_zone      by whose clocks its days are counted: an IANA name
--   slots          how many shoppers are sent
--   least_quality  of Wilson's bound, 0 to 1
--   least_age, rest_days   null: as missions.rules says
--   is_urgent      shoppers are sought when the transaction commits
CREATE OR REPLACE FUNCTION missions.open_mission(
    branch bigint, title text, opens_at timestamptz, closes_at timestamptz, paid bigint,
    pay bigint, tasks jsonb, time_zone text, slots int DEFAULT 1, freebies text DEFAULT NULL,
    least_quality real DEFAULT 0, radius_m real DEFAULT 25000, least_age int DEFAULT NULL,
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
        'opens_at, closes_at: expected a time from which, and one until when that is to come, '
        'within ten years');
    PERFORM errand.expect(pay >= 1 AND pay <= paid AND paid <= 1000000000,
        'paid, pay: expected minor units, 1 <= pay <= paid <= 10^9');
    PERFORM errand.expect(length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters in a line');
    PERFORM errand.expect(slots BETWEEN 1 AND 100, 'slots: expected 1 to 100');
    PERFORM errand.expect(coalesce(length(freebies) <= 500, true),
        'freebies: expected at most 500 characters');
    PERFORM errand.expect(least_quality BETWEEN 0 AND 1, 'least_quality: expected 0 to 1');
    PERFORM errand.expect(radius_m BETWEEN 100 AND 200000,
        'radius_m: expected 100 to 200000 metres');
    PERFORM errand.expect(coalesce(least_age BETWEEN 16 AND 99, true),
        'least_age: expected 16 to 99 years, or null');
    PERFORM errand.expect(coalesce(rest_days BETWEEN 0 AND 3650, true),
        'rest_days: expected 0 to 3650, or null');
    PERFORM errand.expect(is_urgent IS NOT NULL, 'is_urgent: expected true or false');
    PERFORM errand.expect(currency ~ '^[A-Z]{3}$', 'currency: expected a code such as CAD');
    PERFORM errand.expect(EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = time_zone),
        'time_zone: expected a name such as America/Toronto');
    PERFORM errand.expect(CASE WHEN jsonb_typeof(tasks) = 'array'
        THEN jsonb_array_length(tasks) BETWEEN 1 AND 50 END, 'tasks: expected 1 to 50 of them');
    PERFORM errand.expect((SELECT bool_and((
            t ->> 'kind' IN ('interaction', 'photos', 'video', 'survey', 'report')
            AND jsonb_typeof(t -> 'title') = 'string'
            AND length(t ->> 'title') BETWEEN 1 AND 200 AND t ->> 'title' !~ '[[:cntrl:]]'
            AND coalesce(jsonb_typeof(t -> 'is_required') = 'boolean', true)
            ) IS TRUE) FROM jsonb_array_elements(tasks) t),
        'tasks: expected each to have a kind (interaction, photos, video, survey, report) and a '
        'title of 1 to 200 characters, and is_required, if at all, as true or false');
    INSERT INTO missions.missions AS m (branch_id, establishment_id, opens_at, closes_at,
        first_day, due_day, paid, pay, slots, rest_days, least_age, radius_m, least_quality,
        is_urgent, currency, time_zone, title, freebies, place)
    SELECT b.id, b.establishment_id, opens_at, closes_at, (opens_at AT TIME ZONE time_zone)::date,
        -- At midnight the day before is the last one.
        ((closes_at - interval '1 microsecond') AT TIME ZONE time_zone)::date,
        paid, pay, slots, coalesce(rest_days, r.rest_days), least_age, radius_m, least_quality,
        is_urgent, currency, time_zone, title, freebies, b.place
    FROM establishments.branches b CROSS JOIN missions.rules r WHERE b.id = branch
    RETURNING m.id INTO mission;
    IF mission IS NULL THEN
        RAISE EXCEPTION 'no branch has the id %', branch
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

-- Locks a mission; raises where there is none.
CREATE OR REPLACE FUNCTION missions.hold_mission(mission bigint)
RETURNS missions.missions LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of missions.missions;
BEGIN
    SELECT * INTO of FROM missions.missions m WHERE m.id = mission FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no mission has the id %', mission USING ERRCODE = 'no_data_found';
    END IF;
    RETURN of;
END $$;

-- Cancels a mission: who holds a slot and has not submitted is told that it is withdrawn; what was
-- submitted is still reviewed and paid. False when it was cancelled, or over, before.
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

-- Leaves a mission to operators, or gives it back to the schedule; false when it was so before.
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

-- The days on which a visit at a mission bars the shopper from its branch, whichever day it is on:
-- nobody is there twice a day, even where no rest is asked for.
CREATE OR REPLACE FUNCTION missions.days_of(of missions.missions)
RETURNS daterange LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN daterange((of).first_day, (of).due_day + greatest((of).rest_days, 1));

-- Every rule that forbids to send a person to a mission at a time; {} when they may be sent.
-- candidates() says the same of many.
--   unknown            there is no such mission
--   closed             it is cancelled or over
--   too_late           it ends too soon
--   locked             only operators assign it
--   no_slot            others hold all of it
--   not_active, flagged, away, too_young, no_home
--   quality            below what the mission asks for
--   too_far            for the shopper, or for the mission
--   works_there        at the establishment
--   holds_already      they hold a slot there, or were paid for it
--   declined_before    they were sent there before, and it came to nothing
--   rested             they were, or are to be, at the branch too near to these days
--   capacity           they hold enough for the day
CREATE OR REPLACE FUNCTION missions.objections(
    mission bigint, person bigint, at timestamptz DEFAULT NULL
) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    at := coalesce(at, clock_timestamp());
    RETURN coalesce((SELECT array_remove(ARRAY[
        CASE WHEN m.state <> 'open' OR m.closes_at <= at THEN 'closed' END,
        CASE WHEN m.closes_at - r.lead < at THEN 'too_late' END,
        CASE WHEN m.is_locked THEN 'locked' END,
        CASE WHEN (SELECT count(*) FROM missions.assignments a WHERE a.mission_id = m.id
            AND a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')) >= m.slots
            THEN 'no_slot' END,
        CASE WHEN s.state IS DISTINCT FROM 'active' THEN 'not_active' END,
        CASE WHEN EXISTS (SELECT FROM missions.flags f
            WHERE f.person_id = person AND f.cleared_at IS NULL) THEN 'flagged' END,
        CASE WHEN s.away_until > at THEN 'away' END,
        CASE WHEN (p.age_verified_at IS NOT NULL AND p.birth_date <= m.first_day
            - make_interval(years => coalesce(m.least_age, r.least_age))) IS NOT TRUE
            THEN 'too_young' END,
        CASE WHEN s.home IS NULL THEN 'no_home' END,
        CASE WHEN s.quality < m.least_quality THEN 'quality' END,
        CASE WHEN missions.way(s.home, m.place) > least(s.radius_m, m.radius_m)
            THEN 'too_far' END,
        CASE WHEN m.establishment_id = ANY (s.works_for) THEN 'works_there' END,
        CASE WHEN b.holds THEN 'holds_already' END,
        CASE WHEN b.held THEN 'declined_before' END,
        CASE WHEN EXISTS (SELECT FROM missions.assignments a WHERE a.person_id = person
            AND a.branch_id = m.branch_id AND a.barred && missions.days_of(m))
            THEN 'rested' END,
        CASE WHEN (SELECT count(*) FROM missions.assignments a WHERE a.person_id = person
            AND a.due_day = m.due_day
            AND (a.state IN ('offered', 'accepted') OR a.arrived_at IS NOT NULL))
            >= s.daily_capacity
            THEN 'capacity' END], NULL)
    FROM missions.missions m CROSS JOIN missions.rules r
    LEFT JOIN missions.shoppers s ON s.person_id = person
    LEFT JOIN people.people p ON p.id = person
    LEFT JOIN LATERAL (SELECT
            bool_or(a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')) AS holds,
            bool_or(a.state IN ('declined', 'lapsed', 'missed', 'rejected', 'withdrawn')) AS held
        FROM missions.assignments a WHERE a.mission_id = m.id AND a.person_id = person
    ) b ON true
    WHERE m.id = mission), '{unknown}');
END $$;

-- The nearest shoppers, as many as missions.rules says, who may be sent to each of some missions;
-- none for missions that are full, locked or nearly over.
-- distance_m is on the sphere.
--
-- Whom a mission must not have is read once for each mission, and not for each pair.
CREATE OR REPLACE FUNCTION missions.candidates(among bigint[], at timestamptz DEFAULT NULL)
RETURNS TABLE (mission_id bigint, person_id bigint, distance_m real) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := coalesce($2, clock_timestamp());
    rules missions.rules;
BEGIN
    SELECT * INTO rules FROM missions.rules;
    RETURN QUERY
    WITH sought AS MATERIALIZED (
        SELECT m.*, (m.first_day
                - make_interval(years => coalesce(m.least_age, rules.least_age)))::date AS born_by,
            ARRAY(SELECT a.person_id FROM missions.assignments a WHERE a.mission_id = m.id
                UNION ALL
                SELECT a.person_id FROM missions.assignments a
                WHERE a.branch_id = m.branch_id AND a.barred && missions.days_of(m))
                AS barred_ones
        FROM missions.missions m
        WHERE m.id = ANY ($1) AND m.state = 'open' AND NOT m.is_locked
          AND m.closes_at > moment AND m.closes_at - rules.lead >= moment
          AND (SELECT count(*) FROM missions.assignments a WHERE a.mission_id = m.id
            AND a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')) < m.slots
    )
    SELECT m.id, c.person_id, c.way::real
    FROM sought m CROSS JOIN LATERAL (
        -- In the order of the ways, each of which is measured once, until there are enough.
        SELECT n.person_id, n.way
        FROM (
            SELECT s.person_id, s.radius_m, s.daily_capacity, missions.way(s.home, m.place) AS way
            FROM missions.shoppers s
            WHERE s.state = 'active' AND s.home IS NOT NULL
              AND missions.is_near(s.home, m.place, m.radius_m)
              AND s.quality >= m.least_quality
              AND (s.away_until <= moment) IS NOT FALSE
              AND m.establishment_id <> ALL (s.works_for)
              AND s.person_id <> ALL (m.barred_ones)
              AND s.person_id NOT IN (
                SELECT f.person_id FROM missions.flags f WHERE f.cleared_at IS NULL)
            ORDER BY missions.way(s.home, m.place) OFFSET 0
        ) n
        JOIN people.people p ON p.id = n.person_id
        WHERE n.way <= least(n.radius_m, m.radius_m)
          AND p.age_verified_at IS NOT NULL AND p.birth_date <= m.born_by
          AND (SELECT count(*) FROM missions.assignments a
            WHERE a.person_id = n.person_id AND a.due_day = m.due_day
              AND (a.state IN ('offered', 'accepted') OR a.arrived_at IS NOT NULL))
            < n.daily_capacity
        -- Not sorted once more, so that it ends with the last of them; all of equal way, so that
        -- the same shoppers are found each time.
        ORDER BY n.way FETCH FIRST (rules.candidates) ROWS WITH TIES
    ) c
    ORDER BY m.id, c.way, c.person_id;
END $$;

-- Gives a shopper the lowest free slot of a mission; both are locked, and nothing forbids it.
CREATE OR REPLACE FUNCTION missions.give(
    mission bigint, person bigint, score bigint, distance_m real, at timestamptz, actor text,
    is_accepted boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    term missions.answer_term;
    assignment bigint;
BEGIN
    term := missions.term(mission, person, at);
    INSERT INTO missions.assignments AS a (mission_id, person_id, branch_id, offered_at,
        answer_by, due_at, accepted_at, remind_at, due_day, barred, score, slot, distance_m, state,
        actor)
    SELECT m.id, person, m.branch_id, at,
        term.answer_by, m.closes_at, CASE WHEN is_accepted THEN at END,
        CASE WHEN is_accepted THEN missions.next_reminder(m.closes_at, at)
            ELSE term.remind_at END,
        m.due_day, missions.days_of(m), score,
        (SELECT n FROM generate_series(1, m.slots) n WHERE NOT EXISTS (
            SELECT FROM missions.assignments o WHERE o.mission_id = m.id AND o.slot = n
              AND o.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid'))
            ORDER BY n LIMIT 1),
        distance_m,
        CASE WHEN is_accepted THEN 'accepted' ELSE 'offered' END::missions.assignment_state, actor
    FROM missions.missions m WHERE m.id = mission
    RETURNING a.id INTO assignment;
    UPDATE missions.shoppers s SET waiting_since = at WHERE s.person_id = person;
    PERFORM missions.tell(assignment, CASE WHEN is_accepted THEN 'agreed' ELSE 'offered' END);
    RETURN assignment;
END $$;

-- Offers a mission to a shopper; returns the assignment's id, or the objections to it. That it is
-- locked, or ends soon, is none here: operators offer, and the schedule has offer_many().
--   score, distance_m  what it is worth, and the way; null: an operator's choice, and computed
--   actor              the operator; null: the schedule
--   is_accepted        it was accepted on the phone
--   is_forced          though they were sent there before, are too far or not good enough
CREATE OR REPLACE FUNCTION missions.offer(
    mission bigint, person bigint, score bigint DEFAULT NULL, distance_m real DEFAULT NULL,
    at timestamptz DEFAULT NULL, actor text DEFAULT NULL, is_accepted boolean DEFAULT false,
    is_forced boolean DEFAULT false, OUT assignment_id bigint, OUT refused text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM missions.missions m WHERE m.id = mission FOR NO KEY UPDATE;
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    at := coalesce(at, clock_timestamp());
    refused := array_remove(array_remove(
        missions.objections(mission, person, at), 'locked'), 'too_late');
    IF is_forced THEN
        refused := ARRAY(SELECT o FROM unnest(refused) WITH ORDINALITY AS u (o, n)
            WHERE o NOT IN ('declined_before', 'too_far', 'quality') ORDER BY n);
    END IF;
    IF refused <> '{}' THEN
        RETURN;
    END IF;
    refused := NULL;
    assignment_id := missions.give(mission, person, score,
        coalesce(distance_m, (SELECT missions.way(s.home, m.place)::real
            FROM missions.shoppers s CROSS JOIN missions.missions m
            WHERE s.person_id = person AND m.id = mission)),
        at, actor, is_accepted);
END $$;

-- Offers many missions at once, each pair for itself, in their order: a pair to which there is an
-- objection, perhaps because of one before it, is refused with the first of them, and with 'busy'
-- where somebody holds the mission or the shopper.
--   place  of the pair, from 1
CREATE OR REPLACE FUNCTION missions.offer_many(
    missions bigint[], persons bigint[], scores bigint[], distances real[],
    at timestamptz DEFAULT NULL
) RETURNS TABLE (place int, assignment_id bigint, refused text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    our_missions bigint[];
    our_persons bigint[];
BEGIN
    PERFORM errand.expect(cardinality(missions) = ALL (ARRAY[cardinality(persons),
            cardinality(scores), cardinality(distances)]),
        'offer_many: expected four arrays of one length');
    our_missions := ARRAY(SELECT m.id FROM missions.missions m WHERE m.id = ANY (missions)
        ORDER BY m.id FOR NO KEY UPDATE SKIP LOCKED);
    our_persons := ARRAY(SELECT s.person_id FROM missions.shoppers s
        WHERE s.person_id = ANY (persons) ORDER BY s.person_id FOR NO KEY UPDATE SKIP LOCKED);
    at := coalesce(at, clock_timestamp());
    FOR n IN 1..cardinality(missions) LOOP
        place := n;
        refused := CASE WHEN EXISTS (SELECT FROM missions.missions m
                WHERE m.id = missions[n] AND m.id <> ALL (our_missions))
            OR EXISTS (SELECT FROM missions.shoppers s WHERE s.person_id = persons[n]
                AND s.person_id <> ALL (our_persons)) THEN 'busy'
            ELSE (missions.objections(missions[n], persons[n], at))[1] END;
        assignment_id := CASE WHEN refused IS NULL THEN missions.give(missions[n], persons[n],
            scores[n], distances[n], at, NULL, false) END;
        RETURN NEXT;
    END LOOP;
END $$;
