-- Finished jobs: their daily partitions, and the fingerprints by which dead letters are grouped.

-- The feeder owns no tables, so the functions that create and drop partitions are SECURITY DEFINER.
-- They wait only briefly for locks: while they wait, no job can be finished.

-- The partition of a day on which retention ends.
CREATE OR REPLACE FUNCTION errand.finished_day_name(day date) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT 'finished_jobs_' || to_char(day, 'YYYYMMDD') $$;

-- Prepares the creation of a day's partition; returns whether errand.check_finished_day() must
-- follow.
--
-- PostgreSQL scans the default partition for rows of a new one, while it blocks all results. With a
-- validated constraint that excludes such rows, it does not.
CREATE OR REPLACE FUNCTION errand.begin_finished_day(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '30ms' AS $$
DECLARE
    name CONSTANT text := 'not_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF pg_relation_size('errand.finished_jobs_other') <= 1048576 THEN
        RETURN false;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_constraint c
        WHERE c.conrelid = 'errand.finished_jobs_other'::regclass AND c.conname = name)
    THEN
        EXECUTE format('ALTER TABLE errand.finished_jobs_other ADD CONSTRAINT %I '
            'CHECK (keep_until < %L OR keep_until >= %L) NOT VALID', name, day, day + 1);
    END IF;
    RETURN true;
END $$;

-- Checks that the default partition has no rows of a day. Results can be written meanwhile.
CREATE OR REPLACE FUNCTION errand.check_finished_day(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '30ms' AS $$
BEGIN
    EXECUTE format('ALTER TABLE errand.finished_jobs_other VALIDATE CONSTRAINT %I',
        'not_' || to_char(day, 'YYYYMMDD'));
END $$;

-- Creates the partition of a day; returns false if it exists.
CREATE OR REPLACE FUNCTION errand.create_finished_day(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '30ms' AS $$
DECLARE
    name CONSTANT text := errand.finished_day_name(day);
    excluded CONSTANT text := 'not_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass('errand.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- CREATE TABLE PARTITION OF would lock the whole history; ATTACH locks the default partition.
    EXECUTE format('CREATE TABLE errand.%I (LIKE errand.finished_jobs INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE errand.finished_jobs ATTACH PARTITION errand.%I '
        'FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
    IF EXISTS (SELECT FROM pg_constraint c
        WHERE c.conrelid = 'errand.finished_jobs_other'::regclass AND c.conname = excluded)
    THEN
        EXECUTE format('ALTER TABLE errand.finished_jobs_other DROP CONSTRAINT %I', excluded);
    END IF;
    RETURN true;
EXCEPTION
    WHEN duplicate_table OR unique_violation THEN
        RETURN false;  -- another feeder was faster
END $$;

-- Drops the oldest partition whose retention ended before `today`; null if there is none.
CREATE OR REPLACE FUNCTION errand.drop_expired_day(today date) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '30ms' AS $$
DECLARE
    name text;
BEGIN
    SELECT min(c.relname) INTO name
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'errand.finished_jobs'::regclass
      AND c.relname ~ '^finished_jobs_[0-9]{8}$'
      AND to_date(right(c.relname, 8), 'YYYYMMDD') < today;
    IF name IS NOT NULL THEN
        EXECUTE format('DROP TABLE errand.%I', name);
    END IF;
    RETURN name;
END $$;

-- Raises the longest retention that has daily partitions; the caller has created these.
CREATE OR REPLACE FUNCTION errand.raise_daily_days(days int) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE errand.instance SET daily_days = days WHERE daily_days < days
$$;

-- Moves up to `max_rows` finished jobs from the default partition to where they belong; returns how
-- many. They got there on a day without a partition.
--
-- Cancelled jobs without a retention of their own were once kept for ten years by mistake: they
-- are kept for the default of a week.
CREATE OR REPLACE FUNCTION errand.refile_finished_jobs(max_rows int) RETURNS int
LANGUAGE sql SET lock_timeout = '200ms' AS $$
    WITH strays AS (
        DELETE FROM errand.finished_jobs_other WHERE ctid = ANY (ARRAY(
            SELECT o.ctid FROM errand.finished_jobs_other o LIMIT max_rows FOR UPDATE SKIP LOCKED))
        RETURNING *
    ), due AS (
        SELECT s.*, CASE
            WHEN s.outcome = 'cancelled' AND s.options ->> 'retention_s' IS NULL
                AND s.keep_until >= (s.finished_at AT TIME ZONE 'UTC')::date + 3650
            THEN (s.finished_at AT TIME ZONE 'UTC')::date + 7
            ELSE s.keep_until END AS until
        FROM strays s
    ), kept AS (
        INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at, worker,
            keep_until, outcome, duration_ms, priority, attempt, max_attempts, args_version, queue,
            kind, reason, args, unique_key, tags, options, errors, fingerprint, long_until)
        SELECT id, created_at, run_at, started_at, finished_at, worker,
            CASE WHEN is_daily THEN until ELSE '9998-12-31' END, outcome, duration_ms, priority,
            attempt, max_attempts, args_version, queue, kind, reason, args, unique_key, tags,
            options, errors, fingerprint, CASE WHEN NOT is_daily THEN until END
        FROM due CROSS JOIN LATERAL (
            SELECT to_regclass('errand.' || errand.finished_day_name(due.until)) IS NOT NULL
        ) AS day (is_daily)
        WHERE until >= (now() AT TIME ZONE 'UTC')::date
    )
    SELECT count(*)::int FROM strays
$$;

-- Deletes lines of the audit log after 400 days. Workers have no right to delete any others.
CREATE OR REPLACE FUNCTION errand.forget_audit(max_rows int) RETURNS int
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM errand.audit WHERE ctid = ANY (ARRAY(
            SELECT a.ctid FROM errand.audit a
            WHERE a.at < clock_timestamp() - interval '400 days' LIMIT max_rows))
        RETURNING 1
    )
    SELECT count(*)::int FROM gone
$$;

-- So that the first worker finds the partitions of its day.
DO $$
BEGIN
    PERFORM errand.create_finished_day((now() AT TIME ZONE 'UTC')::date + n)
    FROM generate_series(0, 11) AS n;
END $$;

-- The first line of an error without the parts that differ between similar errors: numbers,
-- hexadecimal ids, UUIDs and quoted texts.
CREATE OR REPLACE FUNCTION errand.error_pattern(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(
        regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            left(split_part(coalesce(error, ''), E'\n', 1), 2000),
            '"[^"]*"|`[^`]*`|“[^”]*”', '"…"', 'g'),
            '(^|[^a-zA-Z0-9])''[^'']*''(?![a-zA-Z0-9])', '\1"…"', 'g'),
            '\m[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\M', '#', 'gi'),
            '\m(0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{8,})\M', '#', 'gi'),
            '[0-9]+([.,][0-9]+)*', '#', 'g'), 200)
$$;

-- A hash of that pattern, short enough to be typed.
CREATE OR REPLACE FUNCTION errand.fingerprint(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(errand.error_pattern(error)), 12)
$$;

CREATE OR REPLACE FUNCTION errand.set_fingerprint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.fingerprint := errand.fingerprint(coalesce(NEW.errors -> -1 ->> 'error', NEW.reason));
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER dead_jobs_fingerprint BEFORE INSERT ON errand.dead_jobs
    FOR EACH ROW EXECUTE FUNCTION errand.set_fingerprint();
