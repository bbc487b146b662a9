-- Shoppers: hired, suspended, refused and left.

-- Checks who makes a manual decision, and the reason that the person reads.
CREATE OR REPLACE FUNCTION missions.expect_actor(actor text, reason text, is_reason_needed boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(actor) BETWEEN 1 AND 200,
        'actor: expected the name of the operator, 1 to 200 characters');
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

-- Records an operator's decision about a shopper. Returns false if the shopper was already in that
-- state; the operator is recorded even then, so that the rules do not change the state.
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
        RAISE EXCEPTION 'person % is not a shopper', person USING ERRCODE = 'no_data_found';
    END IF;
    SELECT * INTO of FROM missions.merits(ARRAY[person], at);
    IF after = 'active' AND (of.is_flagged OR NOT of.is_of_age) THEN
        PERFORM people.expect_open(person);
        PERFORM errand.refuse(CASE WHEN of.is_flagged THEN 'flagged' ELSE 'age_unverified' END,
            format('person %s cannot be hired: %s', person, CASE WHEN of.is_flagged
                THEN 'a fraud flag is open; clear it first' ELSE 'no verified birth date shows '
                'that they are old enough' END));
    END IF;
    IF before = 'left' AND after <> 'refused' OR before NOT IN ('active', 'suspended')
        AND after = 'suspended' THEN
        RAISE EXCEPTION 'shopper % is %: cannot become %', person, before, after
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    UPDATE missions.shoppers s SET actor = actor, reason = reason, reviewed = of.reviewed,
        good = of.good, quality = missions.wilson(of.good, of.reviewed)
    WHERE s.person_id = person;
    IF before = after THEN
        RETURN false;
    END IF;
    PERFORM missions.enter_state(person, after, actor, reason, at);
    -- People who never were shoppers are not notified.
    IF after = 'refused' AND before IN ('active', 'suspended') THEN
        PERFORM missions.notify_person(person, 'dismissed', at);
    END IF;
    RETURN true;
END $$;

-- Hires any person manually; false if the shopper was already active.
CREATE OR REPLACE FUNCTION missions.hire(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'active', actor, reason);

-- Refuses a shopper permanently; only hire() reverses it.
CREATE OR REPLACE FUNCTION missions.refuse(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'refused', actor, reason);

-- Suspends a shopper until hire() is called; the rules do not lift this suspension.
CREATE OR REPLACE FUNCTION missions.suspend(person bigint, actor text, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE sql
RETURN missions.decide_shopper(person, 'suspended', actor, reason);

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
        'works_for: expected an array of at most 100 ids of establishments');
    PERFORM errand.expect(array_position(works_for, NULL) IS NULL,
        'works_for: expected ids of establishments, without nulls');
    IF EXISTS (SELECT FROM people.people p
        WHERE p.id = person AND p.blocked_at IS NOT NULL) THEN
        PERFORM people.expect_open(person);
    END IF;
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
COMMENT ON FUNCTION missions.set_shopper(
    bigint, double precision, double precision, real, int, bigint, bigint[], timestamptz) IS $doc$
Sets the home and the limits of a shopper. Null leaves a value as it is. Without a home, a shopper
gets no offers.

Arguments:
  person: the shopper
  longitude: of the home, WGS 84
  latitude: of the home
  radius_m: how far they travel, 100 to 200000
  daily_capacity: how many missions a day, 1 to 20
  expected_pay: the pay that they expect of a mission, in minor units; 0 for any
  works_for: ids of establishments that they have a conflict of interest with, at most 100
  away_until: they get no offers before
Returns:
  set_shopper: false if the person is no shopper
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22003: the position is out of range
  22023: another value is out of range; the text names it
Repeated: sets the same.
Sample:
  SELECT missions.set_shopper(person => 18, longitude => -73.58, latitude => 45.52,
      radius_m => 8000, daily_capacity => 2);
$doc$;

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
    -- A manual suspension applies again when they come back.
    UPDATE missions.shoppers s SET state = 'left', state_since = at,
        actor = CASE s.state WHEN 'suspended' THEN s.actor END,
        reason = CASE s.state WHEN 'suspended' THEN s.reason END
    WHERE s.person_id = person AND s.state <> 'left' AND s.state <> 'refused';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Offers made concurrently are left to recall(): their missions are not locked here.
    FOR held IN SELECT a.* FROM missions.assignments a
        WHERE a.person_id = person AND a.state IN ('offered', 'accepted', 'arrived')
          AND a.mission_id = ANY (locked) ORDER BY a.id
    LOOP
        PERFORM missions.finish(held, 'withdrawn', at, NULL, 'the shopper has left', NULL);
    END LOOP;
    RETURN true;
END $$;
COMMENT ON FUNCTION missions.leave(bigint) IS $doc$
Ends a shopper's work at their own request. Assignments that are not submitted are withdrawn;
submitted ones are still reviewed and paid.

Arguments:
  person: the shopper
Returns:
  leave: false if the person is no shopper, was refused, or has left before
Repeated: answers false and changes nothing.
Sample:
  SELECT missions.leave(person => 19);
$doc$;

CREATE OR REPLACE FUNCTION missions.come_back(person bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF EXISTS (SELECT FROM people.people p
        WHERE p.id = person AND p.blocked_at IS NOT NULL) THEN
        PERFORM people.expect_open(person);
    END IF;
    UPDATE missions.shoppers s SET state_since = at, state = CASE WHEN s.actor IS NULL
        THEN 'candidate' ELSE 'suspended' END::missions.shopper_state
    WHERE s.person_id = person AND s.state = 'left';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN true;
END $$;
COMMENT ON FUNCTION missions.come_back(bigint) IS $doc$
Makes a shopper who left a candidate again, or suspended if an operator had suspended them.

Arguments:
  person: the shopper
Returns:
  come_back: false if the person had not left
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Repeated: answers false and changes nothing.
Sample:
  SELECT missions.come_back(person => 19);
$doc$;

-- Whether a shopper's home is set, for listings: inspectors may not read the column itself.
CREATE OR REPLACE FUNCTION missions.has_home(person bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.home IS NOT NULL FROM missions.shoppers s WHERE s.person_id = person
$$;
