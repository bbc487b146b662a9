-- What other sessions and the standbys do, for operators and the feeder.
--
-- These run with the rights of the owner, who may read the server's statistics (pg_read_all_stats).
-- They never return the text of a statement: it may hold what an app did not bind, such as a vote
-- or a password. If the owner may not read the statistics, the sessions of other logins are hidden.

-- The sessions of clients of this database.
--   waits_for     what it waits for, such as Lock: transactionid or Client: ClientRead
--   snapshot_age  how many transactions its snapshot or its own transaction holds back
CREATE OR REPLACE FUNCTION errand.sessions() RETURNS TABLE (
    pid int, role text, application_name text, is_hidden boolean, state text,
    backend_start timestamptz, xact_start timestamptz, state_change timestamptz, waits_for text,
    snapshot_age int
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.pid, a.usename::text, a.application_name, a.backend_type IS NULL, a.state,
        a.backend_start, a.xact_start, a.state_change,
        a.wait_event_type || ': ' || a.wait_event, age(coalesce(a.backend_xmin, a.backend_xid))
    FROM pg_stat_activity a
    WHERE a.datname = current_database()
      AND coalesce(a.backend_type, 'client backend') = 'client backend'
$$;

-- The standbys that stream from this server.
CREATE OR REPLACE FUNCTION errand.standbys() RETURNS TABLE (
    pid int, application_name text, client_addr inet, state text, replay_lsn pg_lsn,
    replay_lag interval, snapshot_age int
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.pid, r.application_name, r.client_addr, r.state, r.replay_lsn, r.replay_lag,
        age(r.backend_xmin)
    FROM pg_stat_replication r
$$;
