-- Reviews and fraud flags, and the shopper states that follow from them.

-- The lower bound of the Wilson score interval of a share, with 97.5 % confidence (Wilson 1927,
-- z = 1.96); 0 if nothing was reviewed.
CREATE OR REPLACE FUNCTION missions.wilson(good bigint, reviewed bigint)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN reviewed > 0 THEN greatest(0,
    (good::double precision / reviewed + 1.9208 / reviewed
        - 1.96 * sqrt((good::double precision / reviewed * (reviewed - good) / reviewed
            + 0.9604 / reviewed) / reviewed))
    / (1 + 3.8416 / reviewed)) ELSE 0 END;

CREATE OR REPLACE FUNCTION missions.record_review(
    person bigint, source text, is_good boolean, reviewed_at timestamptz DEFAULT NULL
) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM errand.expect(source NOT LIKE 'mission:%',
        'source: missions are reviewed with missions.review');
    PERFORM people.expect_open(person);
    RETURN missions.keep_review(person, source, is_good, reviewed_at);
END $$;
COMMENT ON FUNCTION missions.record_review(bigint, text, boolean, timestamptz) IS $doc$
Records a verdict on something that a person answered, the only source of their quality. A later
verdict on the same source replaces an earlier one. Missions are reviewed by operators alone.

Arguments:
  person: who answered
  source: what was reviewed, such as survey:12, 3 to 100 characters; not mission:…
  is_good: the verdict
  reviewed_at: when; null for now
Returns:
  record_review: recorded; same, if the source has this verdict or a later one; or replaced
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: the source, the verdict or the time is wrong
  23503: no such person
Repeated: answers same and changes nothing.
Sample:
  SELECT missions.record_review(person => 18, source => 'survey:12', is_good => true);
$doc$;

CREATE OR REPLACE FUNCTION missions.keep_review(
    person bigint, source text, is_good boolean, reviewed_at timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := coalesce(reviewed_at, clock_timestamp());
BEGIN
    PERFORM errand.expect(is_good IS NOT NULL, 'is_good: expected true or false');
    PERFORM errand.expect(length(source) BETWEEN 3 AND 100 AND source LIKE '_%:_%',
        'source: expected a reference such as survey:12, 3 to 100 characters');
    PERFORM errand.expect(at <= clock_timestamp() + interval '1 minute',
        'reviewed_at: expected a time in the past');
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

-- Notifies a person of a change of their shopper state.
CREATE OR REPLACE FUNCTION missions.notify_person(person bigint, event text, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.enqueue_own('missions.notify', jsonb_build_object(
        'person_id', person, 'event', event,
        'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')));
END $$;

-- The facts that hiring is based on, for each of some people as of a time. Who is blocked counts as
-- not of age.
CREATE OR REPLACE FUNCTION missions.merits(persons bigint[], at timestamptz)
RETURNS TABLE (person_id bigint, reviewed int, good int, latest timestamptz, is_flagged boolean,
    is_of_age boolean) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.id, n.reviewed, n.good, n.latest,
        EXISTS (SELECT FROM missions.flags f WHERE f.person_id = p.id AND f.cleared_at IS NULL),
        (p.age_verified_at IS NOT NULL AND p.blocked_at IS NULL
            AND people.birthday(p.birth_date, r.min_age)
                <= ($2 AT TIME ZONE p.time_zone)::date) IS TRUE
    FROM people.people p CROSS JOIN missions.rules r
    CROSS JOIN LATERAL (
        SELECT count(*)::int AS reviewed, (count(*) FILTER (WHERE v.is_good))::int AS good,
            max(v.reviewed_at) AS latest
        FROM missions.reviews v WHERE v.person_id = p.id
          AND v.reviewed_at > $2 - r.reviews_within AND v.reviewed_at <= $2
    ) n
    WHERE p.id = ANY ($1) ORDER BY p.id;
END $$;

-- Recomputes the quality of some people and updates their shopper states by the rules. Returns the
-- people whose state changed; before is null for new shoppers.
--
-- A person who meets the hiring rules becomes a candidate, or active if rules.is_automatic.
-- An active shopper is suspended if their quality is below suspend_below, they have an open flag,
-- or their age is not verified. A shopper suspended by the rules becomes active again when their
-- quality reaches hire_from, when the flag that caused the suspension is cleared, or when their age
-- is verified. With fewer than hire_reviews reviews, quality suspends a shopper only if even the
-- upper bound of the share is too low.
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
        reason := CASE WHEN after = 'suspended' AND of.is_flagged
                THEN 'your account is under review'
            WHEN after = 'suspended' AND NOT of.is_of_age
                THEN 'the age is not verified, or below ' || rules.min_age
            ELSE of.good || ' of ' || of.reviewed || ' answers were good' END;
        IF before IS NULL THEN
            INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good, quality)
            VALUES (person, at, 'candidate', 0, 0, 0) ON CONFLICT DO NOTHING;
            -- A concurrent call has just inserted the same shopper.
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

-- Sets a shopper's state; the caller holds the lock on the row.
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
        PERFORM missions.notify_person(
            person, CASE after WHEN 'active' THEN 'hired' ELSE 'suspended' END, at);
    END IF;
END $$;

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
    PERFORM people.expect_open(person);
    -- The lock on the shopper serializes this with an offer that is being made.
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    INSERT INTO missions.flags AS f (person_id, raised_at, reason) VALUES (person, at, reason)
    RETURNING f.id INTO flag;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN flag;
END $$;
COMMENT ON FUNCTION missions.raise_flag(bigint, text) IS $doc$
Flags a person for suspected fraud: they are not hired and get no offers while the flag is open.

Arguments:
  person: the person
  reason: why, for operators, 1 to 500 characters; never shown to the person
Returns:
  raise_flag: the id of the flag
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: the reason is empty or too long
  23503: no such person
Repeated: raises another flag.
Sample:
  SELECT missions.raise_flag(person => 19, reason => 'the same photo twice');
$doc$;

CREATE OR REPLACE FUNCTION missions.clear_flag(flag bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    person CONSTANT bigint := (SELECT f.person_id FROM missions.flags f WHERE f.id = flag);
BEGIN
    IF person IS NULL THEN
        RAISE EXCEPTION 'flag % does not exist', flag USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    UPDATE missions.flags f SET cleared_at = at WHERE f.id = flag AND f.cleared_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM missions.assess(ARRAY[person], at);
    RETURN true;
END $$;
COMMENT ON FUNCTION missions.clear_flag(bigint) IS $doc$
Clears a fraud flag. A shopper whom the rules had suspended for it is active again.

Arguments:
  flag: the flag
Returns:
  clear_flag: whether it was open
Errors:
  P0002: no such flag
Repeated: answers false and changes nothing.
Sample:
  SELECT missions.clear_flag(flag => 1);
$doc$;
