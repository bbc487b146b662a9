-- The passes over the jobs, and how an erasure ends: the person's row becomes a stump, and a
-- certificate says what was deleted.

-- Removes operators' reasons from the lines of the log about the people of a sweep.
CREATE OR REPLACE FUNCTION people.sweep_lines(sweep people.job_sweeps) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    hit record;
BEGIN
    FOR hit IN
        SELECT e.id AS erasure, array_agg(DISTINCT a.id) AS lines
        -- Some name two, such as a debtor and a creditor.
        FROM errand.audit a
        CROSS JOIN LATERAL regexp_matches(a.subject, '\mperson (\d+)\M', 'g') AS m
        JOIN people.erasures e ON e.person_id::text = m[1]
        WHERE e.sweep_id = sweep.id AND e.state = 'running'
          AND (a.reason IS NOT NULL OR a.change IS NOT NULL) AND a.subject LIKE '%person %'
        GROUP BY e.id
    LOOP
        UPDATE errand.audit a SET reason = NULL, change = NULL WHERE a.id = ANY (hit.lines);
        PERFORM people.count_erased(hit.erasure, 'errand', 'errand.audit', 'anonymized',
            cardinality(hit.lines));
    END LOOP;
END $$;

-- Removes the addresses of the people of a sweep from what operators did.
CREATE OR REPLACE FUNCTION people.sweep_words(sweep people.job_sweeps) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    hit record;
BEGIN
    FOR hit IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id)),
        texts AS MATERIALIZED (
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
        SELECT DISTINCT t.object, t.id, e.address, e.erasure
        FROM texts t CROSS JOIN LATERAL people.address_keys(t.written) AS k (key)
        JOIN erased e ON e.key = k.key AND position(e.written IN lower(t.written)) > 0
        ORDER BY t.object, t.id
    LOOP
        CASE hit.object
            WHEN 'errand.audit' THEN
                UPDATE errand.audit a
                SET subject = people.without_address(a.subject, hit.address),
                    reason = people.without_address(a.reason, hit.address),
                    change = people.without_address(a.change, hit.address)
                WHERE a.id = hit.id AND (a.subject, a.reason, a.change) IS DISTINCT FROM (
                    people.without_address(a.subject, hit.address),
                    people.without_address(a.reason, hit.address),
                    people.without_address(a.change, hit.address));
            WHEN 'errand.operations' THEN
                UPDATE errand.operations o
                SET reason = people.without_address(o.reason, hit.address),
                    filter = people.without_address(o.filter, hit.address),
                    note = people.without_address(o.note, hit.address),
                    change = people.without_address(o.change, hit.address)
                WHERE o.id = hit.id
                  AND (o.reason, o.filter, o.note, o.change) IS DISTINCT FROM (
                    people.without_address(o.reason, hit.address),
                    people.without_address(o.filter, hit.address),
                    people.without_address(o.note, hit.address),
                    people.without_address(o.change, hit.address));
            ELSE
                UPDATE errand.schedules s
                SET args = people.without_address(s.args, hit.address),
                    declared = people.without_address(s.declared, hit.address)
                WHERE s.id = hit.id AND (s.args, s.declared) IS DISTINCT FROM (
                    people.without_address(s.args, hit.address),
                    people.without_address(s.declared, hit.address));
        END CASE;
        IF FOUND THEN
            PERFORM people.count_erased(hit.erasure, 'errand', hit.object, 'anonymized', 1);
        END IF;
    END LOOP;
END $$;

-- Deletes the unique keys that have the addresses of the people of a sweep.
CREATE OR REPLACE FUNCTION people.sweep_unique_keys(sweep people.job_sweeps) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    hit record;
BEGIN
    FOR hit IN
        WITH erased AS MATERIALIZED (SELECT * FROM people.addresses_of(sweep.id))
        SELECT DISTINCT u.kind, u.key, e.erasure
        FROM errand.unique_keys u CROSS JOIN LATERAL people.address_keys(u.key) AS k (key)
        JOIN erased e ON e.key = k.key AND people.without_address(u.key, e.address) <> u.key
    LOOP
        DELETE FROM errand.unique_keys u WHERE u.kind = hit.kind AND u.key = hit.key;
        PERFORM people.count_erased(hit.erasure, 'errand', 'errand.unique_keys', 'deleted', 1);
    END LOOP;
END $$;

-- Whether the end of an erasure may be tried: one that failed waits for almost an hour.
CREATE OR REPLACE FUNCTION people.may_end(e people.erasures) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT e.failure IS NULL OR e.failed_at < clock_timestamp() - interval '50 minutes'
$$;

-- Does the next part of the pass over the jobs, which the caller commits alone; begins a pass if
-- erasures wait for one. Returns whether more is left. An erasure whose end failed waits for the
-- pass of the next hour, and delays no other.
CREATE OR REPLACE FUNCTION people.sweep_jobs(max_rows int DEFAULT 10000) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    sweep people.job_sweeps;
    next CONSTANT jsonb := '{"live": "finished", "finished": "log", "log": "ending"}';
    is_done boolean := true;
    ending bigint;
BEGIN
    -- Any login could take an advisory lock; this one only the owner.
    LOCK TABLE people.job_sweeps IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO sweep FROM people.job_sweeps s WHERE s.ended_at IS NULL;
    IF NOT FOUND THEN
        PERFORM FROM people.erasures e WHERE e.state = 'running' AND e.holders_at IS NOT NULL
            AND e.sweep_id IS NULL AND people.may_end(e);
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        DELETE FROM people.job_sweeps s WHERE s.ended_at < clock_timestamp() - interval '90 days';
        INSERT INTO people.job_sweeps (last_id)
        SELECT coalesce(pg_sequence_last_value('errand.jobs_id_seq'), 0)
        RETURNING * INTO sweep;
        UPDATE people.erasures e SET sweep_id = sweep.id
        WHERE e.state = 'running' AND e.holders_at IS NOT NULL AND e.sweep_id IS NULL
          AND people.may_end(e);
        RETURN true;
    END IF;
    CASE sweep.phase
        WHEN 'live' THEN is_done := people.sweep_live(sweep, max_rows) < max_rows;
        WHEN 'finished' THEN is_done := people.sweep_finished(sweep, max_rows) < max_rows;
        WHEN 'log' THEN
            PERFORM people.sweep_lines(sweep);
            PERFORM people.sweep_words(sweep);
            PERFORM people.sweep_unique_keys(sweep);
        ELSE
            SELECT r.id INTO ending FROM people.erasures r
            WHERE r.sweep_id = sweep.id AND r.state = 'running' ORDER BY r.id LIMIT 1;
            IF NOT FOUND THEN
                UPDATE people.job_sweeps s SET ended_at = clock_timestamp() WHERE s.id = sweep.id;
                RETURN true;
            END IF;
            BEGIN
                PERFORM people.end_erasure(ending);
            EXCEPTION
                -- The caller tries again at once.
                WHEN deadlock_detected OR serialization_failure OR lock_not_available THEN
                    RAISE;
                WHEN OTHERS THEN
                    -- Without the text, which may name anything.
                    UPDATE people.erasures r SET failure = 'end ' || SQLSTATE,
                        failed_at = clock_timestamp(), sweep_id = NULL
                    WHERE r.id = ending;
            END;
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
    WHERE e.id = erasure AND e.state = 'running';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM people.erase_again(erasure, person);
    -- After the rows of modules, and before the erasure, as others lock them.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    PERFORM FROM people.erasures e
    WHERE e.id = erasure AND e.state = 'running' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
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
