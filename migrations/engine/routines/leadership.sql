-- The holders of roles and bulk operations.
--
-- A holder is a row, not an advisory lock: any login may take such a lock, but only some may write
-- the row.

-- Whether a session of the database lives; null if its owner is not shown when it began.
--
-- The server alone says which session has a process id and when it began. The beginning is shown to
-- sessions of the same login and to readers of statistics, such as the owner.
CREATE OR REPLACE FUNCTION errand.session_lives(backend int, began timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN count(*) = 0 THEN false ELSE bool_or(a.backend_start = began) END
    FROM pg_stat_activity a WHERE a.pid = backend
$$;

-- Whether the session that took a role lives; by the worker's lease if the server does not show it.
CREATE OR REPLACE FUNCTION errand.is_led(held errand.leaders) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(errand.session_lives(held.backend, held.backend_started),
        held.worker IS NULL OR EXISTS (
            SELECT FROM errand.workers w
            WHERE w.id = held.worker
              AND w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)))
$$;
