-- The passes over the jobs, and how an erasure ends: the person's row becomes a stump, and a
-- certificate says what was deleted.

-- Removes the addresses of the people of a sweep from what operators did, and their reasons from
-- the lines about these people.
CREATE OR REPLACE FUNCTION people.sweep_log(sweep people.job_sweeps) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT e.id AS erasure, array_agg(a.id) AS lines
        FROM people.erasures e JOIN errand.audit a ON a.subject = 'person ' || e.person_id
        WHERE e.sweep_id = sweep.id AND e.state = 'running'
          AND (a.reason IS NOT NULL OR a.change IS NOT NULL)
        GROUP BY e.id
    LOOP
        UPDATE errand.audit a SET reason = NULL, change = NULL WHERE a.id = ANY (found.lines);
        PERFORM people.count_erased(found.erasure, 'errand', 'errand.audit', 'anonymized',
            cardinality(found.lines));
    END LOOP;
    FOR found IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id)), lines AS (
            SELECT 'errand.audit' AS object, a.id,
                concat_ws(' ', a.subject, a.reason, a.change::text) AS written
            FROM errand.audit a
            UNION ALL
            SELECT 'errand.operations', o.id, concat_ws(' ', o.reason, o.filter::text, o.note,
                o.change::text)
            FROM errand.operations o
            UNION ALL
            SELECT 'errand.schedules', s.id, concat_ws(' ', s.args::text, s.declared::text)
            FROM errand.schedules s
        )
        SELECT l.object, l.id, a.address, e.erasure
        FROM lines l CROSS JOIN LATERAL people.addresses_in(l.written) AS a (address)
        JOIN erased e ON e.address = a.address
    LOOP
        CASE found.object
            WHEN 'errand.audit' THEN
                UPDATE errand.audit a
                SET subject = people.without_address(a.subject, found.address),
                    reason = people.without_address(a.reason, found.address),
                    change = people.without_address(a.change::text, found.address)::jsonb
                WHERE a.id = found.id;
            WHEN 'errand.operations' THEN
                UPDATE errand.operations o
                SET reason = people.without_address(o.reason, found.address),
                    filter = people.without_address(o.filter::text, found.address)::jsonb,
                    note = people.without_address(o.note, found.address),
                    change = people.without_address(o.change::text, found.address)::jsonb
                WHERE o.id = found.id;
            ELSE
                UPDATE errand.schedules s
                SET args = people.without_address(s.args::text, found.address)::jsonb,
                    declared = people.without_address(s.declared::text, found.address)::jsonb
                WHERE s.id = found.id;
        END CASE;
        PERFORM people.count_erased(found.erasure, 'errand', found.object, 'anonymized', 1);
    END LOOP;
    FOR found IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id))
        SELECT u.kind, u.key, e.erasure
        FROM errand.unique_keys u CROSS JOIN LATERAL people.addresses_in(u.key) AS a (address)
        JOIN erased e ON e.address = a.address
    LOOP
        DELETE FROM errand.unique_keys u WHERE u.kind = found.kind AND u.key = found.key;
        PERFORM people.count_erased(found.erasure, 'errand', 'errand.unique_keys', 'deleted', 1);
    END LOOP;
END $$;

-- Does the next part of the pass over the jobs, which the caller commits alone; begins a pass if
-- erasures wait for one. Returns whether more is left.
CREATE OR REPLACE FUNCTION people.sweep_jobs(max_rows int DEFAULT 10000) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    sweep people.job_sweeps;
    next CONSTANT jsonb := '{"live": "finished", "finished": "log", "log": "ending"}';
    is_done boolean := true;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('people.sweep_jobs', 0));
    SELECT * INTO sweep FROM people.job_sweeps s WHERE s.ended_at IS NULL;
    IF NOT FOUND THEN
        PERFORM FROM people.erasures e
        WHERE e.state = 'running' AND e.holders_at IS NOT NULL AND e.sweep_id IS NULL;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        DELETE FROM people.job_sweeps s WHERE s.ended_at < clock_timestamp() - interval '90 days';
        INSERT INTO people.job_sweeps (last_id)
        SELECT coalesce(pg_sequence_last_value('errand.jobs_id_seq'), 0)
        RETURNING * INTO sweep;
        UPDATE people.erasures e SET sweep_id = sweep.id
        WHERE e.state = 'running' AND e.holders_at IS NOT NULL AND e.sweep_id IS NULL;
        RETURN true;
    END IF;
    CASE sweep.phase
        WHEN 'live' THEN is_done := people.sweep_live(sweep, max_rows) < max_rows;
        WHEN 'finished' THEN is_done := people.sweep_finished(sweep, max_rows) < max_rows;
        WHEN 'log' THEN PERFORM people.sweep_log(sweep);
        ELSE
            PERFORM people.end_erasure(e.id) FROM (
                SELECT r.id FROM people.erasures r
                WHERE r.sweep_id = sweep.id AND r.state = 'running' ORDER BY r.id LIMIT 200
            ) AS e;
            IF NOT FOUND THEN
                UPDATE people.job_sweeps s SET ended_at = clock_timestamp() WHERE s.id = sweep.id;
            END IF;
            RETURN true;
    END CASE;
    IF is_done THEN
        UPDATE people.job_sweeps s SET phase = next ->> sweep.phase, cursor = 0
        WHERE s.id = sweep.id;
    END IF;
    RETURN true;
END $$;

-- Erases what apps wrote about the person while the erasure ran.
CREATE OR REPLACE FUNCTION people.erase_again(erasure bigint, person bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    holder record;
BEGIN
    FOR holder IN SELECT h.module FROM people.holders h ORDER BY h.position, h.module LOOP
        EXECUTE format('SELECT people.count_erased($1, $2, x.object, x.action, '
            'sum(x.rows)::bigint) FROM %I.erase($3) AS x WHERE x.action <> ''kept'' '
            'GROUP BY x.object, x.action HAVING sum(x.rows) > 0', holder.module)
        USING erasure, holder.module, person;
    END LOOP;
END $$;

-- Ends an erasure: the person's row keeps the id alone, and the certificate is issued.
CREATE OR REPLACE FUNCTION people.end_erasure(erasure bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    person bigint;
    gone bigint;
    body text;
BEGIN
    SELECT e.person_id INTO person FROM people.erasures e
    WHERE e.id = erasure AND e.state = 'running' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM people.erase_again(erasure, person);
    UPDATE people.people p
    SET created_at = at, last_seen_at = at, erased_at = at,
        blocked_at = coalesce(p.blocked_at, at), email = NULL, email_refused_at = NULL,
        email_bounces = '{}', email_bounced_at = NULL, time_zone = 'UTC', birth_date = NULL,
        location_consent_at = NULL, age_verified_at = NULL, notice_time = '10:00',
        quiet_from = '22:00', quiet_until = '07:00', muted_until = NULL, unused_warned_at = NULL,
        unsubscribe_token = gen_random_uuid()
    WHERE p.id = person;
    PERFORM people.count_erased(erasure, 'people', 'people.people', 'anonymized', 1);
    DELETE FROM people.consents c WHERE c.person_id = person;
    GET DIAGNOSTICS gone = ROW_COUNT;
    PERFORM people.count_erased(erasure, 'people', 'people.consents', 'deleted', gone);
    DELETE FROM people.exports x WHERE x.person_id = person;
    GET DIAGNOSTICS gone = ROW_COUNT;
    PERFORM people.count_erased(erasure, 'people', 'people.exports', 'deleted', gone);
    UPDATE people.erasures e
    SET state = 'finished', ended_at = at, reason = NULL, failure = NULL, failed_at = NULL
    WHERE e.id = erasure;
    -- Operators' words about erasures that were stopped before.
    UPDATE people.erasures e SET reason = NULL, kept_reason = NULL
    WHERE e.person_id = person AND e.state = 'kept';
    body := people.certificate_body(erasure);
    INSERT INTO people.certificates (erasure_id, person_id, issued_at, body, sha256)
    VALUES (erasure, person, at, body, sha256(convert_to(body, 'UTF8')));
END $$;

-- The text of an erasure's certificate: its times, and what became of each object, sorted.
CREATE OR REPLACE FUNCTION people.certificate_body(erasure bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT format(E'Certificate of erasure\nversion: 1\nerasure: %s\nperson: %s\ncause: %s\n'
            'requested: %s\nstarted: %s\nfinished: %s\n', e.id, e.person_id, e.cause,
            people.written(e.requested_at), people.written(e.started_at),
            people.written(e.ended_at))
        || coalesce((
            SELECT string_agg(format('%s %s: %s%s', c.object, c.action, c.rows,
                ' (' || c.reason || ')') || E'\n', ''
                ORDER BY c.module, c.object, c.action)
            FROM people.erasure_counts c WHERE c.erasure_id = e.id), '')
    FROM people.erasures e WHERE e.id = erasure
$$;

-- A certificate, and whether its hash and text still are those of the erasure and its counts.
CREATE OR REPLACE FUNCTION people.certificate_of(person bigint) RETURNS TABLE (
    erasure_id bigint, issued_at timestamptz, body text, sha256 text, is_intact boolean
) LANGUAGE sql STABLE AS $$
    SELECT c.erasure_id, c.issued_at, c.body, encode(c.sha256, 'hex'),
        c.sha256 = pg_catalog.sha256(convert_to(c.body, 'UTF8'))
            AND c.body = people.certificate_body(c.erasure_id)
    FROM people.certificates c WHERE c.person_id = person ORDER BY c.erasure_id
$$;
