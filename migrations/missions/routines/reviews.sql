-- What operators decide of missions that were done, what time decides.

-- Takes an assignment back from a shopper, who is told the reason; false when it was withdrawn
-- before. What was submitted is reviewed instead.
CREATE OR REPLACE FUNCTION missions.withdraw(
    assignment bigint, actor text, reason text, at timestamptz DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
BEGIN
    PERFORM missions.expect_actor(actor, reason, true);
    held := missions.hold_known(assignment);
    IF held.state = 'withdrawn' THEN
        RETURN false;
    END IF;
    IF held.state NOT IN ('offered', 'accepted', 'arrived') THEN
        RAISE EXCEPTION 'assignment % is %: it cannot be withdrawn', assignment, held.state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM missions.finish(
        held, 'withdrawn', coalesce(at, clock_timestamp()), actor, reason, 'withdrawn');
    RETURN true;
END $$;

-- Locks an assignment as hold() does; raises where there is none.
CREATE OR REPLACE FUNCTION missions.hold_known(assignment bigint)
RETURNS missions.assignments LANGUAGE plpgsql AS $$
DECLARE
    held CONSTANT missions.assignments := missions.hold(assignment,
        (SELECT a.person_id FROM missions.assignments a WHERE a.id = assignment));
BEGIN
    IF held.id IS NULL THEN
        RAISE EXCEPTION 'no assignment has the id %', assignment USING ERRCODE = 'no_data_found';
    END IF;
    RETURN held;
END $$;

-- Decides about a submission; false when that was decided before. Another decision is refused.
--   verdict  approve  the shopper is paid, in this transaction, and the answer counts as good
--            return   they do it again, for which they have as long as after a mission's end
--            reject   it is worth nothing and counts as bad; the slot is free again
--   reason   for the shopper to read; must be there unless it is approved
CREATE OR REPLACE FUNCTION missions.review(
    assignment bigint, actor text, verdict text, reason text DEFAULT NULL,
    at timestamptz DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    of missions.missions;
    payment bigint;
    due_at timestamptz;
BEGIN
    PERFORM errand.expect(verdict IN ('approve', 'return', 'reject'),
        'verdict: expected approve, return or reject');
    PERFORM missions.expect_actor(actor, reason, verdict <> 'approve');
    held := missions.hold_known(assignment);
    -- Not before the locks: it is the time of the decision.
    at := coalesce(at, clock_timestamp());
    IF actor IN (held.person_id::text, 'person ' || held.person_id, 'person:' || held.person_id)
    THEN
        RAISE EXCEPTION 'assignment % is %''s own: nobody reviews what they have done themselves',
            assignment, actor USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF verdict = 'approve' AND held.state = 'paid' OR verdict = 'reject' AND held.state = 'rejected'
        OR verdict = 'return' AND held.state = 'arrived' AND held.returns > 0 THEN
        RETURN false;
    END IF;
    IF held.state <> 'submitted' THEN
        RAISE EXCEPTION 'assignment % is %: there is nothing to %', assignment, held.state, verdict
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT * INTO of FROM missions.missions m WHERE m.id = held.mission_id;
    IF verdict = 'return' THEN
        due_at := greatest(held.due_at, at + (SELECT r.finish_within FROM missions.rules r));
        UPDATE missions.assignments a SET state = 'arrived', returns = a.returns + 1,
            actor = actor, reason = reason, due_at = due_at,
            remind_at = missions.next_reminder(due_at, at)
        WHERE a.id = assignment;
        PERFORM missions.tell(assignment, 'returned', held.returns + 1);
        RETURN true;
    END IF;
    PERFORM missions.keep_review(held.person_id, 'mission:' || assignment, verdict = 'approve',
        least(at, clock_timestamp()));
    IF verdict = 'reject' THEN
        PERFORM missions.finish(held, 'rejected', at, actor, reason, 'rejected');
        RETURN true;
    END IF;
    UPDATE missions.shoppers s SET completed = s.completed + 1 WHERE s.person_id = held.person_id;
    -- Last, because balances are locked in it that many others want.
    payment := ledger.credit_reward(held.person_id,
        'mission:' || held.mission_id || ':' || assignment, of.establishment_id, of.paid, of.pay,
        of.currency, least(at, clock_timestamp()));
    UPDATE missions.assignments a SET state = 'paid', ended_at = at, payment_id = payment,
        actor = actor, reason = reason
    WHERE a.id = assignment;
    PERFORM missions.tell(assignment, 'paid');
    RETURN true;
END $$;

-- When a person who is asked at a time can see it: at once or, within their quiet hours, when these
-- end.
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

-- Until when an offer is kept that is made at a time: for a part of what is left of the mission,
-- from when the person can see it; from that time on where the mission would be over by then. The
-- reminder comes while a quarter of it is left or, where they sleep then until it is too late, half
-- of it.
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

-- When who has until a time to go, or to hand in, is reminded next; null: no more.
CREATE OR REPLACE FUNCTION missions.next_reminder(due_at timestamptz, at timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT min(due_at - b) FROM missions.rules r CROSS JOIN unnest(r.remind_before) b
        WHERE due_at - b > at);
END $$;

-- What time decides. Each of these does at most so many, passes over those that somebody else has
-- at that moment, and returns how many it did: call it, in a transaction of its own, until that
-- is 0.

-- Ends offers that nobody has answered in time.
CREATE OR REPLACE FUNCTION missions.lapse(at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
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
        ORDER BY a.answer_by LIMIT at_most FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        PERFORM missions.finish(held, 'lapsed', at, NULL, NULL, NULL);
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Withdraws the offers of those who may be sent nowhere any more, all that those hold who were
-- refused or have left, and that they have not submitted, and what is at an establishment for which
-- the shopper works by now.
CREATE OR REPLACE FUNCTION missions.recall(at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    ended bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR held IN
        -- By itself: ordered and limited at once it would be sought among all that ever were.
        WITH void AS MATERIALIZED (
            SELECT a.id FROM missions.assignments a
            JOIN missions.shoppers s ON s.person_id = a.person_id
            JOIN missions.missions m ON m.id = a.mission_id
            WHERE a.state IN ('offered', 'accepted', 'arrived')
              AND (s.state <> 'active' AND a.state = 'offered' OR s.state IN ('refused', 'left')
                OR m.establishment_id = ANY (s.works_for) AND a.state <> 'arrived')
        )
        SELECT a.* FROM void v JOIN missions.assignments a ON a.id = v.id
        JOIN missions.missions m ON m.id = a.mission_id
        WHERE a.state IN ('offered', 'accepted', 'arrived')
        ORDER BY a.id LIMIT at_most FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        PERFORM missions.finish(held, 'withdrawn', at, NULL, CASE
            WHEN (SELECT s.state FROM missions.shoppers s WHERE s.person_id = held.person_id)
                = 'active' THEN 'you work there' ELSE 'you get no offers now' END,
            CASE WHEN EXISTS (SELECT FROM missions.shoppers s WHERE s.person_id = held.person_id
                AND s.state <> 'left') THEN 'withdrawn' END);
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Ends what was accepted and not done in time.
CREATE OR REPLACE FUNCTION missions.miss(at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
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
        ORDER BY a.due_at LIMIT at_most FOR NO KEY UPDATE OF m, s, a SKIP LOCKED
    LOOP
        UPDATE missions.shoppers s SET missed = s.missed + 1 WHERE s.person_id = held.person_id;
        PERFORM missions.finish(held, 'missed', at, NULL, NULL, 'missed');
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Reminds those who have not answered, before their offer lapses, and those who accepted, before
-- the time is up to go there or to hand in; of several reminders that are due, of the last one.
CREATE OR REPLACE FUNCTION missions.remind(at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
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
        ORDER BY a.remind_at LIMIT at_most FOR NO KEY UPDATE OF m, a SKIP LOCKED
    LOOP
        UPDATE missions.assignments a SET remind_at = CASE WHEN held.state <> 'offered'
            THEN missions.next_reminder(held.due_at, at) END
        WHERE a.id = held.id;
        IF held.state = 'offered' AND held.answer_by > at THEN
            PERFORM missions.tell(held.id, 'waiting');
        ELSIF held.state <> 'offered' AND held.due_at > at THEN
            PERFORM missions.tell(held.id, CASE held.state WHEN 'arrived' THEN 'unfinished'
                    -- Numbered on when it is given back.
                    ELSE 'reminder' END, (SELECT count(*)::int + 11 * held.returns
                FROM missions.rules r CROSS JOIN unnest(r.remind_before) b
                WHERE held.due_at - b <= at));
        END IF;
        reminded := reminded + 1;
    END LOOP;
    RETURN reminded;
END $$;

-- Puts missions that have ended, and at which nobody is at work any more, away.
CREATE OR REPLACE FUNCTION missions.end_missions(
    at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
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
        ORDER BY m.closes_at LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE missions.missions m SET state = 'over' WHERE m.id = ANY (past) AND NOT EXISTS (
        SELECT FROM missions.assignments a WHERE a.mission_id = m.id
          AND a.state IN ('offered', 'accepted', 'arrived'));
    GET DIAGNOSTICS ended = ROW_COUNT;
    RETURN ended;
END $$;
