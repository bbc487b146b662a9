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

-- The mail addresses in a text, in lower case.
CREATE OR REPLACE FUNCTION people.addresses_in(written text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE AS $$
    SELECT DISTINCT lower(rtrim(m[1], '.')) FROM regexp_matches(written,
        '([^[:space:]"''<>,;:()\[\]{}\\=]+@[^[:space:]"''<>,;:()\[\]{}\\=]+)', 'g') AS m
    WHERE position('@' IN written) > 0
$$;

-- The text without an address, in any case of its letters.
CREATE OR REPLACE FUNCTION people.without_address(written text, address text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(written,
        regexp_replace(address, '([\\^$.|?*+()\[\]{}-])', '\\\1', 'g'), '[erased]', 'gi')
$$;

-- The addresses of the people of a sweep.
CREATE OR REPLACE FUNCTION people.addresses_of(sweep bigint)
RETURNS TABLE (erasure bigint, address text) LANGUAGE sql STABLE AS $$
    SELECT e.id, lower(p.email)
    FROM people.erasures e JOIN people.people p ON p.id = e.person_id
    WHERE e.sweep_id = sweep AND e.state = 'running' AND p.email IS NOT NULL
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
    WITH ended AS (
        DELETE FROM errand.jobs j WHERE j.id = job AND j.claimed_by IS NULL
            AND NOT j.args ?| ARRAY['to', 'group_id', 'group_ids']
        RETURNING j.*
    ), effects AS (
        DELETE FROM errand.once_effects o USING ended WHERE o.job_id = ended.id
    )
    INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until, outcome,
        priority, attempt, max_attempts, args_version, queue, kind, reason, args, options)
    SELECT e.id, e.created_at, e.run_at, now(), (now() AT TIME ZONE 'UTC')::date + 7, 'cancelled',
        e.priority, e.attempt, e.max_attempts, e.args_version, e.queue, e.kind,
        'the person was erased', '{"erased": true}', e.options
    FROM ended e;
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM pg_notify('errand_control', 'cancel ' || j.claimed_by) FROM errand.jobs j
    WHERE j.id = job AND j.claimed_by IS NOT NULL AND NOT j.cancel_requested;
    UPDATE errand.jobs j
    SET args = '{"erased": true}', errors = NULL, tags = NULL, unique_key = NULL,
        cancel_requested = true
    WHERE j.id = job AND NOT j.args ?| ARRAY['to', 'group_id', 'group_ids'];
    RETURN FOUND;
END $$;

-- Searches the next jobs of a sweep; returns how many it read.
CREATE OR REPLACE FUNCTION people.sweep_live(sweep people.job_sweeps, max_rows int)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    seen bigint;
    reached bigint;
    found record;
BEGIN
    SELECT count(*), max(c.id) INTO seen, reached FROM (
        SELECT j.id FROM errand.jobs j WHERE j.id > sweep.cursor ORDER BY j.id LIMIT max_rows
    ) AS c;
    FOR found IN
        SELECT DISTINCT j.id, e.id AS erasure
        FROM errand.jobs j CROSS JOIN LATERAL people.named_by(j.args) AS n
        JOIN people.erasures e ON e.person_id::text = n.person
        WHERE j.id > sweep.cursor AND j.id <= reached
          AND e.sweep_id = sweep.id AND e.state = 'running'
        ORDER BY j.id
    LOOP
        IF people.erase_live_job(found.id) THEN
            PERFORM people.count_erased(found.erasure, 'errand', 'errand.jobs', 'deleted', 1);
        END IF;
    END LOOP;
    FOR found IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id))
        SELECT j.id, a.address, e.erasure
        FROM errand.jobs j CROSS JOIN LATERAL people.addresses_in(
            concat_ws(' ', j.args::text, j.errors::text, j.tags::text, j.unique_key)
        ) AS a (address)
        JOIN erased e ON e.address = a.address
        WHERE j.id > sweep.cursor AND j.id <= reached
    LOOP
        UPDATE errand.jobs j
        SET args = people.without_address(j.args::text, found.address)::jsonb,
            errors = people.without_address(j.errors::text, found.address)::jsonb,
            tags = people.without_address(j.tags::text, found.address)::text[],
            unique_key = people.without_address(j.unique_key, found.address)
        WHERE j.id = found.id;
        PERFORM people.count_erased(found.erasure, 'errand', 'errand.jobs', 'anonymized', 1);
    END LOOP;
    UPDATE people.job_sweeps s SET cursor = coalesce(reached, s.cursor) WHERE s.id = sweep.id;
    RETURN seen;
END $$;

-- Searches the next finished jobs of a sweep; returns how many it read.
CREATE OR REPLACE FUNCTION people.sweep_finished(sweep people.job_sweeps, max_rows int)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    seen bigint;
    reached bigint;
    jobs bigint[];
    found record;
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
    FOR found IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id))
        SELECT f.id, a.address, e.erasure
        FROM errand.finished_jobs f CROSS JOIN LATERAL people.addresses_in(concat_ws(' ',
            f.args::text, f.errors::text, f.reason, f.tags::text, f.unique_key)) AS a (address)
        JOIN erased e ON e.address = a.address
        WHERE f.id > sweep.cursor AND f.id <= reached
    LOOP
        UPDATE errand.finished_jobs f
        SET args = people.without_address(f.args::text, found.address)::jsonb,
            errors = people.without_address(f.errors::text, found.address)::jsonb,
            reason = people.without_address(f.reason, found.address),
            tags = people.without_address(f.tags::text, found.address)::text[],
            unique_key = people.without_address(f.unique_key, found.address)
        WHERE f.id = found.id;
        PERFORM people.count_erased(
            found.erasure, 'errand', 'errand.finished_jobs', 'anonymized', 1);
    END LOOP;
    UPDATE people.job_sweeps s SET cursor = coalesce(reached, s.cursor) WHERE s.id = sweep.id;
    RETURN seen;
END $$;
