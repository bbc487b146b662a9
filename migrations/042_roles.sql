-- Who may do what. Each role is a group that nobody logs in as: an operator makes the logins and
-- grants them the group (deploy/postgres/README.md has the table of rights and the commands).
--
-- errand_worker      works and schedules. Changes rows where a job does; adds to ledger, audit and
--                    what came of votes, and changes nothing there; reads settings and no bank
--                    details. Owns nothing, so it can neither change a table nor empty one.
-- errand_scheduler   errand schedule run and tick: schedules, their occurrences, and new jobs.
-- errand_app         (since 016) the app's servers: the functions that are meant for them, enqueue.
-- errand_till        (since 016) tills: verify and redeem.
-- errand_inspector   reads what listings show; no secret, sealed or not, and nobody's address.
-- errand_autoscaler  reads errand.queue_depth, and nothing else.
--
-- Whoever migrates owns everything, and needs no other right than CREATE in the database once the
-- extensions and these roles exist.

-- How much there is to do, for what decides how many workers run (such as KEDA). A queue costs a
-- few index lookups a lane, and counting ends at 10,000 jobs of a kind and priority: more workers
-- than that calls for nobody starts at once.
CREATE VIEW errand.queue_depth AS
SELECT q.name::text AS queue, coalesce(waiting.jobs, 0)::bigint AS ready,
    coalesce(held.jobs, 0)::bigint AS running,
    coalesce(greatest(extract(epoch FROM clock_timestamp() - waiting.oldest), 0), 0)::float8
        AS oldest_wait_seconds
FROM errand.queues q
LEFT JOIN LATERAL (
    WITH RECURSIVE lane AS (
        (SELECT j.kind, j.args_version FROM errand.jobs j
         WHERE j.queue = q.name ORDER BY j.kind, j.args_version LIMIT 1)
        UNION ALL
        SELECT next.kind, next.args_version FROM lane CROSS JOIN LATERAL (
            SELECT j.kind, j.args_version FROM errand.jobs j
            WHERE j.queue = q.name AND (j.kind, j.args_version) > (lane.kind, lane.args_version)
            ORDER BY j.kind, j.args_version LIMIT 1) AS next
    )
    SELECT sum(due.jobs) AS jobs, min(due.oldest) AS oldest
    FROM lane CROSS JOIN generate_series(0, 3) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, min(first.run_at) AS oldest FROM (
            SELECT j.run_at FROM errand.jobs j
            WHERE j.queue = q.name AND j.kind = lane.kind AND j.args_version = lane.args_version
              AND j.priority = p.priority::smallint AND j.run_at <= now()
              AND j.claimed_by IS NULL
            ORDER BY j.run_at, j.id LIMIT 10000) AS first
    ) AS due
) AS waiting ON q.paused_at IS NULL OR q.paused_until <= now()
CROSS JOIN LATERAL (
    SELECT sum((w.queues -> q.name ->> 'busy')::bigint
        + coalesce((w.queues -> q.name ->> 'waiting')::bigint, 0)) AS jobs
    FROM errand.workers w
    WHERE w.queues ? q.name
      AND w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
) AS held;
COMMENT ON VIEW errand.queue_depth IS
    'For autoscaling: a row for each queue that was ever used. Cheap enough for every few seconds.';
COMMENT ON COLUMN errand.queue_depth.ready IS
    'Jobs that could start now: due, held by nobody; 0 while the queue is paused. Counted up to '
    '10,000 for each kind and priority.';
COMMENT ON COLUMN errand.queue_depth.running IS
    'Jobs that living workers hold, as they last said (every few seconds).';
COMMENT ON COLUMN errand.queue_depth.oldest_wait_seconds IS
    'Since when the one that waits longest could have started, in seconds; 0 when none is ready.';

-- The day's partitions are made and dropped by the leader of the workers, which owns no table.
ALTER FUNCTION errand.prepare_finished_partitions(date, int)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION errand.drop_expired_partitions(date)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
-- Called by app servers, which may not write what these write.
ALTER FUNCTION errand.enqueue_job(text, jsonb, text, timestamptz, int, int, timestamptz, text, text,
    interval, text, text, text[], int, jsonb)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.emit(text, text, jsonb, text, timestamptz)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.register_device(bigint, text, text, text, text, text)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.unregister_device(bigint, text, text)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.put_person(bigint, jsonb)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.inbox(bigint, bigint, int)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.mark_read(bigint, bigint[])
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION notification.unsubscribe(uuid, text)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

-- What listings show of columns that an inspector may not read: whether there is something.
CREATE FUNCTION votes.has_password(vote bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT v.password_hash IS NOT NULL FROM votes.votes v WHERE v.id = vote
$$;
CREATE FUNCTION missions.has_home(person bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.home IS NOT NULL FROM missions.shoppers s WHERE s.person_id = person
$$;
CREATE FUNCTION notification.has_two_secrets(endpoint bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.previous_secret IS NOT NULL FROM notification.endpoints e WHERE e.id = endpoint
$$;

-- ---- What everybody could do so far ---------------------------------------------------------

-- Functions without effect stay open to all: whoever may read the tables needs them.
REVOKE ALL ON FUNCTION
    errand.prepare_finished_partitions(date, int),
    errand.drop_expired_partitions(date),
    errand.enqueue(text, jsonb, text, timestamptz, interval, int, int, timestamptz, text, text,
        interval, text, text, text[], int, interval, interval),
    errand.enqueue_job(text, jsonb, text, timestamptz, int, int, timestamptz, text, text, interval,
        text, text, text[], int, jsonb),
    errand.wake(text, timestamptz),
    errand.put_schedule(text, jsonb, text),
    errand.set_fingerprint()
FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA notification FROM PUBLIC;
REVOKE ALL ON FUNCTION votes.has_password(bigint), missions.has_home(bigint) FROM PUBLIC;
-- Of later migrations too, whose functions are granted one by one. (What is granted to all by
-- default cannot be taken back for a schema alone.)
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- ---- errand_worker --------------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand, notification, coupons, ledger, payouts, votes, missions, household
    TO errand_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA
    errand, notification, coupons, ledger, payouts, votes, missions, household TO errand_worker;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA
    errand, notification, coupons, ledger, payouts, votes, missions, household TO errand_worker;
-- A later table that holds more than a worker needs takes this back where it is made. The
-- partitions of finished jobs get it so.
ALTER DEFAULT PRIVILEGES IN SCHEMA
    errand, notification, coupons, ledger, payouts, votes, missions, household
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA
    errand, notification, coupons, ledger, payouts, votes, missions, household
    GRANT USAGE, SELECT ON SEQUENCES TO errand_worker;
-- Settings are an operator's.
REVOKE INSERT, UPDATE, DELETE ON
    errand.instance, coupons.code_series, coupons.guess_limits, ledger.account_kinds,
    ledger.currencies, ledger.kept_kinds, ledger.pay_rules, payouts.rules, votes.rules,
    missions.rules, household.rules
FROM errand_worker;
-- Whoever rotates codes locks the row of their series, for which it takes the right to a column.
GRANT UPDATE (series) ON coupons.code_series TO errand_worker;
-- Only added to; triggers refuse the rest to the owner as well.
REVOKE UPDATE, DELETE ON
    errand.audit, ledger.transactions, ledger.postings, payouts.changes, votes.ballots, votes.nodes
FROM errand_worker;
-- Jobs close a quarter and never issue it: bank details are for whoever issues.
REVOKE ALL ON payouts.bank_details, payouts.items FROM errand_worker;
GRANT SELECT (person_id, given_at, refused_at, country, hint, refused_for)
    ON payouts.bank_details TO errand_worker;
GRANT SELECT (file_id, payout_id, person_id, given_at, lines) ON payouts.items TO errand_worker;

DO $$
DECLARE
    of regprocedure;
BEGIN
    -- What runs with its caller's rights gives nobody more than they have. What runs with the
    -- owner's (SECURITY DEFINER) is made for app servers.
    FOR of IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = ANY (ARRAY['errand', 'notification', 'coupons', 'ledger', 'payouts',
                'votes', 'missions', 'household']::regnamespace[])
          AND p.prokind = 'f' AND NOT p.prosecdef
          -- PostGIS, where it was made in one of our schemas.
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
              AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO errand_worker', of);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION
    errand.prepare_finished_partitions(date, int),
    errand.drop_expired_partitions(date),
    errand.enqueue_job(text, jsonb, text, timestamptz, int, int, timestamptz, text, text, interval,
        text, text, text[], int, jsonb),
    notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint),
    notification.emit(text, text, jsonb, text, timestamptz),
    notification.has_two_secrets(bigint), votes.has_password(bigint), missions.has_home(bigint)
TO errand_worker;
-- Money leaves by people alone.
REVOKE ALL ON FUNCTION
    payouts.approve(bigint, text, text, boolean),
    payouts.begin_issue(bigint, date, date, text),
    payouts.freeze(bigint, payouts.method, text, text, bigint, bigint[], timestamptz[],
        timestamptz[], text),
    payouts.publish(bigint, text),
    payouts.settle(bigint, bigint[], text, text),
    payouts.take_back(bigint, text, text, boolean, text),
    payouts.take_return(bigint, text, text, boolean, text),
    payouts.hold(bigint, text, text, boolean),
    payouts.release(bigint, text, text),
    payouts.reissue(bigint, payouts.method, text, text),
    payouts.void(bigint, text, text)
FROM errand_worker;

-- ---- errand_scheduler -----------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_scheduler;
GRANT SELECT ON errand.instance, errand.kinds, errand.queues, errand.workers, errand.leads,
    errand.jobs, errand.finished_jobs, errand.dead_jobs, errand.activity, errand.schedules,
    errand.schedule_occurrences, errand.schedule_misses
TO errand_scheduler;
GRANT INSERT, UPDATE, DELETE ON errand.leads, errand.schedule_occurrences, errand.schedule_misses
    TO errand_scheduler;
GRANT INSERT, UPDATE ON errand.schedules TO errand_scheduler;
GRANT USAGE, SELECT ON SEQUENCE errand.schedules_id_seq, errand.jobs_id_seq TO errand_scheduler;
GRANT INSERT ON errand.queues TO errand_scheduler;
GRANT INSERT ON errand.jobs TO errand_scheduler;
-- Locks the jobs whose end it takes note of.
GRANT UPDATE (cancel_requested) ON errand.jobs TO errand_scheduler;
GRANT EXECUTE ON FUNCTION errand.wake(text, timestamptz), errand.put_schedule(text, jsonb, text)
    TO errand_scheduler;

-- ---- errand_app -----------------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand, notification TO errand_app;
GRANT EXECUTE ON FUNCTION
    errand.enqueue(text, jsonb, text, timestamptz, interval, int, int, timestamptz, text, text,
        interval, text, text, text[], int, interval, interval),
    errand.enqueue_job(text, jsonb, text, timestamptz, int, int, timestamptz, text, text, interval,
        text, text, text[], int, jsonb),
    errand.wake(text, timestamptz),
    notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint),
    notification.emit(text, text, jsonb, text, timestamptz),
    notification.put_person(bigint, jsonb),
    notification.register_device(bigint, text, text, text, text, text),
    notification.unregister_device(bigint, text, text),
    notification.inbox(bigint, bigint, int),
    notification.mark_read(bigint, bigint[]),
    notification.unsubscribe(uuid, text)
TO errand_app;
-- The Swift client writes jobs itself, and reads their ids.
GRANT SELECT ON errand.instance, errand.kinds TO errand_app;
GRANT INSERT (name) ON errand.queues TO errand_app;
GRANT INSERT (queue, kind, args_version, priority, max_attempts, run_at, not_after, tags, options,
    args) ON errand.jobs TO errand_app;
GRANT SELECT (id, run_at) ON errand.jobs TO errand_app;
-- What people chose are rows of the app's own.
GRANT SELECT, INSERT, UPDATE, DELETE ON notification.preferences TO errand_app;
-- So are the establishments that its coupons are for.
GRANT USAGE ON SCHEMA coupons TO errand_app;
GRANT SELECT, INSERT, UPDATE ON coupons.establishments, coupons.branches TO errand_app;

-- ---- errand_inspector -----------------------------------------------------------------------

GRANT USAGE ON SCHEMA errand, notification, coupons, ledger, payouts, votes, missions, household
    TO errand_inspector;
DO $$
DECLARE
    hidden CONSTANT jsonb := '{
        "coupons.open_secrets": ["inner_block", "outer_block"],
        "coupons.epochs": ["sealed"],
        "coupons.redemptions": ["code_hash"],
        "notification.people": ["email", "unsubscribe_token"],
        "notification.devices": ["token"],
        "notification.notices": ["data"],
        "notification.inbox_items": ["title", "body"],
        "notification.parked_items": ["title", "body"],
        "notification.endpoints": ["secret", "previous_secret"],
        "notification.events": ["data"],
        "payouts.bank_details": ["sealed"],
        "payouts.payees": ["name", "address"],
        "payouts.items": ["payee", "address", "sealed"],
        "votes.votes": ["password_hash"],
        "votes.keys": ["sealed"],
        "votes.open_keys": ["cipher_key", "mac_key", "password_mac"],
        "votes.casts": ["sealed"],
        "votes.ballots": ["nonce"],
        "votes.participants": ["address"],
        "missions.shoppers": ["home"],
        "missions.steps": ["content"],
        "household.notes": ["body"],
        "household.bills": ["receipt"]
    }';
    of record;
BEGIN
    FOR of IN
        SELECT t.name, hidden ? t.name AS is_partial, string_agg(quote_ident(a.attname), ', ')
                FILTER (WHERE NOT coalesce(hidden -> t.name ? a.attname, false)) AS columns
        FROM (
            SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('errand', 'notification', 'coupons', 'ledger', 'payouts', 'votes',
                    'missions', 'household') AND c.relkind IN ('r', 'p', 'v')
        ) AS t
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
        GROUP BY t.name
    LOOP
        IF of.is_partial THEN
            EXECUTE format('GRANT SELECT (%s) ON %s TO errand_inspector', of.columns, of.name);
        ELSE
            EXECUTE format('GRANT SELECT ON %s TO errand_inspector', of.name);
        END IF;
    END LOOP;
END $$;
-- The days' partitions of finished jobs; nothing in this schema is a secret. Other schemas give
-- a later table to the inspector where they make it.
ALTER DEFAULT PRIVILEGES IN SCHEMA errand GRANT SELECT ON TABLES TO errand_inspector;
GRANT SELECT ON SEQUENCE errand.jobs_id_seq TO errand_inspector;

DO $$
DECLARE
    of regprocedure;
BEGIN
    FOR of IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = ANY (ARRAY['errand', 'notification', 'coupons', 'ledger', 'payouts',
                'votes', 'missions', 'household']::regnamespace[])
          AND p.prokind = 'f' AND NOT p.prosecdef AND p.provolatile <> 'v'
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
              AND d.objid = p.oid AND d.deptype = 'e')
          -- It holds what coupons' handles are scrambled by, and these use it.
          AND p.oid <> ALL (ARRAY['coupons.scramble_keys()', 'coupons.handle_of(bigint)',
              'coupons.coupon_of(bigint)', 'coupons.read_code(text)']::regprocedure[])
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO errand_inspector', of);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION
    notification.has_two_secrets(bigint), votes.has_password(bigint), missions.has_home(bigint),
    votes.verify_receipt(text), household.debts(bigint), household.expect(boolean, text)
TO errand_inspector;

-- ---- errand_autoscaler, and what all may know -----------------------------------------------

GRANT USAGE ON SCHEMA errand TO errand_autoscaler;
GRANT SELECT ON errand.queue_depth TO errand_autoscaler;
-- Which migrations were applied.
GRANT SELECT ON public.errand_migrations
    TO errand_worker, errand_scheduler, errand_inspector, errand_app;
