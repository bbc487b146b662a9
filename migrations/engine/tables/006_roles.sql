-- The roles. Each is a group that nobody logs in as: an operator creates the logins and grants
-- them the group (deploy/postgres/README.md has the table of rights and the commands). The rights
-- of each are granted in the rights.sql of the modules.
--
-- errand_worker      works and schedules. Changes rows where a job does; adds to ledger, audit and
--                    the results of votes, and changes nothing there; reads settings and no bank
--                    details. Owns nothing, so it can neither change a table nor empty one.
-- errand_scheduler   errand schedule run and tick: schedules, their occurrences, and new jobs.
-- errand_app         the app's servers: the functions that are meant for them, enqueue.
-- errand_inspector   reads what listings show; no secret, sealed or not, and nobody's address.
-- errand_autoscaler  reads errand.queue_depth, and nothing else.
--
-- The module coupons adds errand_till, for tills.
--
-- The role that migrates owns everything, and needs no other right than CREATE in the database
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
                NULL;  -- made for another database of this server, just now
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION 'the role that migrates may not create the role %', role
                    USING HINT = 'As a superuser: CREATE ROLE errand_app NOLOGIN; CREATE ROLE '
                        'errand_till NOLOGIN; CREATE ROLE errand_worker NOLOGIN; CREATE ROLE '
                        'errand_scheduler NOLOGIN; CREATE ROLE errand_inspector NOLOGIN; CREATE '
                        'ROLE errand_autoscaler NOLOGIN; then migrate again.';
        END;
    END LOOP;
END $$;
