-- Who holds which slot of a mission, and what came of it.
--
-- A row of missions.assignments is one shopper at one slot of one mission, from the offer to the
-- end; missions.guard_assignment says which way it may go. What must never be is refused by
-- indexes, whoever writes: two people at one slot, one person twice at a mission, the same person
-- again at a branch too soon. All functions lock the mission first, then the shopper, then the
-- assignment.

CREATE TYPE missions.assignment_state AS ENUM (
    'offered',
    'accepted',
    'arrived',
    'submitted',
    'paid',         -- approved, and paid by the transaction that approved it
    'rejected',     -- its submission is worth nothing
    'declined',
    'lapsed',       -- not answered in time
    'withdrawn',    -- by an operator, or because the mission was cancelled
    'missed');      -- accepted, and not done in time

CREATE TABLE missions.assignments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mission_id bigint NOT NULL REFERENCES missions.missions,
    person_id bigint NOT NULL REFERENCES missions.shoppers,
    branch_id bigint NOT NULL,
    offered_at timestamptz NOT NULL,
    -- When an offer ends that nobody answers.
    answer_by timestamptz NOT NULL,
    -- When it is missed: until they arrive the end of the mission, then so long after it as
    -- missions.rules says; what is given back gets at least as long again.
    due_at timestamptz NOT NULL,
    accepted_at timestamptz,
    arrived_at timestamptz,
    submitted_at timestamptz,
    ended_at timestamptz,
    -- When the person is reminded next of what they have to do; null: no more.
    remind_at timestamptz CHECK (remind_at IS NULL
        OR state IN ('offered', 'accepted', 'arrived')),
    due_day date NOT NULL,
    -- Days on which the person may not be at the branch again: from the first on which they may be
    -- there for this mission, or were; empty once it is known that they never were.
    barred daterange NOT NULL,
    -- What it was worth; null: an operator's choice.
    score bigint,
    -- The ledger's transaction.
    payment_id bigint UNIQUE,
    slot smallint NOT NULL CHECK (slot >= 1),
    distance_m real,
    -- Submissions that were given back.
    returns smallint NOT NULL DEFAULT 0,
    state missions.assignment_state NOT NULL DEFAULT 'offered',
    -- Of the app, by which it repeats a submission whose answer was lost.
    request_id text CHECK (length(request_id) BETWEEN 1 AND 100),
    -- Who last decided by hand, and why; the reason is for the person to read.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    reason text CHECK (length(reason) <= 500),
    CHECK ((payment_id IS NOT NULL) = (state = 'paid')),
    CHECK (state NOT IN ('arrived', 'submitted', 'paid', 'rejected') OR arrived_at IS NOT NULL),
    CHECK ((ended_at IS NULL) = (state IN ('offered', 'accepted', 'arrived', 'submitted'))),
    CONSTRAINT assignments_rest EXCLUDE USING gist
        (branch_id WITH =, person_id WITH =, barred WITH &&)
) WITH (fillfactor = 80);
-- Of any number of shoppers one holds a slot; once it is paid it stays theirs.
CREATE UNIQUE INDEX assignments_slot ON missions.assignments (mission_id, slot)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE UNIQUE INDEX assignments_once ON missions.assignments (mission_id, person_id)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE INDEX assignments_mission ON missions.assignments (mission_id, person_id);
-- What counts against capacity: a visit does, whatever became of it.
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

-- What was done of the checklist; the app keeps pictures elsewhere, and names them here.
CREATE TABLE missions.steps (
    assignment_id bigint NOT NULL REFERENCES missions.assignments,
    done_at timestamptz NOT NULL,
    number smallint NOT NULL,
    content jsonb NOT NULL CHECK (pg_column_size(content) <= 16384),
    PRIMARY KEY (assignment_id, number)
);

-- Each time that shoppers were sought for missions.
CREATE TABLE missions.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    total_score bigint NOT NULL,
    -- No assignment of these slots can be worth more.
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

-- Known before the first worker has said so.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('missions.assign', 1, 'missions', 1, 20), ('missions.tell', 1, 'missions', 1, 50),
    ('missions.hire', 1, 'missions', 2, 10), ('missions.sweep', 1, 'missions', 1, 5);
-- The answer to a shopper's app. The reasons:
--   ok            it is so, by this request or by the same one before
--   unknown       the person has no such assignment
--   offered, accepted, arrived, submitted, paid, rejected, declined, lapsed, withdrawn, missed
--                 it is in this state, in which that cannot be
--   over          the mission has ended, or was cancelled
--   too_early, too_late
--   too_far       distance_m from the branch, less what the device does not know
--   too_vague     the position is too inaccurate to say anything
--   unknown_task  the checklist has no such number
--   not_open      steps before it come first
--   unfinished    something that is required is not done
--   returned      this submission was given back: a new one needs a new request_id
CREATE TYPE missions.answer AS (
    is_accepted boolean,
    reason text,
    assignment_id bigint,
    mission_id bigint,
    state missions.assignment_state,
    -- Until when to accept, the end of the mission, and until when to submit.
    answer_by timestamptz,
    closes_at timestamptz,
    due_at timestamptz,
    distance_m real,
    -- Numbers of the tasks that may be done now and are not.
    open_tasks int[]
);
