-- Who is a shopper: hired, suspended, and gone.

-- Whom a decision by hand, or a refusal, is told of.
CREATE OR REPLACE FUNCTION missions.expect_actor(actor text, reason text, is_reason_needed boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(actor) BETWEEN 1 AND 200,
        'actor: expected who decides, in 1 to 200 characters');
    PERFORM errand.expect(CASE WHEN reason IS NULL THEN NOT is_reason_needed
        ELSE length(reason) BETWEEN 1 AND 500 END,
        'reason: expected 1 to 500 characters for the person to read');
END $$;

CREATE OR REPLACE FUNCTION missions.expect_place(
    longitude double precision, latitude double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (longitude BETWEEN -180 AND 180 AND latitude BETWEEN -90 AND 90) IS NOT TRUE THEN
        RAISE EXCEPTION 'position % %: expected longitude -180 to 180, then latitude -90 to 90',
            coalesce(longitude::text, 'null'), coalesce(latitude::text, 'null')
            USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
END $$;

-- An operator's decision about a shopper; false when they were in that state before, and then the
-- decision is theirs from now on.
CREATE OR REPLACE FUNCTION missions.decide_shopper(
    person bigint, after missions.shopper_state, actor text, reason text
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    before missions.shopper_state;
    of record;
BEGIN
    PERFORM missions.expect_actor(actor, reason, false);
    PERFORM people.expect_person(person);
    IF after = 'active' THEN
        INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good, quality)
        VALUES (person, at, 'candidate', 0, 0, 0) ON CONFLICT DO NOTHING;
    END IF;
    SELECT s.state INTO before FROM missions.shoppers s WHERE s.person_id = person
    FOR NO KEY UPDATE;
    IF before IS NULL THEN
        RAISE EXCEPTION 'person % is no shopper', person USING ERRCODE = 'no_data_found';
    END IF;
    SELECT * INTO of FROM missions.merits(ARRAY[person], at);
    IF after = 'active' AND (of.is_flagged OR NOT of.is_of_age) THEN
        RAISE EXCEPTION 'person % cannot be hired: %', person, CASE WHEN of.is_flagged
            THEN 'a suspicion stands; clear it first' ELSE 'no verified birth date says that they '
            'are old enough' END USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF before = 'left' AND after <> 'refused' OR before NOT IN ('active', 'suspended')
        AND after = 'suspended' THEN
        RAISE EXCEPTION 'shopper % is %: they cannot become %', person, before, after
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE missions.shoppers s SET actor = actor, reason = reason, reviewed = of.reviewed,
        good = of.good, quality = missions.wilson(of.good, of.reviewed)
    WHERE s.person_id = person;
    IF before = after THEN
        RETURN false;
    END IF;
    PERFORM missions.enter_state(person, after, actor, reason, at);
    -- Who never was one is not bothered with it.
    IF after = 'refused' AND before IN ('active', 'suspended') THEN
        PERFORM missions.tell_person(person, 'dismissed', at);
    END IF;
    RETURN true;
END $$;

-- Hires by hand, whom the rules name and others; false when they were active before.
CREATE OR REPLACE FUNCTION missions.hire(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'active', actor, reason);

-- Refuses a shopper for good; only hire() takes it back.
CREATE OR REPLACE FUNCTION missions.refuse(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'refused', actor, reason);

-- Suspends a shopper until hire() is called; the rules do not lift it.
CREATE OR REPLACE FUNCTION missions.suspend(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'suspended', actor, reason);

-- What a shopper chooses; null leaves it as it is, an expected_pay of 0 means any. False when the
-- person is no shopper.
CREATE OR REPLACE FUNCTION missions.set_shopper(
    person bigint, longitude double precision DEFAULT NULL,
    latitude double precision DEFAULT NULL, radius_m real DEFAULT NULL,
    daily_capacity int DEFAULT NULL, expected_pay bigint DEFAULT NULL,
    works_for bigint[] DEFAULT NULL, away_until timestamptz DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF longitude IS NOT NULL OR latitude IS NOT NULL THEN
        PERFORM missions.expect_place(longitude, latitude);
    END IF;
    PERFORM errand.expect(coalesce(radius_m BETWEEN 100 AND 200000, true),
        'radius_m: expected 100 to 200000 metres');
    PERFORM errand.expect(coalesce(daily_capacity BETWEEN 1 AND 20, true),
        'daily_capacity: expected 1 to 20 missions a day');
    PERFORM errand.expect(coalesce(expected_pay BETWEEN 0 AND 1000000000, true),
        'expected_pay: expected minor units up to 10^9, or 0 for any');
    PERFORM errand.expect(coalesce(cardinality(works_for) <= 100
            AND coalesce(array_ndims(works_for), 1) = 1, true),
        'works_for: expected a list of at most 100 establishments');
    PERFORM errand.expect(array_position(works_for, NULL) IS NULL,
        'works_for: expected the ids of establishments, and no null');
    UPDATE missions.shoppers s SET
        home = CASE WHEN longitude IS NULL THEN s.home
            ELSE missions.point(longitude, latitude) END,
        radius_m = coalesce(radius_m, s.radius_m),
        daily_capacity = coalesce(daily_capacity, s.daily_capacity),
        expected_pay = CASE WHEN expected_pay IS NULL THEN s.expected_pay
            ELSE nullif(expected_pay, 0) END,
        works_for = coalesce(works_for, s.works_for),
        away_until = coalesce(away_until, s.away_until)
    WHERE s.person_id = person;
    RETURN FOUND;
END $$;

-- Lets a shopper go by their own wish: what they hold and have not submitted is withdrawn. False
-- when they were none, or had left before.
CREATE OR REPLACE FUNCTION missions.leave(person bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz;
    locked bigint[];
    held missions.assignments;
BEGIN
    locked := ARRAY(SELECT m.id FROM missions.missions m WHERE m.id IN (
        SELECT a.mission_id FROM missions.assignments a
        WHERE a.person_id = person AND a.state IN ('offered', 'accepted', 'arrived', 'submitted'))
    ORDER BY m.id FOR NO KEY UPDATE);
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    at := clock_timestamp();
    -- A suspension by hand waits for them.
    UPDATE missions.shoppers s SET state = 'left', state_since = at,
        actor = CASE s.state WHEN 'suspended' THEN s.actor END,
        reason = CASE s.state WHEN 'suspended' THEN s.reason END
    WHERE s.person_id = person AND s.state <> 'left' AND s.state <> 'refused';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- What was offered at this moment recall() withdraws: its mission is not locked.
    FOR held IN SELECT a.* FROM missions.assignments a
        WHERE a.person_id = person AND a.state IN ('offered', 'accepted', 'arrived')
          AND a.mission_id = ANY (locked) ORDER BY a.id
    LOOP
        PERFORM missions.finish(held, 'withdrawn', at, NULL, 'the shopper has left', NULL);
    END LOOP;
    RETURN true;
END $$;

-- Lets who has left be a candidate again, or suspended as they were by hand; false when they had
-- not left.
CREATE OR REPLACE FUNCTION missions.come_back(person bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    UPDATE missions.shoppers s SET state_since = at, state = CASE WHEN s.actor IS NULL
        THEN 'candidate' ELSE 'suspended' END::missions.shopper_state
    WHERE s.person_id = person AND s.state = 'left';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN true;
END $$;

-- Whether a shopper's home is known: what listings show of a column that inspectors may not read.
CREATE OR REPLACE FUNCTION missions.has_home(person bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.home IS NOT NULL FROM missions.shoppers s WHERE s.person_id = person
$$;
