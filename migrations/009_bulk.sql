-- Bulk operations on live jobs, and fields that are not shown.

-- One bulk action on the jobs, or dead letters, that passed a filter at one moment. It goes by ids
-- in chunks, table by table; each chunk and its place here are one transaction.
ALTER TABLE errand.operations
    DROP CONSTRAINT operations_action_check,
    -- What the jobs are to become, where the action needs to know: as BulkChange writes it.
    ADD COLUMN change jsonb,
    -- Not more than so many.
    ADD COLUMN most bigint,
    -- Jobs that had changed by the time they were come to, and stayed as they were.
    ADD COLUMN skipped bigint NOT NULL DEFAULT 0,
    -- Of `done`, running jobs whose workers were asked to cancel them.
    ADD COLUMN asked bigint NOT NULL DEFAULT 0,
    -- Whether `total` was estimated: then it says nothing of the end.
    ADD COLUMN is_estimate boolean NOT NULL DEFAULT false,
    -- Of the tables that the jobs lie in, the one that `cursor` is in.
    ADD COLUMN stage smallint NOT NULL DEFAULT 0,
    -- Jobs with higher ids were made later and are not meant.
    ADD COLUMN last_id bigint NOT NULL DEFAULT 9223372036854775807;
-- Actions are named as their commands are called.
UPDATE errand.operations SET action = 'dead ' || action, most = total;
ALTER TABLE errand.operations ADD CONSTRAINT operations_action_check CHECK (action IN (
    'dead redrive', 'dead discard', 'job retry', 'job cancel', 'job discard', 'job run-now',
    'job reschedule', 'job move', 'job edit', 'queue purge'));

-- Names of fields of the arguments, at any depth, whose values are shown to nobody unasked.
ALTER TABLE errand.kinds ADD COLUMN sensitive text[] NOT NULL DEFAULT '{}';
