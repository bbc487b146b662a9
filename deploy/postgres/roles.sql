-- Makes the database and the logins; run once, by a superuser, and again whenever it has changed:
--
--   psql -X -v ON_ERROR_STOP=1 -v database=errand -f roles.sql postgres
--
-- Then give each login its password, typed twice and sent as a SCRAM hash, never as text:
--
--   psql -X postgres -c '\password errand_owner'      -- and errand_work, errand_tick, …
--
-- and migrate: DATABASE_URL=postgresql://errand_owner@…/errand errand migrate
--
-- What each group may do is granted by the migrations (each module's routines/rights.sql).
-- Logins, their numbers of
-- connections and their time limits are the operator's: change the names as you like.

\if :{?database}
\else
    \set database errand
\endif
SET password_encryption = 'scram-sha-256';

-- ---- Groups, as the migrations would make them ----------------------------------------------
-- Made here, they spare the owner CREATEROLE.

SELECT format('CREATE ROLE %I NOLOGIN', name)
FROM unnest('{errand_worker, errand_scheduler, errand_app, errand_till, errand_inspector,
    errand_autoscaler}'::text[]) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- ---- Logins ---------------------------------------------------------------------------------
-- One login for all workers: a worker ends the stuck connection of another one that was killed,
-- which PostgreSQL allows between connections of the same role alone.

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest('{errand_owner, errand_work, errand_tick, errand_shop, errand_register, errand_look,
    errand_scale}'::text[]) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

ALTER ROLE errand_owner NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
GRANT errand_worker TO errand_work;          -- errand work, the ordinary operator
GRANT errand_scheduler TO errand_tick;       -- errand schedule run or tick, where workers do not
GRANT errand_app TO errand_shop;             -- the servers of an app; a login for each app
GRANT errand_till TO errand_register;        -- what tills speak to
GRANT errand_inspector TO errand_look;       -- errand ls, show, status, doctor
GRANT errand_autoscaler TO errand_scale;     -- KEDA
-- Listings tell what other connections wait for; without it they say that they cannot.
GRANT pg_read_all_stats TO errand_worker, errand_inspector;

-- ---- Limits ---------------------------------------------------------------------------------
-- A worker has 4 connections when it is idle, and opens some 30 at most (16 of them for handlers):
-- 200 are six busy workers, or three during a rolling restart, and more when they are not busy.
-- Errand's own limits, which each of its sessions sets, are below these: these are for whatever
-- else uses the login, and for a handler that forgets its own.

ALTER ROLE errand_owner CONNECTION LIMIT 10;
ALTER ROLE errand_work CONNECTION LIMIT 200;
ALTER ROLE errand_tick CONNECTION LIMIT 10;
ALTER ROLE errand_shop CONNECTION LIMIT 100;
ALTER ROLE errand_register CONNECTION LIMIT 50;
ALTER ROLE errand_look CONNECTION LIMIT 10;
-- KEDA holds one for each trigger (6), and more while it renews them.
ALTER ROLE errand_scale CONNECTION LIMIT 20;

-- Migrations wait for locks shortly, and give up, rather than let all others queue behind them;
-- a backfill may take its time.
ALTER ROLE errand_owner SET lock_timeout = '10s';
ALTER ROLE errand_owner SET idle_in_transaction_session_timeout = '60s';
-- Workers: what `errand work` sets for itself (60 s each).
ALTER ROLE errand_work SET statement_timeout = '60s';
ALTER ROLE errand_work SET lock_timeout = '30s';
ALTER ROLE errand_work SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE errand_tick SET statement_timeout = '60s';
ALTER ROLE errand_tick SET lock_timeout = '30s';
ALTER ROLE errand_tick SET idle_in_transaction_session_timeout = '60s';
-- App servers: a person waits for the answer.
ALTER ROLE errand_shop SET statement_timeout = '5s';
ALTER ROLE errand_shop SET lock_timeout = '2s';
ALTER ROLE errand_shop SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE errand_register SET statement_timeout = '3s';
ALTER ROLE errand_register SET lock_timeout = '1s';
ALTER ROLE errand_register SET idle_in_transaction_session_timeout = '5s';
-- Those who look hold nobody up. (Not read-only by default: the rights refuse writes, and of
-- several hosts such a login would find none that takes writes.)
ALTER ROLE errand_look SET statement_timeout = '30s';
ALTER ROLE errand_look SET lock_timeout = '1s';
ALTER ROLE errand_look SET idle_in_transaction_session_timeout = '30s';
ALTER ROLE errand_scale SET statement_timeout = '5s';
ALTER ROLE errand_scale SET lock_timeout = '1s';
ALTER ROLE errand_scale SET idle_in_transaction_session_timeout = '5s';

-- ---- The database ---------------------------------------------------------------------------

SELECT format('CREATE DATABASE %I OWNER errand_owner', :'database')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \gexec
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO errand_worker, errand_scheduler, errand_app, errand_till,
    errand_inspector, errand_autoscaler;

\connect :"database"

-- In public, where every role finds their types and functions; only these need a superuser.
CREATE EXTENSION IF NOT EXISTS postgis SCHEMA public;
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA public;
-- Nobody but the owner of the database makes anything there.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
