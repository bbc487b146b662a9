-- Operators' bulk operations, and the audit log of every change.

-- One bulk operation on the jobs or dead letters that matched a filter when it started. It goes
-- through the ids in chunks, table by table; each chunk and its progress here are one transaction,
-- so that it can be resumed after any interruption.
CREATE TABLE errand.operations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The command that started it.
    action text NOT NULL CHECK (action IN (
        'dead redrive', 'dead discard', 'job retry', 'job cancel', 'job discard', 'job run-now',
        'job reschedule', 'job move', 'job edit', 'queue purge')),
    operator text NOT NULL,
    reason text,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    -- As JobFilter encodes it.
    filter jsonb NOT NULL,
    rate_per_s double precision CHECK (rate_per_s > 0),
    total bigint NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    -- The highest id that was processed.
    cursor bigint NOT NULL DEFAULT 0,
    -- A 'running' one whose session is gone (it holds an advisory lock) was interrupted.
    state text NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'done', 'cancelled', 'failed')),
    -- Why it was cancelled or failed.
    note text,
    -- What to change, for actions that need it: as BulkChange encodes it.
    change jsonb,
    -- The maximum number of jobs to process.
    max_jobs bigint,
    -- The jobs that were skipped because they no longer matched when their chunk was processed.
    skipped bigint NOT NULL DEFAULT 0,
    -- The part of `done` that was running: their workers were asked to cancel them.
    cancel_requested bigint NOT NULL DEFAULT 0,
    -- Whether `total` is an estimate: then the operation may end before or after it.
    is_estimate boolean NOT NULL DEFAULT false,
    -- The table of jobs that `cursor` is in.
    stage smallint NOT NULL DEFAULT 0,
    -- Jobs with higher ids were created later and are not part of it.
    last_id bigint NOT NULL DEFAULT 9223372036854775807
) WITH (fillfactor = 70);

-- Every change by an operator, written in the transaction of the change.
CREATE TABLE errand.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    operator text NOT NULL,
    -- The name of the command, such as 'queue pause'.
    action text NOT NULL,
    -- What was changed, such as the queue's name or the job's id.
    subject text NOT NULL,
    reason text,
    change jsonb
);
CREATE INDEX audit_operator ON errand.audit (operator, id);
CREATE INDEX audit_action ON errand.audit (action, id);
