-- Enqueueing from SQL, in any language: SELECT errand.enqueue('kind', '{"a": 1}').
--
-- Apps may write no table: errand.enqueue() and errand.enqueue_jobs() check what they ask for, and
-- run with their owner's rights. The others run with their caller's.

-- Inserts one job, or finds the one that holds its unique key. errand.enqueue() explains the
-- arguments. outcome: inserted, skipped (a job holds the key), replaced (that job got the new
-- arguments).
CREATE OR REPLACE FUNCTION errand.enqueue_job(
    kind text, args jsonb, queue text, run_at timestamptz, priority int, max_attempts int,
    not_after timestamptz, unique_key text, unique_while text, unique_within interval,
    on_duplicate text, newest_by text, tags text[], args_version int, options jsonb,
    OUT job_id bigint, OUT outcome text, OUT due_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    asked ALIAS FOR enqueue_job.run_at;
    held record;
    waiting record;
    is_held boolean;
BEGIN
    -- PL/pgSQL prepares every expression again in each transaction: one says that nearly all jobs
    -- need no other check.
    IF (unique_key IS NULL AND tags IS NULL AND pg_column_size(args) <= 4000
        AND unique_while = 'waiting' AND on_duplicate = 'skip' AND errand.is_kind(kind)
        AND errand.is_time(run_at, not_after)
        AND EXISTS (SELECT FROM errand.queues q WHERE q.name = queue)) IS NOT TRUE THEN
        PERFORM errand.expect_options_of(kind, args, unique_while, on_duplicate);
        PERFORM errand.expect_job(queue, kind, run_at, not_after, tags, unique_key, unique_within);
    END IF;
    -- Before the due time: a snapshot without the job shows its transaction as open (OpenWriters).
    PERFORM pg_current_xact_id();
    job_id := nextval('errand.jobs_id_seq');
    WHILE unique_key IS NOT NULL LOOP
        INSERT INTO errand.unique_keys AS u (kind, key, job_id, until, while_running)
        VALUES (kind, unique_key, job_id, clock_timestamp() + unique_within,
            unique_while = 'unfinished')
        ON CONFLICT ON CONSTRAINT unique_keys_pkey DO NOTHING;
        EXIT WHEN FOUND;
        SELECT u.job_id, u.until, u.while_running INTO held FROM errand.unique_keys u
        WHERE u.kind = enqueue_job.kind AND u.key = unique_key FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        -- A statement of its own: only a new snapshot sees what the last holder of the lock did.
        SELECT j.id, j.claimed_by IS NULL AS is_free, j.args INTO waiting
        FROM errand.jobs j WHERE j.id = held.job_id;
        is_held := held.until > clock_timestamp()
            OR CASE WHEN held.while_running THEN waiting.id IS NOT NULL
                    ELSE held.until IS NULL AND waiting.is_free END;
        IF is_held IS NOT TRUE THEN
            UPDATE errand.unique_keys u
            SET job_id = enqueue_job.job_id, until = clock_timestamp() + unique_within,
                while_running = (unique_while = 'unfinished')
            WHERE u.kind = enqueue_job.kind AND u.key = unique_key;
            EXIT;
        END IF;
        IF on_duplicate = 'replace' AND waiting.is_free
            AND errand.is_newer(args, waiting.args, newest_by) THEN
            UPDATE errand.jobs j
            SET args = enqueue_job.args, args_version = enqueue_job.args_version
            WHERE j.id = held.job_id AND j.claimed_by IS NULL;
            CONTINUE WHEN NOT FOUND;
            outcome := 'replaced';
        END IF;
        job_id := held.job_id;
        outcome := coalesce(outcome, 'skipped');
        RETURN;
    END LOOP;

    INSERT INTO errand.jobs (id, queue, kind, args_version, args, priority, max_attempts, run_at,
        not_after, unique_key, tags, options)
    -- The clock is read under the statement's lock on the table (see errand.jobs).
    VALUES (job_id, queue, kind, args_version, args, priority, max_attempts,
        greatest(asked, clock_timestamp()), not_after, unique_key, nullif(tags, '{}'), options)
    RETURNING jobs.run_at INTO due_at;
    outcome := 'inserted';
END $$;

-- Notifies the feeder, when the transaction commits, that a lane (queue, kind and version, with
-- tabs between them) has a new job.
--
-- The first few notifications of a transaction name the job, which the feeder then stages without
-- a look at the table. The others contain the start of the transaction, in microseconds since 2000:
-- if it was open for long, the feeder has read the lane beyond its jobs. Equal notifications of one
-- transaction are sent once.
--
-- Transactions that notify commit one after the other, each with a flush to disk. So lanes whose
-- jobs come fast are polled instead.
CREATE OR REPLACE FUNCTION errand.wake(
    lane text, due_at timestamptz DEFAULT NULL, job_id bigint DEFAULT NULL, priority int DEFAULT 2
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    -- A character for each job that this transaction has named.
    named CONSTANT text := coalesce(current_setting('errand.named_jobs', true), '');
BEGIN
    -- Every second, the feeder looks ahead for more than a second.
    IF due_at > at + interval '3 seconds'
        OR EXISTS (SELECT FROM errand.polled_lanes p WHERE p.lane = wake.lane)
    THEN
        RETURN;
    END IF;
    IF due_at > at THEN
        PERFORM pg_notify('errand_ready', lane || E'\tlater');
    ELSIF job_id IS NOT NULL AND due_at IS NOT NULL AND length(named) < 4 THEN
        PERFORM set_config('errand.named_jobs', named || '.', true);
        PERFORM pg_notify('errand_ready', lane || E'\tjob\t' || job_id || E'\t' || priority
            || E'\t' || errand.microseconds(due_at));
    ELSE
        PERFORM pg_notify('errand_ready', lane || E'\tsince\t' || errand.microseconds(now()));
    END IF;
END $$;

-- A time in microseconds since 2000.
CREATE OR REPLACE FUNCTION errand.microseconds(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (extract(epoch FROM at - '2000-01-01 00:00Z'::timestamptz) * 1000000)::bigint
$$;

-- Enqueues a job of a kind, whose row in errand.kinds is known, if it has one.
CREATE OR REPLACE FUNCTION errand.enqueue_known(
    known errand.kinds,
    kind text,
    args jsonb,
    queue text,
    run_at timestamptz,
    delay interval,
    priority int,
    max_attempts int,
    not_after timestamptz,
    unique_key text,
    unique_while text,
    unique_within interval,
    on_duplicate text,
    newest_by text,
    tags text[],
    args_version int,
    timeout interval,
    retention interval
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    options jsonb;
    made record;
BEGIN
    -- Nearly all jobs ask for nothing but the defaults of a known kind, and need no other check.
    IF known.kind IS NOT NULL THEN
        IF pg_column_size(args) <= 4000 AND num_nulls(queue, run_at, delay, priority,
                max_attempts, not_after, unique_key, unique_within, newest_by, tags,
                args_version, timeout, retention) = 13
            AND unique_while = 'waiting' AND on_duplicate = 'skip'
            AND EXISTS (SELECT FROM errand.queues q WHERE q.name = known.queue) THEN
            -- The conditions on its transaction and clock are those of errand.enqueue_job().
            PERFORM pg_current_xact_id();
            INSERT INTO errand.jobs AS j
                (queue, kind, args_version, args, priority, max_attempts, run_at)
            VALUES (known.queue, known.kind, known.args_version, args, known.priority,
                known.max_attempts, clock_timestamp())
            RETURNING j.id, j.run_at INTO made;
            PERFORM errand.wake(known.queue || E'\t' || known.kind || E'\t'
                || known.args_version, made.run_at, made.id, known.priority);
            RETURN made.id;
        END IF;
    END IF;
    IF run_at IS NOT NULL AND delay IS NOT NULL THEN
        RAISE EXCEPTION 'give run_at or delay, not both'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF timeout IS NOT NULL OR retention IS NOT NULL THEN
        PERFORM errand.expect(coalesce(timeout BETWEEN '0' AND '1 year', true)
            AND coalesce(retention BETWEEN '0' AND '10 years', true),
            'timeout, retention: expected up to a year, and up to ten years');
        options := jsonb_strip_nulls(jsonb_build_object(
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
        -- A replaced job may have changed its lane, with the version of its arguments.
        PERFORM errand.wake(coalesce(queue, known.queue, 'default') || E'\t' || kind || E'\t'
            || coalesce(args_version, known.args_version, 1), made.due_at, made.job_id,
            coalesce(priority, known.priority, 2));
    END IF;
    RETURN made.job_id;
END $$;

-- errand.enqueue() for the functions of a module, which enqueue its own kinds for apps.
CREATE OR REPLACE FUNCTION errand.enqueue_own(
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
BEGIN
    SELECT * INTO known FROM errand.kinds k WHERE k.kind = enqueue_own.kind;
    RETURN errand.enqueue_known(known, kind, args, queue, run_at, delay, priority, max_attempts,
        not_after, unique_key, unique_while, unique_within, on_duplicate, newest_by, tags,
        args_version, timeout, retention);
END $$;

-- Enqueues one job and returns its id (with a unique key: the id of the job that holds the key).
--
-- It is visible to workers when the transaction commits. Defaults come from the kind.
--   run_at, delay   the earliest start, as a time or from now; a time in the past means now
--   priority        0 critical, 1 high, 2 normal, 3 low
--   not_after       the latest start: a job that has not started by then ends as cancelled
--   unique_key      at most one job of this kind and key: while one is 'waiting' to start or
--                   'unfinished' (unique_while), or within a period (unique_within)
--   on_duplicate    'skip', or 'replace' the arguments of the waiting job; with newest_by, only
--                   if the time in that field of the arguments is later
--   timeout, retention   override those of the kind; retention '0' keeps nothing
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
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    known errand.kinds;
BEGIN
    SELECT * INTO known FROM errand.kinds k WHERE k.kind = enqueue.kind;
    IF known.for_apps IS NOT TRUE THEN
        PERFORM errand.expect_open(kind);
    END IF;
    RETURN errand.enqueue_known(known, kind, args, queue, run_at, delay, priority, max_attempts,
        not_after, unique_key, unique_while, unique_within, on_duplicate, newest_by, tags,
        args_version, timeout, retention);
END $$;

-- Enqueues many jobs of one kind with the same options, for clients; the notification is theirs.
--
--   run_at    a start for each job; null for now
--   parents   the job whose handler enqueued each; null for none. Only for workers.
--   the rest  as in errand.enqueue(), but without the defaults of the kind
-- Returns the jobs in the order of their arguments; outcome is null for one that was inserted.
CREATE OR REPLACE FUNCTION errand.enqueue_jobs(
    queue text, kind text, args_version int, priority int, max_attempts int,
    not_after timestamptz, tags text[], options jsonb, args jsonb[],
    run_at timestamptz[] DEFAULT NULL, parents bigint[] DEFAULT NULL,
    unique_key text DEFAULT NULL, unique_while text DEFAULT 'waiting',
    unique_within interval DEFAULT NULL, on_duplicate text DEFAULT 'skip',
    newest_by text DEFAULT NULL
) RETURNS TABLE (job_id bigint, due_at timestamptz, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect_open(kind);
    IF (options IS NOT NULL OR parents IS NOT NULL) AND NOT errand.is_trusted() THEN
        PERFORM errand.expect(parents IS NULL, 'parents: only a worker''s jobs have parents');
        PERFORM errand.expect_options(options);
    END IF;
    IF unique_key IS NOT NULL THEN
        FOR place IN 1 .. cardinality(args) LOOP
            SELECT made.job_id, made.due_at, nullif(made.outcome, 'inserted')
            INTO job_id, due_at, outcome
            FROM errand.enqueue_job(kind, args[place], queue, run_at[place], priority,
                max_attempts, not_after, unique_key, unique_while, unique_within, on_duplicate,
                newest_by, tags, args_version, options) AS made;
            RETURN NEXT;
        END LOOP;
        RETURN;
    END IF;
    PERFORM errand.expect_job(queue, kind, (SELECT max(t) FROM unnest(run_at) AS t), not_after,
        tags, NULL, NULL);
    -- PL/pgSQL unpacks arrays: no value in them is compressed.
    IF pg_column_size(args) > 1048576 THEN
        -- Clients send at most 1 MiB of JSON; its text here has half as much again in spaces.
        PERFORM errand.refuse_arguments(kind, pg_column_size(a)) FROM unnest(args) AS a
        WHERE pg_column_size(a) > 1048576 AND octet_length(a::text) > 1572864;
    END IF;
    -- Before the due times: see errand.enqueue_job().
    PERFORM pg_current_xact_id();
    RETURN QUERY
    INSERT INTO errand.jobs AS j (queue, kind, args_version, priority, max_attempts, not_after,
        tags, options, args, run_at)
    SELECT queue, kind, args_version, priority, max_attempts, not_after, nullif(tags, '{}'),
        CASE WHEN a.parent IS NULL THEN options
            ELSE coalesce(options, '{}')
                || jsonb_build_object('origin', jsonb_build_object('parent', a.parent)) END,
        a.args, greatest(a.run_at, clock_timestamp())
    FROM unnest(args, run_at, parents) AS a (args, run_at, parent)
    RETURNING j.id, j.run_at, NULL::text;
END $$;
