-- Requests that may be repeated: what they have made is not made again.

-- What the request has made before; null for a new one, or one without an id; an error when it
-- asked for something else. The group is locked.
CREATE OR REPLACE FUNCTION household.requested(home bigint, request_id text, request bytea)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present household.requests;
BEGIN
    PERFORM errand.expect(request_id IS NULL OR length(request_id) BETWEEN 1 AND 100,
        'request_id: expected 1 to 100 characters that name this request');
    SELECT * INTO present FROM household.requests r
    WHERE r.group_id = home AND r.request_id = request_id;
    IF present.request <> request THEN
        RAISE EXCEPTION 'request %: known with other content', request_id
            USING ERRCODE = 'unique_violation',
                HINT = 'Use another request_id for another request.';
    END IF;
    RETURN present.made;
END $$;

-- Keeps what a request with an id has made.
CREATE OR REPLACE FUNCTION household.remember_request(
    home bigint, request_id text, request bytea, made bigint) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO household.requests (group_id, made, at, request_id, request)
    SELECT home, made, clock_timestamp(), request_id, request WHERE request_id IS NOT NULL
$$;
