-- The erasure of a person, as apps request it, and its steps.

CREATE OR REPLACE FUNCTION people.request_erasure(
    person bigint, request_id text, reason text DEFAULT NULL,
    OUT state text, OUT requested_at timestamptz, OUT due_at timestamptz,
    OUT finished_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e people.erasures;
    hash bytea;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 200,
        'request_erasure: request_id: expected 1 to 200 characters');
    PERFORM errand.expect(coalesce(length(reason) BETWEEN 1 AND 500, true),
        'request_erasure: reason: expected 1 to 500 characters, or null');
    hash := sha256(convert_to(request_id, 'UTF8'));
    -- One of several at once waits for the others.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    SELECT * INTO e FROM people.erasures r WHERE r.request_hash = hash;
    IF FOUND AND e.person_id <> person THEN
        RAISE EXCEPTION 'the request % is known for another person', request_id
            USING ERRCODE = 'unique_violation';
    END IF;
    IF NOT FOUND THEN
        SELECT * INTO e FROM people.erasures r
        WHERE r.person_id = person AND r.state = 'finished' ORDER BY r.id DESC LIMIT 1;
    END IF;
    IF e.id IS NULL THEN
        e := people.open_erasure(person, 'request', reason, hash);
    END IF;
    state := e.state;
    requested_at := e.requested_at;
    due_at := e.due_at;
    finished_at := CASE WHEN e.state = 'finished' THEN e.ended_at END;
END $$;
COMMENT ON FUNCTION people.request_erasure(bigint, text, text) IS $doc$
Requests the erasure of a person. The person is blocked at once: no notice, offer, code, grant or
money. Workers erase the person from every module, normally within 72 hours, at the latest after 30
days. It cannot be undone. What waits for a review is rejected unpaid, and nobody gets money that
was not paid out: see the functions standing and forfeit of the module payouts.

Arguments:
  person: the person
  request_id: the request, unique over all people
  reason: why, for operators; forgotten with the person
Returns:
  state: requested, running, finished; or kept, if an operator stopped this request
  requested_at: when it was requested first
  due_at: when it is finished at the latest
  finished_at: when it was finished; null before
Errors:
  23503: no such person
  23505: the request_id is known for another person
Repeated: answers the state of the erasure, also with another request_id.
Sample:
  SELECT state, due_at > now() FROM people.request_erasure(person => 21, request_id => 'erase-21');
$doc$;

CREATE OR REPLACE FUNCTION people.erasure_of(
    person bigint, OUT state text, OUT requested_at timestamptz, OUT due_at timestamptz,
    OUT finished_at timestamptz
) RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.state, r.requested_at, r.due_at, CASE WHEN r.state = 'finished' THEN r.ended_at END
    FROM people.erasures r WHERE r.person_id = person ORDER BY r.id DESC LIMIT 1
$$;
COMMENT ON FUNCTION people.erasure_of(bigint) IS $doc$
Reads how far the last erasure of a person is; no row if none was ever requested.

Arguments:
  person: the person
Returns:
  state: requested, running, finished, or kept if an operator stopped it
  requested_at: when it was requested
  due_at: when it is finished at the latest
  finished_at: when it was finished; null before
Repeated: Reads only.
Sample:
  SELECT state FROM people.erasure_of(person => 21);
$doc$;

-- Does the next step of an erasure, which the caller commits alone: the block, then one module
-- after the other. Returns what was done; null if nothing is left before the jobs are searched.
CREATE OR REPLACE FUNCTION people.erase_step(erasure bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e people.erasures;
    holder text;
BEGIN
    -- The person before the erasure, as an objection locks them; a step past the block needs the
    -- erasure alone.
    PERFORM FROM people.people p WHERE p.id = (
        SELECT r.person_id FROM people.erasures r WHERE r.id = erasure AND r.state = 'requested')
    FOR NO KEY UPDATE;
    SELECT * INTO e FROM people.erasures r WHERE r.id = erasure FOR NO KEY UPDATE;
    IF NOT FOUND OR e.state IN ('finished', 'kept') OR e.holders_at IS NOT NULL
        OR e.starts_at > clock_timestamp()
    THEN
        RETURN NULL;
    END IF;
    IF e.state = 'requested' THEN
        IF e.cause = 'under_age' AND people.is_of_age(e.person_id) THEN
            PERFORM people.keep(e.person_id, 'errand', 'the person is 16 by now');
            RETURN NULL;
        END IF;
        PERFORM people.block(e.person_id);
        UPDATE people.erasures r
        SET state = 'running', started_at = clock_timestamp(), failure = NULL WHERE r.id = erasure;
        RETURN 'block';
    END IF;
    SELECT h.module INTO holder FROM people.holders h
    WHERE NOT EXISTS (SELECT FROM people.erasure_steps s
        WHERE s.erasure_id = erasure AND s.module = h.module)
    ORDER BY h.position, h.module LIMIT 1;
    IF NOT FOUND THEN
        UPDATE people.erasures r SET holders_at = clock_timestamp(), failure = NULL
        WHERE r.id = erasure;
        PERFORM people.enqueue_sweep();
        RETURN NULL;
    END IF;
    EXECUTE format(
        'INSERT INTO people.erasure_counts (erasure_id, module, object, action, rows, reason) '
        'SELECT $1, $2, x.object, x.action, sum(x.rows), max(x.reason) '
        'FROM %I.erase($3) AS x GROUP BY x.object, x.action '
        'HAVING x.action <> ''kept'' OR sum(x.rows) > 0', holder)
    USING erasure, holder, e.person_id;
    INSERT INTO people.erasure_steps (erasure_id, module) VALUES (erasure, holder);
    UPDATE people.erasures r SET failure = NULL WHERE r.id = erasure AND r.failure IS NOT NULL;
    RETURN holder;
END $$;

-- Notes that a step failed, for the doctor; without the text of the error, which may name anything.
CREATE OR REPLACE FUNCTION people.note_failure(erasure bigint, sqlstate_code text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE people.erasures r SET failed_at = clock_timestamp(), failure = coalesce((
            SELECT h.module FROM people.holders h
            WHERE r.state = 'running' AND NOT EXISTS (SELECT FROM people.erasure_steps s
                WHERE s.erasure_id = r.id AND s.module = h.module)
            ORDER BY h.position, h.module LIMIT 1), 'block') || ' ' || sqlstate_code
    WHERE r.id = erasure AND r.state IN ('requested', 'running')
$$;

-- Who of a list of erased people is in this database and not erased, as after a restore. A person
-- who was created after the time of the list is another one, who has got the same id.
CREATE OR REPLACE FUNCTION people.revived(persons bigint[], erased_at timestamptz[])
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT p.id FROM unnest(persons, erased_at) AS l (person, at)
    JOIN people.people p ON p.id = l.person
    -- A list of whole seconds has the same people.
    WHERE p.erased_at IS NULL AND p.created_at <= l.at + interval '1 second'
    GROUP BY p.id ORDER BY p.id
$$;

-- How many of them nobody has asked to be erased again.
CREATE OR REPLACE FUNCTION people.count_forgotten(persons bigint[], erased_at timestamptz[])
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM people.revived(persons, erased_at) AS r (person)
    WHERE NOT EXISTS (SELECT FROM people.erasures e
        WHERE e.person_id = r.person AND e.state IN ('requested', 'running')
          -- These may still be stopped.
          AND (e.state = 'running' OR e.cause NOT IN ('under_age', 'unused')))
$$;

-- Erases again who is in a restored backup, and was erased after it was made. Returns the people
-- who are.
CREATE OR REPLACE FUNCTION people.suppress(persons bigint[], erased_at timestamptz[])
RETURNS SETOF bigint LANGUAGE sql AS $$
    SELECT (people.open_erasure(r.person, 'suppression')).person_id
    FROM people.revived(persons, erased_at) AS r (person)
$$;
