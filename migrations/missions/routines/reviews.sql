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

-- What a shopper reads of a review with a code and no reason.
CREATE OR REPLACE FUNCTION missions.reason_of(code text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE code
    WHEN 'faces' THEN 'people can be recognized'
    WHEN 'wrong_place' THEN 'this is another place'
    WHEN 'unclear' THEN 'it is too unclear to use'
    WHEN 'copied' THEN 'it was copied'
    WHEN 'incomplete' THEN 'something is missing' END;

-- Raises an error unless a review can have these; see missions.review.
CREATE OR REPLACE FUNCTION missions.expect_review(
    actor text, verdict text, reason text, code text, tasks int[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(verdict IN ('approve', 'return', 'reject'),
        'verdict: expected approve, return or reject');
    PERFORM errand.expect(code IS NULL OR missions.reason_of(code) IS NOT NULL,
        'code: expected faces, wrong_place, unclear, copied or incomplete');
    PERFORM errand.expect(code IS NULL OR verdict <> 'approve',
        'code: an approval has none');
    PERFORM errand.expect(tasks = '{}' OR code IS NOT NULL, 'tasks: expected a code with them');
    PERFORM errand.expect(code IS DISTINCT FROM 'faces' OR cardinality(tasks) > 0,
        'tasks: expected the tasks whose pictures show faces');
    PERFORM missions.expect_actor(actor, reason, verdict <> 'approve');
END $$;

-- Records the verdict on a submission; false if the same verdict was already recorded. Another
-- verdict on a decided submission is refused.
--   verdict  approve  pays the shopper in this transaction, and grants the coupons of the mission;
--                     counts as a good review
--            return   the shopper completes it, within rules.finish_within from now
--            reject   does not pay; counts as a bad review; the slot is free again
--   reason   shown to the shopper; required unless approved, or a code says it
--   code     of a return or rejection: faces, wrong_place, unclear, copied or incomplete
--   tasks    the tasks that the code is about, and shown with it. With faces, which needs them,
--            their results are deleted at once, also of a submission that was returned or rejected
--            before
CREATE OR REPLACE FUNCTION missions.review(
    assignment bigint, actor text, verdict text, reason text DEFAULT NULL,
    at timestamptz DEFAULT NULL, code text DEFAULT NULL, tasks int[] DEFAULT '{}'
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
    has_deleted boolean := false;
BEGIN
    tasks := ARRAY(SELECT DISTINCT t FROM unnest(tasks) AS t ORDER BY t);
    reason := coalesce(reason, missions.reason_of(code));
    PERFORM missions.expect_review(actor, verdict, reason, code, tasks);
    held := missions.hold_known(assignment);
    -- After the locks were acquired: the time of the decision.
    at := coalesce(at, clock_timestamp());
    IF actor IN (held.person_id::text, 'person ' || held.person_id, 'person:' || held.person_id)
    THEN
        RAISE EXCEPTION 'assignment % belongs to %: shoppers cannot review their own submissions',
            assignment, actor USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM missions.expect_numbers(held.mission_id, tasks);
    IF verdict = 'approve' AND held.state = 'paid' THEN
        RETURN false;
    END IF;
    IF held.state <> 'submitted' AND NOT (verdict = 'reject' AND held.state = 'rejected'
        OR verdict = 'return' AND held.state = 'arrived' AND held.returns > 0) THEN
        RAISE EXCEPTION 'assignment % is %: no submission to %', assignment, held.state, verdict
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state',
                HINT = 'missions.redact deletes pictures in any state.';
    END IF;
    IF code = 'faces' THEN
        has_deleted := missions.delete_steps(assignment, tasks, held.submitted_at);
    END IF;
    IF held.state <> 'submitted' AND NOT has_deleted THEN
        RETURN false;
    END IF;
    IF verdict <> 'approve' THEN
        UPDATE missions.assignments a SET review_code = code, review_tasks = tasks, actor = actor,
            reason = reason, faces_tasks = CASE WHEN code = 'faces' THEN ARRAY(
                SELECT DISTINCT t FROM unnest(a.faces_tasks || tasks) AS t ORDER BY t)
                ELSE a.faces_tasks END
        WHERE a.id = assignment;
    END IF;
    IF verdict = 'return' THEN
        PERFORM missions.return_submission(held, at);
    ELSIF verdict = 'approve' THEN
        PERFORM missions.approve(held, actor, reason, at);
    ELSIF held.state = 'submitted' THEN
        PERFORM missions.keep_review(held.person_id, 'mission:' || assignment, false,
            least(at, clock_timestamp()));
        PERFORM missions.finish(held, 'rejected', at, actor, reason, 'rejected');
    END IF;
    RETURN true;
END $$;

-- Deletes the results of tasks because people can be recognized in them, whatever the state of the
-- assignment; returns whether there were any. Only a shopper who is at work is asked for them
-- again: what was submitted or has ended stays as it is.
CREATE OR REPLACE FUNCTION missions.redact(assignment bigint, actor text, tasks int[])
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments;
BEGIN
    tasks := ARRAY(SELECT DISTINCT t FROM unnest(tasks) AS t ORDER BY t);
    PERFORM errand.expect(cardinality(tasks) > 0,
        'tasks: expected the tasks whose pictures show faces');
    PERFORM missions.expect_actor(actor, NULL, false);
    held := missions.hold_known(assignment);
    PERFORM missions.expect_numbers(held.mission_id, tasks);
    IF NOT missions.delete_steps(assignment, tasks, 'infinity') THEN
        RETURN false;
    END IF;
    UPDATE missions.assignments a
    SET faces_tasks = ARRAY(SELECT DISTINCT t FROM unnest(a.faces_tasks || tasks) AS t ORDER BY t)
    WHERE a.id = assignment;
    IF held.state = 'arrived' THEN
        UPDATE missions.assignments a SET review_code = 'faces', review_tasks = tasks,
            actor = actor, reason = missions.reason_of('faces')
        WHERE a.id = assignment;
    END IF;
    RETURN true;
END $$;

-- Raises an error unless the mission has these tasks.
CREATE OR REPLACE FUNCTION missions.expect_numbers(mission bigint, tasks int[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    unknown CONSTANT int[] := ARRAY(SELECT t FROM unnest(tasks) AS t WHERE NOT EXISTS (
        SELECT FROM missions.tasks k WHERE k.mission_id = mission AND k.number = t));
BEGIN
    PERFORM errand.expect(unknown = '{}', format('tasks: mission %s has no task %s', mission,
        array_to_string(unknown, ', ', 'null')));
END $$;

-- Deletes the submitted results of tasks; returns whether there were any. What the shopper has done
-- again since the submission was not seen by the review.
CREATE OR REPLACE FUNCTION missions.delete_steps(
    assignment bigint, tasks int[], submitted_at timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM missions.steps s
    WHERE s.assignment_id = assignment AND s.number = ANY (tasks) AND s.done_at <= submitted_at;
    RETURN FOUND;
END $$;

-- Lets the shopper complete a submission. The caller holds the locks.
CREATE OR REPLACE FUNCTION missions.return_submission(held missions.assignments, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    due_at CONSTANT timestamptz := greatest(held.due_at,
        at + (SELECT r.finish_within FROM missions.rules r));
BEGIN
    UPDATE missions.assignments a SET state = 'arrived', returns = a.returns + 1, due_at = due_at,
        remind_at = missions.next_reminder(due_at, at)
    WHERE a.id = held.id;
    PERFORM missions.notify(held.id, 'returned', held.returns + 1);
END $$;

-- Pays a submission and grants the coupons of its mission. The caller holds the locks.
CREATE OR REPLACE FUNCTION missions.approve(
    held missions.assignments, actor text, reason text, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of missions.missions;
    payment bigint;
BEGIN
    SELECT * INTO of FROM missions.missions m WHERE m.id = held.mission_id;
    PERFORM missions.keep_review(held.person_id, 'mission:' || held.id, true,
        least(at, clock_timestamp()));
    UPDATE missions.shoppers s SET completed = s.completed + 1 WHERE s.person_id = held.person_id;
    PERFORM missions.grant_rewards(held);
    -- Last, because it locks balances that many transactions contend for.
    payment := ledger.credit_reward(held.person_id,
        'mission:' || held.mission_id || ':' || held.id, of.establishment_id, of.paid, of.pay,
        of.currency, least(at, clock_timestamp()));
    UPDATE missions.assignments a SET state = 'paid', ended_at = at, payment_id = payment,
        actor = actor, reason = reason, review_code = NULL, review_tasks = '{}'
    WHERE a.id = held.id;
    PERFORM missions.notify(held.id, 'paid');
END $$;
