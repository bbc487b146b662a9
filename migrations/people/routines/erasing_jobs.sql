-- The erasure of people from jobs, live and finished, and from the operators' log: one pass for all
-- people who wait for it, as the history has no index by person.

-- Enqueues a pass, one at a time; a short while later where the history is long, so that one pass
-- serves many.
CREATE OR REPLACE FUNCTION people.enqueue_sweep() RETURNS bigint LANGUAGE sql AS $$
    SELECT errand.enqueue_own('people.sweep',
        queue => coalesce((SELECT k.queue FROM errand.kinds k WHERE k.kind = 'people.sweep'),
            'people'),
        delay => CASE WHEN (SELECT sum(c.reltuples) FROM pg_catalog.pg_inherits i
                JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'errand.finished_jobs'::regclass) > 200000
            THEN interval '10 minutes' ELSE '0' END,
        unique_key => 'asked')
$$;

-- The arguments in which a job names its person, as text.
CREATE OR REPLACE FUNCTION people.named_by(args jsonb) RETURNS TABLE (person text)
LANGUAGE sql IMMUTABLE AS $$
    VALUES (args ->> 'person_id'), (args ->> 'person'), (args ->> 'personID'),
        (args ->> 'personId'), (args ->> 'user_id'), (args ->> 'userID'), (args ->> 'userId')
$$;

-- Adds to the counts of an erasure.
CREATE OR REPLACE FUNCTION people.count_erased(
    erasure bigint, module text, object text, action text, rows bigint
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO people.erasure_counts AS c (erasure_id, module, object, action, rows)
    VALUES (erasure, module, object, action, rows)
    ON CONFLICT ON CONSTRAINT erasure_counts_pkey DO UPDATE SET rows = c.rows + excluded.rows
$$;

-- Cancels the live job of an erased person, or asks its worker to cancel it; either way its
-- arguments are gone. A job that others wait for too holds ids only, and stays.
CREATE OR REPLACE FUNCTION people.erase_live_job(job bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    -- Locked, so that no other is merged into it before it is cancelled.
    PERFORM FROM errand.jobs j
    WHERE j.id = job AND NOT j.args ?| ARRAY['to', 'group_id', 'group_ids'] FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF errand.cancel_unclaimed(ARRAY[job], 'the person was erased', 7) > 0 THEN
        RETURN true;
    END IF;
    PERFORM pg_notify('errand_control', 'cancel ' || j.claimed_by) FROM errand.jobs j
    WHERE j.id = job AND NOT j.cancel_requested;
    UPDATE errand.jobs j
    SET args = '{"erased": true}', errors = NULL, tags = NULL, unique_key = NULL,
        cancel_requested = true
    WHERE j.id = job;
    RETURN true;
END $$;

-- Searches the next jobs of a sweep; returns how many it read. A merge join would sort all texts.
CREATE OR REPLACE FUNCTION people.sweep_live(sweep people.job_sweeps, max_rows int)
RETURNS bigint LANGUAGE plpgsql SET enable_mergejoin = off AS $$
#variable_conflict use_variable
DECLARE
    seen bigint;
    reached bigint;
    hit record;
BEGIN
    SELECT count(*), max(c.id) INTO seen, reached FROM (
        SELECT j.id FROM errand.jobs j WHERE j.id > sweep.cursor ORDER BY j.id LIMIT max_rows
    ) AS c;
    FOR hit IN
        SELECT DISTINCT j.id, e.id AS erasure
        FROM errand.jobs j CROSS JOIN LATERAL people.named_by(j.args) AS n
        JOIN people.erasures e ON e.person_id::text = n.person
        WHERE j.id > sweep.cursor AND j.id <= reached
          AND e.sweep_id = sweep.id AND e.state = 'running'
        ORDER BY j.id
    LOOP
        IF people.erase_live_job(hit.id) THEN
            PERFORM people.count_erased(hit.erasure, 'errand', 'errand.jobs', 'deleted', 1);
        END IF;
    END LOOP;
    FOR hit IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id)),
        texts AS MATERIALIZED (
            SELECT j.id, concat_ws(' ', j.args::text, j.errors::text, j.tags::text,
                j.unique_key) AS written
            FROM errand.jobs j WHERE j.id > sweep.cursor AND j.id <= reached
        )
        SELECT DISTINCT t.id, e.address, e.erasure
        FROM texts t CROSS JOIN LATERAL people.address_keys(t.written) AS k (key)
        JOIN erased e ON e.key = k.key AND position(e.written IN lower(t.written)) > 0
        ORDER BY t.id
    LOOP
        UPDATE errand.jobs j
        SET args = people.without_address(j.args, hit.address),
            errors = people.without_address(j.errors, hit.address),
            tags = people.without_address(j.tags, hit.address),
            unique_key = people.without_address(j.unique_key, hit.address)
        WHERE j.id = hit.id AND (j.args, j.errors, j.tags, j.unique_key) IS DISTINCT FROM (
            people.without_address(j.args, hit.address),
            people.without_address(j.errors, hit.address),
            people.without_address(j.tags, hit.address),
            people.without_address(j.unique_key, hit.address));
        IF FOUND THEN
            PERFORM people.count_erased(hit.erasure, 'errand', 'errand.jobs', 'anonymized', 1);
        END IF;
    END LOOP;
    UPDATE people.job_sweeps s SET cursor = coalesce(reached, s.cursor) WHERE s.id = sweep.id;
    RETURN seen;
END $$;

-- Searches the next finished jobs of a sweep; returns how many it read.
CREATE OR REPLACE FUNCTION people.sweep_finished(sweep people.job_sweeps, max_rows int)
RETURNS bigint LANGUAGE plpgsql SET enable_mergejoin = off AS $$
#variable_conflict use_variable
DECLARE
    seen bigint;
    reached bigint;
    jobs bigint[];
    hit record;
BEGIN
    SELECT count(*), max(c.id) INTO seen, reached FROM (
        SELECT f.id FROM errand.finished_jobs f
        WHERE f.id > sweep.cursor AND f.id <= sweep.last_id ORDER BY f.id LIMIT max_rows
    ) AS c;
    WITH named AS (
        SELECT DISTINCT f.id, e.id AS erasure
        FROM errand.finished_jobs f CROSS JOIN LATERAL people.named_by(f.args) AS n
        JOIN people.erasures e ON e.person_id::text = n.person
        WHERE f.id > sweep.cursor AND f.id <= reached
          AND e.sweep_id = sweep.id AND e.state = 'running'
    ), counted AS (
        SELECT people.count_erased(n.erasure, 'errand', 'errand.finished_jobs', 'anonymized',
            count(*)) FROM named n GROUP BY n.erasure
    )
    SELECT array_agg(n.id) INTO jobs FROM named n, (SELECT count(*) FROM counted) AS c;
    -- By their ids: a join would let the planner scan the whole history.
    IF jobs IS NOT NULL THEN
        UPDATE errand.finished_jobs f
        SET args = '{"erased": true}', errors = NULL, reason = NULL, tags = NULL,
            unique_key = NULL
        WHERE f.id = ANY (jobs);
        DELETE FROM errand.once_effects o WHERE o.job_id = ANY (jobs);
    END IF;
    FOR hit IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id)),
        texts AS MATERIALIZED (
            SELECT f.id, concat_ws(' ', f.args::text, f.errors::text, f.reason, f.tags::text,
                f.unique_key) AS written
            FROM errand.finished_jobs f WHERE f.id > sweep.cursor AND f.id <= reached
        )
        SELECT DISTINCT t.id, e.address, e.erasure
        FROM texts t CROSS JOIN LATERAL people.address_keys(t.written) AS k (key)
        JOIN erased e ON e.key = k.key AND position(e.written IN lower(t.written)) > 0
        ORDER BY t.id
    LOOP
        UPDATE errand.finished_jobs f
        SET args = people.without_address(f.args, hit.address),
            errors = people.without_address(f.errors, hit.address),
            reason = people.without_address(f.reason, hit.address),
            tags = people.without_address(f.tags, hit.address),
            unique_key = people.without_address(f.unique_key, hit.address)
        WHERE f.id = hit.id
          AND (f.args, f.errors, f.reason, f.tags, f.unique_key) IS DISTINCT FROM (
            people.without_address(f.args, hit.address),
            people.without_address(f.errors, hit.address),
            people.without_address(f.reason, hit.address),
            people.without_address(f.tags, hit.address),
            people.without_address(f.unique_key, hit.address));
        IF FOUND THEN
            PERFORM people.count_erased(
                hit.erasure, 'errand', 'errand.finished_jobs', 'anonymized', 1);
        END IF;
    END LOOP;
    UPDATE people.job_sweeps s SET cursor = coalesce(reached, s.cursor) WHERE s.id = sweep.id;
    RETURN seen;
END $$;
