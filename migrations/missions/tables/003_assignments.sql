-- Assignments of shoppers to slots of missions.
--
-- A row of missions.assignments is one shopper at one slot of one mission, from the offer to the
-- result; missions.guard_assignment enforces the state machine. Indexes and constraints refuse, for
-- every writer: two shoppers at one slot, a shopper twice at one mission, and a shopper at a branch
-- again within the rest period. All functions lock the mission first, then the shopper, then the
-- assignment.

CREATE TYPE missions.assignment_state AS ENUM (
    'offered',
    'accepted',
    'arrived',
    'submitted',
    'paid',         -- approved, and paid by the transaction that approved it
    'rejected',     -- the submission was rejected: not paid
    'declined',
    'lapsed',       -- not answered in time
    'withdrawn',    -- by an operator, by the rules, or because the mission was cancelled
    'missed');      -- accepted, but not submitted in time

CREATE TABLE missions.assignments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mission_id bigint NOT NULL REFERENCES missions.missions,
    person_id bigint NOT NULL REFERENCES missions.shoppers,
    branch_id bigint NOT NULL,
    offered_at timestamptz NOT NULL,
    -- When the offer expires if it is not answered.
    answer_by timestamptz NOT NULL,
    -- When it is missed: before arrival the end of the mission, then rules.finish_within after the
    -- end; a returned submission gets at least finish_within from its return.
    due_at timestamptz NOT NULL,
    accepted_at timestamptz,
    arrived_at timestamptz,
    submitted_at timestamptz,
    ended_at timestamptz,
    -- When the shopper is reminded next; null: no more reminders.
    remind_at timestamptz CHECK (remind_at IS NULL
        OR state IN ('offered', 'accepted', 'arrived')),
    due_day date NOT NULL,
    -- Days on which the shopper may not be at the branch for another mission, from the first day of
    -- the mission or, after arrival, from that day; empty if it finished before arrival.
    barred daterange NOT NULL,
    -- The score of the offer; null: an operator's choice.
    score bigint,
    -- The id of the ledger transaction.
    payment_id bigint UNIQUE,
    slot smallint NOT NULL CHECK (slot >= 1),
    distance_m real,
    -- The number of times that a submission was returned.
    returns smallint NOT NULL DEFAULT 0,
    state missions.assignment_state NOT NULL DEFAULT 'offered',
    -- The app's id of the submission request: makes a repeated request idempotent.
    request_id text CHECK (length(request_id) BETWEEN 1 AND 100),
    -- The operator who decided last, and why; the reason is shown to the person.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    reason text CHECK (length(reason) <= 500),
    CHECK ((payment_id IS NOT NULL) = (state = 'paid')),
    CHECK (state NOT IN ('arrived', 'submitted', 'paid', 'rejected') OR arrived_at IS NOT NULL),
    CHECK ((ended_at IS NULL) = (state IN ('offered', 'accepted', 'arrived', 'submitted'))),
    CONSTRAINT assignments_rest EXCLUDE USING gist
        (branch_id WITH =, person_id WITH =, barred WITH &&)
) WITH (fillfactor = 80);
-- One shopper per slot; a paid slot stays taken.
CREATE UNIQUE INDEX assignments_slot ON missions.assignments (mission_id, slot)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE UNIQUE INDEX assignments_once ON missions.assignments (mission_id, person_id)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE INDEX assignments_mission ON missions.assignments (mission_id, person_id);
-- Assignments that count against the daily capacity: every visit does, whatever its result.
CREATE INDEX assignments_held ON missions.assignments (person_id, due_day)
    WHERE state IN ('offered', 'accepted') OR arrived_at IS NOT NULL;
CREATE INDEX assignments_live ON missions.assignments (person_id)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted');
CREATE INDEX assignments_due ON missions.assignments (due_at)
    WHERE state IN ('accepted', 'arrived');
CREATE INDEX assignments_unanswered ON missions.assignments (answer_by) WHERE state = 'offered';
CREATE INDEX assignments_reminders ON missions.assignments (remind_at)
    WHERE remind_at IS NOT NULL;
CREATE INDEX assignments_submitted ON missions.assignments (submitted_at)
    WHERE state = 'submitted';

-- Results of the checklist's tasks. The app stores pictures elsewhere and refers to them here.
CREATE TABLE missions.steps (
    assignment_id bigint NOT NULL REFERENCES missions.assignments,
    done_at timestamptz NOT NULL,
    number smallint NOT NULL,
    content jsonb NOT NULL CHECK (pg_column_size(content) <= 16384),
    PRIMARY KEY (assignment_id, number)
);

-- Assignment runs.
CREATE TABLE missions.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    total_score bigint NOT NULL,
    -- The upper bound of the total score.
    bound bigint NOT NULL,
    missions int NOT NULL,
    slots int NOT NULL,
    shoppers int NOT NULL,
    candidates int NOT NULL,
    offered int NOT NULL,
    seconds real NOT NULL,
    is_optimal boolean NOT NULL
);
CREATE INDEX runs_started ON missions.runs (started_at);

-- Registered here, so that jobs can be enqueued before the first worker starts.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('missions.assign', 1, 'missions', 1, 20), ('missions.notify', 1, 'missions', 1, 50),
    ('missions.hire', 1, 'missions', 2, 10), ('missions.sweep', 1, 'missions', 1, 5);
-- The response to a request of the shopper's app. Reasons:
--   ok            done, by this request or by an earlier one
--   unknown       the person has no such assignment
--   offered, accepted, arrived, submitted, paid, rejected, declined, lapsed, withdrawn, missed
--                 the assignment is in this state, which does not allow the request
--   over          the mission has closed or was cancelled
--   too_early     before the mission opens
--   too_late      after the deadline
--   too_far       distance_m from the branch, less the counted inaccuracy of the position
--   too_vague     the position is too inaccurate
--   unknown_task  the checklist has no task with this number
--   not_open      an earlier step is not finished
--   unfinished    a required task is not done
--   returned      this submission was returned: a new one needs a new request_id
CREATE TYPE missions.answer AS (
    is_accepted boolean,
    reason text,
    assignment_id bigint,
    mission_id bigint,
    state missions.assignment_state,
    -- The deadlines to accept, to arrive (the end of the mission) and to submit.
    answer_by timestamptz,
    closes_at timestamptz,
    due_at timestamptz,
    distance_m real,
    -- The numbers of the tasks that are open and not done.
    open_tasks int[]
);
