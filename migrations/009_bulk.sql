-- Bulk operations on live jobs, fields that are not shown, and where a job came from.

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

-- As before; and the job remembers who asked for it.
CREATE OR REPLACE FUNCTION errand.enqueue(
    kind text,
    args jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    delay interval DEFAULT NULL,
    priority int DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    not_after timestamptz DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_while text DEFAULT 'waiting',
    unique_within interval DEFAULT NULL,
    on_duplicate text DEFAULT 'skip',
    newest_by text DEFAULT NULL,
    tags text[] DEFAULT NULL,
    args_version int DEFAULT NULL,
    timeout interval DEFAULT NULL,
    retention interval DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known errand.kinds;
    options jsonb;
    made record;
BEGIN
    IF kind IS NULL OR kind !~ '^[a-z0-9][a-z0-9_.-]{0,99}$' THEN
        RAISE EXCEPTION 'kind %: expected up to 100 of a-z, 0-9, dot, dash, underscore', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF unique_while NOT IN ('waiting', 'unfinished') THEN
        RAISE EXCEPTION 'unique_while %: expected waiting or unfinished', unique_while
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF on_duplicate NOT IN ('skip', 'replace') THEN
        RAISE EXCEPTION 'on_duplicate %: expected skip or replace', on_duplicate
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF run_at IS NOT NULL AND delay IS NOT NULL THEN
        RAISE EXCEPTION 'give run_at or delay, not both'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO known FROM errand.kinds k WHERE k.kind = enqueue.kind;
    options := jsonb_build_object('origin', jsonb_build_object(
        'role', session_user, 'application', current_setting('application_name')));
    IF timeout IS NOT NULL OR retention IS NOT NULL THEN
        options := options || jsonb_strip_nulls(jsonb_build_object(
            'timeout_ms', (extract(epoch FROM timeout) * 1000)::bigint,
            'retention_s', extract(epoch FROM retention)::bigint));
    END IF;
    SELECT * INTO made FROM errand.enqueue_job(
        kind, coalesce(args, '{}'), coalesce(queue, known.queue, 'default'),
        coalesce(run_at, clock_timestamp() + coalesce(delay, '0')),
        coalesce(priority, known.priority, 2), coalesce(max_attempts, known.max_attempts, 20),
        not_after, unique_key, unique_while, unique_within, on_duplicate, newest_by, tags,
        coalesce(args_version, known.args_version, 1), options);
    IF made.outcome IN ('inserted', 'replaced') THEN
        -- A replaced job may have changed its lane, with the version of its arguments. Equal
        -- notices of one transaction are sent once.
        PERFORM pg_notify('errand_ready', coalesce(queue, known.queue, 'default')
            || E'\t' || kind || E'\t' || coalesce(args_version, known.args_version, 1)
            || CASE WHEN made.due_at > clock_timestamp() THEN E'\tlater' ELSE '' END);
    END IF;
    RETURN made.job_id;
END $$;
