-- Eligibility rules and offers.

-- Returns the codes of all rules that forbid to offer a mission to a person at a time; {} if the
-- offer is allowed. candidates() applies the same rules to many people.
--   unknown            the mission does not exist
--   closed             the mission is cancelled or over
--   too_late           the mission closes too soon
--   locked             only operators assign the mission
--   no_slot            all slots are taken
--   not_active         the person is not an active shopper
--   blocked            the person's erasure was requested, or they are under 16
--   flagged            the person has an open fraud flag
--   away               the shopper is away
--   too_young          the age is not verified, or below the minimum
--   no_home            the shopper's home is not set
--   quality            below the mission's minimum
--   too_far            farther than the shopper's or the mission's radius
--   works_there        the shopper works for the establishment
--   holds_already      the shopper holds a slot of the mission, or was paid for one
--   declined_before    an earlier assignment of the shopper to the mission ended unpaid
--   rested             another visit of the shopper to the branch is too close in time
--   capacity           the shopper's daily capacity is used up
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
        CASE WHEN p.blocked_at IS NOT NULL THEN 'blocked' END,
        CASE WHEN EXISTS (SELECT FROM missions.flags f
            WHERE f.person_id = person AND f.cleared_at IS NULL) THEN 'flagged' END,
        CASE WHEN s.away_until > at THEN 'away' END,
        CASE WHEN (p.age_verified_at IS NOT NULL AND people.birthday(
                p.birth_date, coalesce(m.min_age, r.min_age)) <= m.first_day) IS NOT TRUE
            THEN 'too_young' END,
        CASE WHEN s.home IS NULL THEN 'no_home' END,
        CASE WHEN s.quality < m.min_quality THEN 'quality' END,
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

-- Returns the nearest eligible shoppers for each of some missions, up to rules.candidates of them;
-- none for missions that are full, locked or about to close. distance_m is a spherical distance.
--
-- The shoppers that a mission excludes are read once per mission, not once per pair.
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
        -- Who was born by then has the age on the first day, as people.birthday() counts.
        SELECT m.*, (m.first_day
                - make_interval(years => coalesce(m.min_age, rules.min_age)))::date AS born_by,
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
        -- By distance, each computed once, until there are enough.
        SELECT n.person_id, n.way
        FROM (
            SELECT s.person_id, s.radius_m, s.daily_capacity, missions.way(s.home, m.place) AS way
            FROM missions.shoppers s
            WHERE s.state = 'active' AND s.home IS NOT NULL
              AND missions.is_near(s.home, m.place, m.radius_m)
              AND s.quality >= m.min_quality
              AND (s.away_until <= moment) IS NOT FALSE
              AND m.establishment_id <> ALL (s.works_for)
              AND s.person_id <> ALL (m.barred_ones)
              AND s.person_id NOT IN (
                SELECT f.person_id FROM missions.flags f WHERE f.cleared_at IS NULL)
            ORDER BY missions.way(s.home, m.place) OFFSET 0
        ) n
        JOIN people.people p ON p.id = n.person_id
        WHERE n.way <= least(n.radius_m, m.radius_m) AND p.blocked_at IS NULL
          AND p.age_verified_at IS NOT NULL AND p.birth_date <= m.born_by
          AND (SELECT count(*) FROM missions.assignments a
            WHERE a.person_id = n.person_id AND a.due_day = m.due_day
              AND (a.state IN ('offered', 'accepted') OR a.arrived_at IS NOT NULL))
            < n.daily_capacity
        -- The order of the subquery, so that the scan stops after the last row; WITH TIES makes the
        -- result deterministic for equal distances.
        ORDER BY n.way FETCH FIRST (rules.candidates) ROWS WITH TIES
    ) c
    ORDER BY m.id, c.way, c.person_id;
END $$;

-- Assigns the lowest free slot of a mission to a shopper. The caller holds the locks on both and
-- has checked the rules.
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
    PERFORM missions.notify(assignment, CASE WHEN is_accepted THEN 'agreed' ELSE 'offered' END);
    RETURN assignment;
END $$;

-- Offers a mission to a shopper; returns the id of the assignment, or the objections. locked and
-- too_late are no objections here: operators call this function; the schedule uses offer_many().
--   score        null: an operator's choice
--   distance_m   null: it is computed
--   actor        the operator; null: the schedule
--   is_accepted  the shopper has already accepted, for example by telephone
--   is_forced    ignore the objections declined_before, too_far and quality
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

-- Offers many pairs of mission and shopper, one after the other. A pair with objections, possibly
-- caused by an earlier pair, is refused with the first objection; a pair whose mission or shopper
-- is locked by another transaction is refused as 'busy'.
--   place  the position of the pair in the arrays, from 1
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
        'offer_many: expected four arrays of the same length');
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
