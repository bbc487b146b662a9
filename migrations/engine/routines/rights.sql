-- The rights of each role in the schema errand; tables/006_roles.sql describes the roles.

-- A function that runs with its caller's rights needs no protection; one that runs with its
-- owner's rights (SECURITY DEFINER) is granted by name below. Functions without side effects are
-- open to all, because every role that reads the tables needs them.
DO $$
DECLARE
    of record;
BEGIN
    FOR of IN
        SELECT p.oid::regprocedure AS name, p.prosecdef AS is_definer,
            NOT p.prosecdef AND p.provolatile <> 'v' AS is_harmless
        FROM pg_proc p
        WHERE p.pronamespace = 'errand'::regnamespace AND p.prokind = 'f'
          -- Functions of an extension that was created in this schema.
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
              AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        IF of.is_harmless THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC, errand_inspector', of.name);
        ELSE
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', of.name);
        END IF;
        IF NOT of.is_definer THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO errand_worker', of.name);
        END IF;
    END LOOP;
END $$;
-- Functions that are created later, in any schema, are granted by their modules. (Default rights of
-- PUBLIC cannot be revoked for a single schema.)
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- ---- errand_worker --------------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA errand TO errand_worker;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA errand TO errand_worker;
-- The daily partitions of finished jobs get their rights by these.
ALTER DEFAULT PRIVILEGES IN SCHEMA errand
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA errand GRANT USAGE, SELECT ON SEQUENCES TO errand_worker;
-- Written by operators and migrations. A table that holds more than workers need is revoked here.
REVOKE INSERT, UPDATE, DELETE ON errand.instance, errand.modules, errand.migrations
    FROM errand_worker;
-- Append-only.
REVOKE UPDATE, DELETE ON errand.audit FROM errand_worker;
GRANT EXECUTE ON FUNCTION
    errand.lanes_between(text[], text[], smallint[], text[], text[], smallint[]),
    errand.lane_jobs(errand.lanes, bigint, timestamptz, bigint, boolean)
TO errand_worker, errand_scheduler, errand_inspector, errand_autoscaler;
-- What other sessions do, without the texts of their statements.
GRANT EXECUTE ON FUNCTION errand.sessions(), errand.standbys() TO errand_worker, errand_inspector;
GRANT EXECUTE ON FUNCTION errand.session_lives(int, timestamptz)
    TO errand_worker, errand_scheduler, errand_inspector;
GRANT EXECUTE ON FUNCTION
    errand.begin_finished_day(date),
    errand.check_finished_day(date),
    errand.create_finished_day(date),
    errand.drop_expired_day(date),
    errand.raise_daily_days(int),
    errand.forget_audit(int),
    errand.enqueue(text, jsonb, text, timestamptz, interval, int, int, timestamptz, text, text,
        interval, text, text, text[], int, interval, interval),
    errand.enqueue_jobs(text, text, int, int, int, timestamptz, text[], jsonb, jsonb[],
        timestamptz[], bigint[], text, text, interval, text, text)
TO errand_worker;

-- ---- errand_scheduler -----------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_scheduler;
GRANT SELECT ON errand.instance, errand.kinds, errand.queues, errand.workers, errand.leaders,
    errand.polled_lanes, errand.lanes, errand.jobs, errand.finished_jobs, errand.dead_jobs,
    errand.activity, errand.schedules, errand.schedule_occurrences, errand.schedule_misses
TO errand_scheduler;
-- By columns: who may change or delete all of a table may also lock it against readers, and each
-- worker reads it.
REVOKE INSERT, UPDATE, DELETE ON errand.leaders FROM errand_scheduler;
GRANT INSERT (role, worker, host, pid, backend, backend_started, taken_at, resign_requested_at),
    UPDATE (worker, host, pid, backend, backend_started, taken_at, resign_requested_at)
    ON errand.leaders TO errand_scheduler;
GRANT INSERT, UPDATE, DELETE ON errand.schedule_occurrences, errand.schedule_misses
    TO errand_scheduler;
GRANT INSERT, UPDATE ON errand.schedules TO errand_scheduler;
GRANT USAGE, SELECT ON SEQUENCE errand.schedules_id_seq, errand.jobs_id_seq TO errand_scheduler;
GRANT INSERT ON errand.queues TO errand_scheduler;
GRANT INSERT ON errand.jobs TO errand_scheduler;
-- To lock the jobs whose results it records.
GRANT UPDATE (cancel_requested) ON errand.jobs TO errand_scheduler;
GRANT EXECUTE ON FUNCTION
    errand.wake(text, timestamptz, bigint, int), errand.put_schedule(text, jsonb, text)
    TO errand_scheduler;

-- ---- errand_app -----------------------------------------------------------------------------

-- Once they inserted jobs themselves.
REVOKE ALL ON errand.jobs, errand.queues FROM errand_app;
REVOKE ALL ON FUNCTION errand.enqueue_job(text, jsonb, text, timestamptz, int, int, timestamptz,
    text, text, interval, text, text, text[], int, jsonb) FROM errand_app;
GRANT USAGE ON SCHEMA errand TO errand_app;
GRANT EXECUTE ON FUNCTION
    errand.enqueue(text, jsonb, text, timestamptz, interval, int, int, timestamptz, text, text,
        interval, text, text, text[], int, interval, interval),
    errand.enqueue_jobs(text, text, int, int, int, timestamptz, text[], jsonb, jsonb[],
        timestamptz[], bigint[], text, text, interval, text, text),
    errand.wake(text, timestamptz, bigint, int)
TO errand_app;
GRANT SELECT ON errand.instance, errand.kinds, errand.polled_lanes TO errand_app;

-- ---- errand_inspector -----------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_inspector;
-- Nothing in this schema is secret.
GRANT SELECT ON ALL TABLES IN SCHEMA errand TO errand_inspector;
-- The daily partitions of finished jobs.
ALTER DEFAULT PRIVILEGES IN SCHEMA errand GRANT SELECT ON TABLES TO errand_inspector;
GRANT SELECT ON SEQUENCE errand.jobs_id_seq TO errand_inspector;
-- Called by functions that only read.
GRANT EXECUTE ON FUNCTION errand.expect(boolean, text) TO errand_inspector;

-- ---- errand_autoscaler, and what all roles may read -----------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_autoscaler;
GRANT SELECT ON errand.queue_depth TO errand_autoscaler;
-- Which migrations were applied.
GRANT SELECT ON errand.modules, errand.migrations
    TO errand_worker, errand_scheduler, errand_inspector, errand_app;
