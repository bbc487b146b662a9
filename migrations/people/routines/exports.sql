-- All that is known of a person, from each module.

-- Reads it: an object with a key for each module, and in it one for each table.
CREATE OR REPLACE FUNCTION people.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    holder text;
    part jsonb;
    data jsonb;
BEGIN
    SELECT jsonb_build_object('people', jsonb_build_object(
        'people', jsonb_build_array(to_jsonb(p) - 'unsubscribe_token'),
        'consents', coalesce((SELECT jsonb_agg(to_jsonb(c) - 'id' ORDER BY c.id)
            FROM people.consents c WHERE c.person_id = person), '[]'),
        'erasures', coalesce((SELECT jsonb_agg(jsonb_build_object('state', e.state,
                'cause', e.cause, 'requested_at', e.requested_at, 'due_at', e.due_at,
                'reason', e.reason, 'kept_reason', e.kept_reason) ORDER BY e.id)
            FROM people.erasures e WHERE e.person_id = person), '[]')))
    INTO data FROM people.people p WHERE p.id = person;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    FOR holder IN SELECT h.module FROM people.holders h ORDER BY h.position, h.module LOOP
        EXECUTE format('SELECT %I.personal_data($1)', holder) INTO part USING person;
        data := data || jsonb_build_object(holder, coalesce(part, '{}'));
    END LOOP;
    RETURN data;
END $$;

CREATE OR REPLACE FUNCTION people.export_data(
    person bigint, request_id text,
    OUT reason text, OUT data jsonb, OUT next_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    hash bytea;
    last people.exports;
    is_erased boolean;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 200,
        'export_data: request_id: expected 1 to 200 characters');
    hash := sha256(convert_to(request_id, 'UTF8'));
    SELECT p.erased_at IS NOT NULL INTO is_erased
    FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    IF is_erased THEN
        reason := 'erased';
        RETURN;
    END IF;
    SELECT * INTO last FROM people.exports x WHERE x.person_id = person;
    IF last.exported_at > at - interval '1 day' AND last.request_hash <> hash THEN
        reason := 'too_soon';
        next_at := last.exported_at + interval '1 day';
        RETURN;
    END IF;
    IF last.request_hash IS DISTINCT FROM hash THEN
        INSERT INTO people.exports AS x (person_id, exported_at, request_hash)
        VALUES (person, at, hash)
        ON CONFLICT (person_id) DO UPDATE
        SET exported_at = excluded.exported_at, request_hash = excluded.request_hash
        RETURNING * INTO last;
    END IF;
    reason := 'ok';
    data := people.personal_data(person);
    next_at := last.exported_at + interval '1 day';
END $$;
COMMENT ON FUNCTION people.export_data(bigint, text) IS $doc$
Exports all that is known of a person, at most once a day. Sealed values, such as bank details, are
named but not opened.

Arguments:
  person: the person
  request_id: the request, such as a random id
Returns:
  reason: ok, or why there is no data
  data: an object with the name of each module, in it an object with the name of each table, in it
    an array with an object for each row; null unless reason is ok
  next_at: when the next request is answered; null for an erased person
Reasons:
  ok: data holds all
  too_soon: the last export is less than a day old
  erased: the person was erased, and nothing is known
Errors:
  22023: request_id is empty or too long
  23503: no such person
Repeated: with the request_id of the last export, answers with the data of now.
Sample:
  SELECT reason, jsonb_array_length(data -> 'people' -> 'consents')
  FROM people.export_data(person => 20, request_id => 'export-20');
$doc$;
