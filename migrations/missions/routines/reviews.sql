-- Reviews by operators.

-- Withdraws an assignment from a shopper and notifies them of the reason; false if it was already
-- withdrawn. A submitted assignment is refused: review it instead.
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
        RAISE EXCEPTION 'assignment % is %: cannot be withdrawn', assignment, held.state
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    PERFORM missions.finish(
        held, 'withdrawn', coalesce(at, clock_timestamp()), actor, reason, 'withdrawn');
    RETURN true;
END $$;

-- Locks an assignment as hold() does; raises an error if it does not exist.
CREATE OR REPLACE FUNCTION missions.hold_known(assignment bigint)
RETURNS missions.assignments LANGUAGE plpgsql AS $$
DECLARE
    held CONSTANT missions.assignments := missions.hold(assignment,
        (SELECT a.person_id FROM missions.assignments a WHERE a.id = assignment));
BEGIN
    IF held.id IS NULL THEN
        RAISE EXCEPTION 'assignment % does not exist', assignment
            USING ERRCODE = 'no_data_found';
    END IF;
    RETURN held;
END $$;

-- Records the verdict on a submission; false if the same verdict was already recorded. Another
-- verdict on a decided submission is refused.
--   verdict  approve  pays the shopper in this transaction; counts as a good review
--            return   the shopper completes it, within rules.finish_within from now
--            reject   does not pay; counts as a bad review; the slot is free again
--   reason   shown to the shopper; required unless approved
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
    -- After the locks were acquired: the time of the decision.
    at := coalesce(at, clock_timestamp());
    IF actor IN (held.person_id::text, 'person ' || held.person_id, 'person:' || held.person_id)
    THEN
        RAISE EXCEPTION 'assignment % belongs to %: shoppers cannot review their own submissions',
            assignment, actor USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF verdict = 'approve' AND held.state = 'paid' OR verdict = 'reject' AND held.state = 'rejected'
        OR verdict = 'return' AND held.state = 'arrived' AND held.returns > 0 THEN
        RETURN false;
    END IF;
    IF held.state <> 'submitted' THEN
        RAISE EXCEPTION 'assignment % is %: no submission to %', assignment, held.state, verdict
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    SELECT * INTO of FROM missions.missions m WHERE m.id = held.mission_id;
    IF verdict = 'return' THEN
        due_at := greatest(held.due_at, at + (SELECT r.finish_within FROM missions.rules r));
        UPDATE missions.assignments a SET state = 'arrived', returns = a.returns + 1,
            actor = actor, reason = reason, due_at = due_at,
            remind_at = missions.next_reminder(due_at, at)
        WHERE a.id = assignment;
        PERFORM missions.notify(assignment, 'returned', held.returns + 1);
        RETURN true;
    END IF;
    PERFORM missions.keep_review(held.person_id, 'mission:' || assignment, verdict = 'approve',
        least(at, clock_timestamp()));
    IF verdict = 'reject' THEN
        PERFORM missions.finish(held, 'rejected', at, actor, reason, 'rejected');
        RETURN true;
    END IF;
    UPDATE missions.shoppers s SET completed = s.completed + 1 WHERE s.person_id = held.person_id;
    -- Last, because it locks balances that many transactions contend for.
    payment := ledger.credit_reward(held.person_id,
        'mission:' || held.mission_id || ':' || assignment, of.establishment_id, of.paid, of.pay,
        of.currency, least(at, clock_timestamp()));
    UPDATE missions.assignments a SET state = 'paid', ended_at = at, payment_id = payment,
        actor = actor, reason = reason
    WHERE a.id = assignment;
    PERFORM missions.notify(assignment, 'paid');
    RETURN true;
END $$;
