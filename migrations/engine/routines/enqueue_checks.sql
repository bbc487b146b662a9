-- What may be enqueued, and by whom.

-- Whether the caller of a function with its owner's rights may enqueue jobs of every kind: the
-- owner, and members of errand_worker.
-- Within such a function, current_user is the owner. One expression, which is part of its query: a
-- query of its own would be planned again by each caller.
CREATE OR REPLACE FUNCTION errand.is_trusted() RETURNS boolean LANGUAGE sql STABLE
RETURN pg_has_role(
        coalesce(nullif(current_setting('role'), 'none'), session_user), current_user, 'MEMBER')
    OR pg_has_role(
        coalesce(nullif(current_setting('role'), 'none'), session_user), 'errand_worker', 'MEMBER');

-- Raises an error unless the caller may enqueue jobs of this kind.
CREATE OR REPLACE FUNCTION errand.expect_open(kind text) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    is_open boolean;
BEGIN
    SELECT k.for_apps INTO is_open FROM errand.kinds k WHERE k.kind = expect_open.kind;
    IF is_open IS NOT TRUE AND NOT errand.is_trusted() THEN
        RAISE EXCEPTION 'this login may not enqueue jobs of the kind %', kind
            USING ERRCODE = 'insufficient_privilege',
                HINT = CASE WHEN is_open IS NULL
                    THEN 'No program has declared it: start a worker that runs it.'
                    ELSE 'Its program must declare it open to apps: '
                        'static let isOpenToApps = true.' END;
    END IF;
END $$;

-- Raises an error unless these are the options of a job that an app may set.
CREATE OR REPLACE FUNCTION errand.expect_options(options jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    of record;
BEGIN
    PERFORM errand.expect(coalesce(jsonb_typeof(options) = 'object'
        AND jsonb_typeof(coalesce(options -> 'backoff', '{}')) = 'object', true),
        'options, and backoff among them: expected objects');
    FOR of IN
        SELECT o.key, o.value FROM jsonb_each(options) AS o WHERE o.key <> 'backoff'
        UNION ALL
        SELECT 'backoff.' || b.key, b.value FROM jsonb_each(options -> 'backoff') AS b
    LOOP
        PERFORM errand.expect(
            CASE WHEN jsonb_typeof(of.value) = 'number' THEN of.value::numeric BETWEEN 0 AND
                CASE of.key
                    WHEN 'timeout_ms' THEN 31536000000
                    WHEN 'retention_s' THEN 315360000
                    WHEN 'backoff.base' THEN 2592000
                    WHEN 'backoff.factor' THEN 1000
                    WHEN 'backoff.ceiling' THEN 2592000
                    WHEN 'backoff.jitter' THEN 1
                END
                -- Readers expect whole milliseconds and seconds, not even 60.0.
                AND (starts_with(of.key, 'backoff.') OR scale(of.value::numeric) = 0) END,
            'options: ' || of.key || ': expected timeout_ms up to a year, retention_s up to ten '
                'years, both as whole numbers, or backoff with base and ceiling up to 30 days in '
                'seconds, factor up to 1000, and jitter up to 1');
    END LOOP;
END $$;

-- Raises the error of arguments that are too large.
CREATE OR REPLACE FUNCTION errand.refuse_arguments(kind text, bytes int) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE EXCEPTION 'the arguments of a % job take % bytes; the limit is 1048576 (1 MiB)',
        kind, bytes
        USING ERRCODE = 'RU001', DETAIL = 'too_large',
            HINT = 'Store the data in a table or object store and pass its id.';
END $$;

-- Raises that error if the arguments take more than 1 MiB, decompressed.
CREATE OR REPLACE FUNCTION errand.expect_size(kind text, args jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    -- '||' decompresses.
    bytes CONSTANT int := pg_column_size(CASE WHEN pg_column_compression(args) IS NULL THEN args
        ELSE args || '{}' END);
BEGIN
    IF bytes > 1048576 THEN
        PERFORM errand.refuse_arguments(kind, bytes);
    END IF;
END $$;

-- Raises the error of arguments that say what to do about a duplicate.
CREATE OR REPLACE FUNCTION errand.refuse_duplicates(unique_while text, on_duplicate text)
RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF unique_while IN ('waiting', 'unfinished') IS NOT TRUE THEN
        RAISE EXCEPTION 'unique_while %: expected waiting or unfinished', unique_while
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RAISE EXCEPTION 'on_duplicate %: expected skip or replace', on_duplicate
        USING ERRCODE = 'invalid_parameter_value';
END $$;

-- Whether arguments are newer than those of a waiting job, by the time in a field; also if the
-- waiting ones have no time there.
CREATE OR REPLACE FUNCTION errand.is_newer(args jsonb, waiting jsonb, newest_by text)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    asked_at CONSTANT timestamptz := args ->> newest_by;
BEGIN
    RETURN newest_by IS NULL OR waiting ->> newest_by IS NULL
        OR asked_at > (waiting ->> newest_by)::timestamptz;
EXCEPTION WHEN data_exception THEN
    RETURN true;
END $$;

-- Raises an error unless these are the words of a unique key and the arguments are small enough.
CREATE OR REPLACE FUNCTION errand.expect_options_of(
    kind text, args jsonb, unique_while text, on_duplicate text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (unique_while IN ('waiting', 'unfinished') AND on_duplicate IN ('skip', 'replace'))
        IS NOT TRUE THEN
        PERFORM errand.refuse_duplicates(unique_while, on_duplicate);
    END IF;
    -- A value from a table may be compressed, at most to a 255th.
    IF pg_column_size(args) > 4000 THEN
        PERFORM errand.expect_size(kind, args);
    END IF;
END $$;

-- Whether a kind may have this name.
CREATE OR REPLACE FUNCTION errand.is_kind(kind text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN kind ~ '^[a-z0-9][a-z0-9_.-]{0,99}$';

-- Whether the start of a job is near enough, and its latest start; null for none.
CREATE OR REPLACE FUNCTION errand.is_time(run_at timestamptz, not_after timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (run_at > '9999-12-31 00:00Z' OR not_after > '9999-12-31 00:00Z') IS NOT TRUE;

-- Raises an error unless a job may have these values, and creates its queue if it is new.
CREATE OR REPLACE FUNCTION errand.expect_job(
    queue text, kind text, run_at timestamptz, not_after timestamptz, tags text[],
    unique_key text, unique_within interval
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF errand.is_kind(kind) IS NOT TRUE THEN
        RAISE EXCEPTION 'kind %: expected up to 100 of a-z, 0-9, dot, dash, underscore', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT errand.is_time(run_at, not_after) THEN
        RAISE EXCEPTION 'run_at, not_after: expected a time before the year 9999'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF tags IS NOT NULL THEN
        -- An empty array has no dimension.
        PERFORM errand.expect(coalesce(array_ndims(tags), 1) = 1 AND cardinality(tags) <= 100
            AND (SELECT bool_and(coalesce(length(t), 0) BETWEEN 1 AND 200) FROM unnest(tags) AS t)
                IS NOT FALSE, 'tags: expected up to 100 of 1 to 200 characters');
    END IF;
    IF unique_key IS NOT NULL THEN
        PERFORM errand.expect(length(unique_key) BETWEEN 1 AND 500,
            'unique_key: expected 1 to 500 characters');
        PERFORM errand.expect(coalesce(unique_within BETWEEN '0' AND '10 years', true),
            'unique_within: expected up to ten years');
    END IF;
    IF NOT EXISTS (SELECT FROM errand.queues q WHERE q.name = queue) THEN
        IF queue ~ '^[a-z0-9][a-z0-9_.-]{0,62}$' IS NOT TRUE THEN
            RAISE EXCEPTION 'queue %: expected up to 63 of a-z, 0-9, dot, dash, underscore', queue
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        INSERT INTO errand.queues (name) VALUES (queue) ON CONFLICT DO NOTHING;
    END IF;
END $$;
