-- Creates the database and the logins. Run it once as a superuser, and again after each change:
--
--   psql -X -v ON_ERROR_STOP=1 -v database=errand -f roles.sql postgres
--
-- Then set the password of each login, typed twice and sent as a SCRAM hash, never in plain text:
--
--   psql -X postgres -c '\password errand_owner'      -- and errand_work, errand_tick, …
--
-- and migrate: DATABASE_URL=postgresql://errand_owner@…/errand errand migrate
--
-- The migrations grant the privileges of each group (each module's routines/rights.sql). Logins,
-- their connection limits and timeouts are the operator's: change them as needed.

\if :{?database}
\else
    \set database errand
\endif
SET password_encryption = 'scram-sha-256';

-- ---- Groups, as the migrations would create them --------------------------------------------
-- Creating them here avoids CREATEROLE for the owner.

SELECT format('CREATE ROLE %I NOLOGIN', name)
FROM unnest('{errand_worker, errand_scheduler, errand_app, errand_till, errand_inspector,
    errand_autoscaler}'::text[]) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- ---- Logins ---------------------------------------------------------------------------------
-- One login for all workers: a worker terminates the stuck connection of a killed worker, which
-- PostgreSQL allows only between connections of the same role.

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest('{errand_owner, errand_work, errand_tick, errand_shop, errand_register, errand_look,
    errand_scale}'::text[]) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

ALTER ROLE errand_owner NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
GRANT errand_worker TO errand_work;          -- errand work, the ordinary operator
GRANT errand_scheduler TO errand_tick;       -- errand schedule run or tick, separate from workers
GRANT errand_app TO errand_shop;             -- the servers of an app; a login for each app
GRANT errand_till TO errand_register;        -- the server of the tills
GRANT errand_inspector TO errand_look;       -- errand ls, show, status, doctor
GRANT errand_autoscaler TO errand_scale;     -- KEDA
-- Lets errand.sessions() show to workers and inspectors what other connections wait for, without
-- the texts of their statements, which may hold what an app did not bind. Without it, listings show
-- a note instead. No login but the owner's needs the server's statistics.
GRANT pg_read_all_stats TO errand_owner;
SELECT format('REVOKE pg_read_all_stats FROM %s', m.member::regrole)
FROM pg_auth_members m
WHERE m.roleid = 'pg_read_all_stats'::regrole
  AND m.member IN ('errand_worker'::regrole, 'errand_inspector'::regrole) \gexec

-- ---- Limits ---------------------------------------------------------------------------------
-- A worker has at most 8 connections (9 with --listen), and 1 to 3 when idle: 200 allow 22 busy
-- workers, or 11 during a rolling restart. Each session of Errand sets lower timeouts: these apply
-- to other programs with the login, and to handlers that set none.

ALTER ROLE errand_owner CONNECTION LIMIT 10;
ALTER ROLE errand_work CONNECTION LIMIT 200;
ALTER ROLE errand_tick CONNECTION LIMIT 10;
ALTER ROLE errand_shop CONNECTION LIMIT 100;
ALTER ROLE errand_register CONNECTION LIMIT 50;
ALTER ROLE errand_look CONNECTION LIMIT 10;
-- KEDA holds one connection per trigger (6), and more while it renews them.
ALTER ROLE errand_scale CONNECTION LIMIT 20;

-- Migrations time out early when waiting for locks, so that other sessions do not queue behind
-- them; a backfill has no time limit.
ALTER ROLE errand_owner SET lock_timeout = '10s';
ALTER ROLE errand_owner SET idle_in_transaction_session_timeout = '60s';
-- Workers: what `errand work` sets for itself (60 s each).
ALTER ROLE errand_work SET statement_timeout = '60s';
ALTER ROLE errand_work SET lock_timeout = '30s';
ALTER ROLE errand_work SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE errand_tick SET statement_timeout = '60s';
ALTER ROLE errand_tick SET lock_timeout = '30s';
ALTER ROLE errand_tick SET idle_in_transaction_session_timeout = '60s';
-- App servers: a user waits for the response.
ALTER ROLE errand_shop SET statement_timeout = '5s';
ALTER ROLE errand_shop SET lock_timeout = '2s';
ALTER ROLE errand_shop SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE errand_register SET statement_timeout = '3s';
ALTER ROLE errand_register SET lock_timeout = '1s';
ALTER ROLE errand_register SET idle_in_transaction_session_timeout = '5s';
-- Readers must not block others. (Not read-only by default: the privileges refuse writes, and with
-- several hosts a read-only login would never find the primary.)
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
-- The logins above connect to no other database. Grant CONNECT to other programs that need these.
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO errand_worker, errand_scheduler, errand_app, errand_till,
    errand_inspector, errand_autoscaler;

\connect :"database"

-- In public, where every role finds their types and functions. Only these require a superuser.
CREATE EXTENSION IF NOT EXISTS postgis SCHEMA public;
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA public;
-- Only the owner of the database may create objects there.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- Large objects belong to no schema: any login could fill the disk with its own.
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
