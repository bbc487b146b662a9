-- Deadlines and reminders.

-- When a person can see an offer made at a time: at that time or, during quiet hours, at their end.
CREATE OR REPLACE FUNCTION missions.seen_at(person bigint, at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    p people.people;
    here timestamp;
BEGIN
    SELECT * INTO p FROM people.people n WHERE n.id = person;
    here := at AT TIME ZONE p.time_zone;
    RETURN CASE WHEN p.quiet_from < p.quiet_until AND here::time >= p.quiet_from
            AND here::time < p.quiet_until
            OR p.quiet_from > p.quiet_until AND (here::time >= p.quiet_from
                OR here::time < p.quiet_until)
        THEN greatest(at, (here::date + (here::time >= p.quiet_until)::int + p.quiet_until)
            AT TIME ZONE p.time_zone)
        ELSE at END;
END $$;

-- The deadline and the reminder of an offer made at a time.
--
-- The term is a quarter of the time until the mission closes, within rules.offer_at_least and
-- rules.offer_for. It starts when the person can see the offer, or immediately if the mission would
-- be too late by then. The reminder is due after three quarters of the term or, if quiet hours
-- would delay it past the deadline, after half of it.
CREATE OR REPLACE FUNCTION missions.term(mission bigint, person bigint, at timestamptz)
RETURNS missions.answer_term LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    begins timestamptz := missions.seen_at(person, at);
    of record;
    term missions.answer_term;
BEGIN
    SELECT m.closes_at, r.lead, r.offer_for, r.offer_at_least INTO of
    FROM missions.missions m CROSS JOIN missions.rules r WHERE m.id = mission;
    IF begins + of.offer_at_least > of.closes_at - of.lead THEN
        begins := at;
    END IF;
    term.answer_by := least(of.closes_at, begins
        + greatest(of.offer_at_least, least(of.offer_for, (of.closes_at - begins) / 4)));
    term.remind_at := term.answer_by - (term.answer_by - begins) / 4;
    IF missions.seen_at(person, term.remind_at) >= term.answer_by THEN
        term.remind_at := begins + (term.answer_by - begins) / 2;
    END IF;
    RETURN term;
END $$;

-- The next reminder before a deadline to arrive or to submit; null: none left.
CREATE OR REPLACE FUNCTION missions.next_reminder(due_at timestamptz, at timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT min(due_at - b) FROM missions.rules r CROSS JOIN unnest(r.remind_before) b
        WHERE due_at - b > at);
END $$;

-- Deadlines. Each function below processes at most max_rows rows, skips rows that another
-- transaction has locked, and returns the number processed. Call it in a transaction of its own
-- until it returns 0.

-- Lapses offers that were not answered in time.
CREATE OR REPLACE FUNCTION missions.lapse(at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    grace CONSTANT interval := (SELECT r.offer_grace FROM missions.rules r);
    held missions.assignments;
    ended bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR held IN SELECT a.* FROM missions.assignments a
        JOIN missions.missions m ON m.id = a.mission_id
        WHERE a.state = 'offered' AND a.answer_by <= at - grace
        ORDER BY a.answer_by LIMIT max_rows FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        PERFORM missions.finish(held, 'lapsed', at, NULL, NULL, NULL);
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Withdraws the offers of shoppers who are no longer active, all unsubmitted assignments of
-- shoppers who were refused or have left, and assignments, before arrival, of blocked people and at
-- an establishment that the shopper now works for.
CREATE OR REPLACE FUNCTION missions.recall(at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    ended bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR held IN
        -- MATERIALIZED: with ORDER BY and LIMIT in one query, the planner would scan all
        -- assignments in the order of their ids. Blocked people are found by people_blocked, whose
        -- condition is named here; the erasure has ended all assignments of those it leaves out.
        WITH void AS MATERIALIZED (
            SELECT a.id FROM missions.assignments a
            JOIN missions.shoppers s ON s.person_id = a.person_id
            JOIN missions.missions m ON m.id = a.mission_id
            WHERE a.state IN ('offered', 'accepted', 'arrived')
              AND (s.state <> 'active' AND a.state = 'offered' OR s.state IN ('refused', 'left')
                OR a.state <> 'arrived' AND EXISTS (SELECT FROM people.people p
                    WHERE p.id = a.person_id
                        AND p.blocked_at IS NOT NULL AND p.erased_at IS NULL)
                OR m.establishment_id = ANY (s.works_for) AND a.state <> 'arrived')
        )
        SELECT a.* FROM void v JOIN missions.assignments a ON a.id = v.id
        JOIN missions.missions m ON m.id = a.mission_id
        WHERE a.state IN ('offered', 'accepted', 'arrived')
        ORDER BY a.id LIMIT max_rows FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        PERFORM missions.finish(held, 'withdrawn', at, NULL, CASE
            WHEN EXISTS (SELECT FROM missions.shoppers s
                    JOIN missions.missions m ON m.id = held.mission_id
                WHERE s.person_id = held.person_id AND s.state = 'active'
                  AND m.establishment_id = ANY (s.works_for))
                THEN 'you work there' ELSE 'you get no offers now' END,
            CASE WHEN EXISTS (SELECT FROM missions.shoppers s WHERE s.person_id = held.person_id
                AND s.state <> 'left') THEN 'withdrawn' END);
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Marks accepted assignments that were not submitted in time as missed.
CREATE OR REPLACE FUNCTION missions.miss(at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    ended bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR held IN SELECT a.* FROM missions.assignments a
        JOIN missions.missions m ON m.id = a.mission_id
        JOIN missions.shoppers s ON s.person_id = a.person_id
        WHERE a.state IN ('accepted', 'arrived') AND a.due_at <= at
        ORDER BY a.due_at LIMIT max_rows FOR NO KEY UPDATE OF m, s, a SKIP LOCKED
    LOOP
        UPDATE missions.shoppers s SET missed = s.missed + 1 WHERE s.person_id = held.person_id;
        PERFORM missions.finish(held, 'missed', at, NULL, NULL, 'missed');
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Reminds shoppers before an unanswered offer lapses, and before the deadline to arrive or to
-- submit. If several reminders are due, only the last one is sent.
CREATE OR REPLACE FUNCTION missions.remind(at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held record;
    reminded bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR held IN SELECT a.id, a.state, a.answer_by, a.due_at, a.returns
        FROM missions.assignments a
        JOIN missions.missions m ON m.id = a.mission_id
        WHERE a.remind_at <= at
        ORDER BY a.remind_at LIMIT max_rows FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        UPDATE missions.assignments a SET remind_at = CASE WHEN held.state <> 'offered'
            THEN missions.next_reminder(held.due_at, at) END
        WHERE a.id = held.id;
        IF held.state = 'offered' AND held.answer_by > at THEN
            PERFORM missions.notify(held.id, 'waiting');
        ELSIF held.state <> 'offered' AND held.due_at > at THEN
            PERFORM missions.notify(held.id, CASE held.state WHEN 'arrived' THEN 'unfinished'
                    -- Numbers continue after a submission is returned.
                    ELSE 'reminder' END, (SELECT count(*)::int + 11 * held.returns
                FROM missions.rules r CROSS JOIN unnest(r.remind_before) b
                WHERE held.due_at - b <= at));
        END IF;
        reminded := reminded + 1;
    END LOOP;
    RETURN reminded;
END $$;

-- Marks missions as over that have closed and have no unsubmitted assignments left.
CREATE OR REPLACE FUNCTION missions.end_missions(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    past bigint[];
    ended bigint;
BEGIN
    at := coalesce(at, clock_timestamp());
    past := ARRAY(SELECT m.id FROM missions.missions m
        WHERE m.state = 'open' AND m.closes_at <= at AND NOT EXISTS (
            SELECT FROM missions.assignments a WHERE a.mission_id = m.id
              AND a.state IN ('offered', 'accepted', 'arrived'))
        ORDER BY m.closes_at LIMIT max_rows FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE missions.missions m SET state = 'over' WHERE m.id = ANY (past) AND NOT EXISTS (
        SELECT FROM missions.assignments a WHERE a.mission_id = m.id
          AND a.state IN ('offered', 'accepted', 'arrived'));
    GET DIAGNOSTICS ended = ROW_COUNT;
    RETURN ended;
END $$;
