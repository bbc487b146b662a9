-- Who is a shopper: found by what reviewers thought, hired, suspended, and gone.

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

-- The lower bound of a share with 97.5 % confidence (Wilson 1927, z = 1.96); 0 for none of none.
CREATE OR REPLACE FUNCTION missions.wilson(good bigint, reviewed bigint)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN reviewed > 0 THEN greatest(0,
    (good::double precision / reviewed + 1.9208 / reviewed
        - 1.96 * sqrt((good::double precision / reviewed * (reviewed - good) / reviewed
            + 0.9604 / reviewed) / reviewed))
    / (1 + 3.8416 / reviewed)) ELSE 0 END;

-- Takes note of what a reviewer thought; returns recorded, same (it was known, or something later
-- is), or replaced (somebody thought otherwise of the same source before).
--   source       what was reviewed, such as survey:12; missions are reviewed by missions.review
--   reviewed_at  null: now
CREATE OR REPLACE FUNCTION missions.record_review(
    person bigint, source text, is_good boolean, reviewed_at timestamptz DEFAULT NULL
) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM errand.expect(source NOT LIKE 'mission:%',
        'source: expected no mission, which operators review');
    RETURN missions.keep_review(person, source, is_good, reviewed_at);
END $$;

CREATE OR REPLACE FUNCTION missions.keep_review(
    person bigint, source text, is_good boolean, reviewed_at timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := coalesce(reviewed_at, clock_timestamp());
BEGIN
    PERFORM errand.expect(is_good IS NOT NULL, 'is_good: expected true or false');
    PERFORM errand.expect(length(source) BETWEEN 3 AND 100 AND source LIKE '_%:_%',
        'source: expected what was reviewed, such as survey:12, in up to 100 characters');
    PERFORM errand.expect(at <= clock_timestamp() + interval '1 minute',
        'reviewed_at: expected a time that has been');
    PERFORM people.expect_person(person);
    INSERT INTO missions.reviews (person_id, reviewed_at, is_good, source)
    VALUES (person, at, is_good, source) ON CONFLICT ON CONSTRAINT reviews_pkey DO NOTHING;
    IF FOUND THEN
        RETURN 'recorded';
    END IF;
    UPDATE missions.reviews r SET is_good = is_good, reviewed_at = at
    WHERE r.person_id = person AND r.source = source AND r.is_good <> is_good
      AND r.reviewed_at <= at;
    RETURN CASE WHEN FOUND THEN 'replaced' ELSE 'same' END;
END $$;

-- Tells a person of a change of their own state.
CREATE OR REPLACE FUNCTION missions.tell_person(person bigint, event text, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.enqueue('missions.tell', jsonb_build_object('person_id', person, 'event', event,
        'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')));
END $$;

-- What hiring looks at, of each of some people at a time.
CREATE OR REPLACE FUNCTION missions.merits(persons bigint[], at timestamptz)
RETURNS TABLE (person_id bigint, reviewed int, good int, latest timestamptz, is_flagged boolean,
    is_of_age boolean) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.id, n.reviewed, n.good, n.latest,
        EXISTS (SELECT FROM missions.flags f WHERE f.person_id = p.id AND f.cleared_at IS NULL),
        (p.age_verified_at IS NOT NULL AND p.birth_date
            <= ($2 AT TIME ZONE p.time_zone)::date - make_interval(years => r.least_age)) IS TRUE
    FROM people.people p CROSS JOIN missions.rules r
    CROSS JOIN LATERAL (
        SELECT count(*)::int AS reviewed, (count(*) FILTER (WHERE v.is_good))::int AS good,
            max(v.reviewed_at) AS latest
        FROM missions.reviews v WHERE v.person_id = p.id
          AND v.reviewed_at > $2 - r.reviews_within AND v.reviewed_at <= $2
    ) n
    WHERE p.id = ANY ($1) ORDER BY p.id;
END $$;

-- Computes the quality of some people anew and decides who of them is a shopper; returns those
-- whose state changed (before is null for who was none). Hired is who is good by the rules;
-- suspended are active ones below suspend_below, or with a flag; who was suspended by the rules is
-- active again when they are good again, or when the flag that was the reason is cleared.
--
-- From few reviews nobody is suspended unless even the upper bound of their share is too low.
CREATE OR REPLACE FUNCTION missions.assess(persons bigint[], at timestamptz DEFAULT NULL)
RETURNS TABLE (person bigint, before missions.shopper_state, after missions.shopper_state,
    reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    rules missions.rules;
    of record;
    quality double precision;
    is_bad boolean;
BEGIN
    at := coalesce(at, clock_timestamp());
    SELECT * INTO rules FROM missions.rules;
    PERFORM FROM missions.shoppers s WHERE s.person_id = ANY (persons)
    ORDER BY s.person_id FOR NO KEY UPDATE;
    FOR of IN
        SELECT m.*, s.state, s.actor, s.reviewed AS had, s.good AS had_good,
            s.reason AS said, EXISTS (
                SELECT FROM missions.flags f
                WHERE f.person_id = m.person_id AND f.raised_at <= s.state_since
                  AND (f.cleared_at > s.state_since OR f.cleared_at IS NULL)) AS was_flagged
        FROM missions.merits(persons, at) m LEFT JOIN missions.shoppers s USING (person_id)
    LOOP
        person := of.person_id;
        before := of.state;
        quality := missions.wilson(of.good, of.reviewed);
        is_bad := of.reviewed >= rules.hire_reviews AND quality < rules.suspend_below
            OR 1 - missions.wilson(of.reviewed - of.good, of.reviewed) < rules.suspend_below;
        after := CASE
            WHEN (before IS NULL OR before = 'candidate') AND of.reviewed >= rules.hire_reviews
                AND quality >= rules.hire_from AND of.latest > at - rules.active_within
                AND of.is_of_age AND NOT of.is_flagged
                THEN CASE WHEN rules.is_automatic THEN 'active' ELSE 'candidate'
                    END::missions.shopper_state
            WHEN before = 'active' AND (is_bad OR of.is_flagged OR NOT of.is_of_age)
                THEN 'suspended'
            WHEN before = 'suspended' AND of.actor IS NULL AND of.is_of_age AND NOT of.is_flagged
                AND NOT is_bad AND (quality >= rules.hire_from OR of.was_flagged
                    OR of.said LIKE 'the age %')
                THEN 'active'
            ELSE before END;
        CONTINUE WHEN after IS NULL
            OR after = before AND of.had = of.reviewed AND of.had_good = of.good;
        reason := CASE WHEN after = 'suspended' AND of.is_flagged THEN 'it is being looked into'
            WHEN after = 'suspended' AND NOT of.is_of_age
                THEN 'the age is not verified, or below ' || rules.least_age
            ELSE of.good || ' of ' || of.reviewed || ' answers were good' END;
        IF before IS NULL THEN
            INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good, quality)
            VALUES (person, at, 'candidate', 0, 0, 0) ON CONFLICT DO NOTHING;
            -- Somebody else has found them good at this moment.
            CONTINUE WHEN NOT FOUND;
        END IF;
        UPDATE missions.shoppers s
        SET reviewed = of.reviewed, good = of.good, quality = quality
        WHERE s.person_id = person;
        IF after IS DISTINCT FROM before THEN
            PERFORM missions.enter_state(person, after, NULL, reason, at);
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- Puts a shopper, whose row is locked, in a state.
CREATE OR REPLACE FUNCTION missions.enter_state(
    person bigint, after missions.shopper_state, actor text, reason text, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE missions.shoppers s SET state = after, state_since = at, actor = actor,
        reason = reason,
        hired_at = CASE WHEN after = 'active' THEN coalesce(s.hired_at, at) ELSE s.hired_at END,
        waiting_since = CASE WHEN after = 'active' THEN coalesce(s.waiting_since, at)
            ELSE s.waiting_since END
    WHERE s.person_id = person;
    IF after IN ('active', 'suspended') THEN
        PERFORM missions.tell_person(
            person, CASE after WHEN 'active' THEN 'hired' ELSE 'suspended' END, at);
    END IF;
END $$;

-- Raises a suspicion of fraud: from now on they are sent nowhere. Returns the flag's id.
--   reason  for operators; the person never reads it
CREATE OR REPLACE FUNCTION missions.raise_flag(person bigint, reason text)
RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    flag bigint;
BEGIN
    PERFORM errand.expect(length(reason) BETWEEN 1 AND 500,
        'reason: expected 1 to 500 characters for operators to read');
    PERFORM people.expect_person(person);
    -- With the shopper's lock: who is being sent at this moment is seen by the other.
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    INSERT INTO missions.flags AS f (person_id, raised_at, reason) VALUES (person, at, reason)
    RETURNING f.id INTO flag;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN flag;
END $$;

-- Takes a suspicion back; false when it was before.
CREATE OR REPLACE FUNCTION missions.clear_flag(flag bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    person CONSTANT bigint := (SELECT f.person_id FROM missions.flags f WHERE f.id = flag);
BEGIN
    IF person IS NULL THEN
        RAISE EXCEPTION 'no flag has the id %', flag USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    UPDATE missions.flags f SET cleared_at = at WHERE f.id = flag AND f.cleared_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN true;
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
