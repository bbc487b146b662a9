-- The roles. Each is a group without login: an operator creates the logins and grants them the
-- group (deploy/postgres/README.md has the table of rights and the commands). The rights.sql of the
-- modules grant the rights of each role.
--
-- errand_worker      workers and schedulers. Writes the tables that jobs write; only appends to the
--                    ledger, the audit log and the results of votes; reads settings, but no bank
--                    details. Owns nothing, so it can neither alter nor truncate a table.
-- errand_scheduler   errand schedule run and tick: schedules, their occurrences, and new jobs.
-- errand_app         the app's servers: the functions for them, and enqueue.
-- errand_inspector   reads the data of listings, but no secrets, even sealed, and no addresses.
-- errand_autoscaler  reads only errand.queue_depth.
--
-- The module coupons adds errand_till, for tills.
--
-- The role that runs migrations owns everything. It needs only the right CREATE in the database
-- once the extensions and these roles exist.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['errand_worker', 'errand_scheduler', 'errand_app',
        'errand_inspector', 'errand_autoscaler'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role);
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                NULL;  -- created concurrently for another database of this server
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION 'the role that migrates has no right to create the role %', role
                    USING HINT = 'As a superuser: CREATE ROLE errand_app NOLOGIN; CREATE ROLE '
                        'errand_till NOLOGIN; CREATE ROLE errand_worker NOLOGIN; CREATE ROLE '
                        'errand_scheduler NOLOGIN; CREATE ROLE errand_inspector NOLOGIN; CREATE '
                        'ROLE errand_autoscaler NOLOGIN; then migrate again.';
        END;
    END LOOP;
END $$;
