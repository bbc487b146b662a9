-- Checks of what opens a mission; see missions.open_mission.

-- Raises an error unless these can be the title, the times and the amounts of a mission.
CREATE OR REPLACE FUNCTION missions.expect_terms(
    title text, opens_at timestamptz, closes_at timestamptz, paid bigint, pay bigint,
    at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(opens_at < closes_at AND closes_at > at
            AND opens_at >= at - interval '1 year' AND closes_at <= at + interval '10 years',
        'opens_at, closes_at: expected opens_at < closes_at, a closes_at within the next ten '
        'years, and an opens_at of at most one year ago');
    PERFORM errand.expect(pay >= 1 AND pay <= paid AND paid <= 1000000000,
        'paid, pay: expected minor units, 1 <= pay <= paid <= 10^9');
    PERFORM errand.expect(length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters on one line');
END $$;

-- Raises an error unless a mission can have these; see missions.open_mission.
CREATE OR REPLACE FUNCTION missions.expect_setting(
    is_urgent boolean, currency text, time_zone text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(is_urgent IS NOT NULL, 'is_urgent: expected true or false');
    PERFORM errand.expect(currency ~ '^[A-Z]{3}$',
        'currency: expected an ISO 4217 code such as CAD');
    PERFORM errand.expect(errand.is_zone(time_zone),
        'time_zone: expected an IANA name such as America/Toronto');
END $$;

-- The mission that a request opened, or null; raises an error if its content was another.
CREATE OR REPLACE FUNCTION missions.opened_by(request_id text, hash bytea)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known record;
BEGIN
    SELECT m.id, m.request_hash INTO known FROM missions.missions m
    WHERE m.request_id = request_id;
    IF known.request_hash <> hash THEN
        RAISE EXCEPTION 'the request % is known with other content: mission %', request_id, known.id
            USING ERRCODE = 'unique_violation',
                HINT = 'Use another request_id for another mission.';
    END IF;
    RETURN known.id;
END $$;

-- Raises an error unless these can be the conditions of a mission.
CREATE OR REPLACE FUNCTION missions.expect_conditions(
    slots int, freebies text, min_quality real, radius_m real, min_age int, rest_days int
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(slots BETWEEN 1 AND 100, 'slots: expected 1 to 100');
    PERFORM errand.expect(coalesce(length(freebies) <= 500, true),
        'freebies: expected at most 500 characters');
    PERFORM errand.expect(min_quality BETWEEN 0 AND 1, 'min_quality: expected 0 to 1');
    PERFORM errand.expect(radius_m BETWEEN 100 AND 200000,
        'radius_m: expected 100 to 200000 metres');
    PERFORM errand.expect(coalesce(min_age BETWEEN 16 AND 99, true),
        'min_age: expected 16 to 99 years, or null');
    PERFORM errand.expect(coalesce(rest_days BETWEEN 0 AND 3650, true),
        'rest_days: expected 0 to 3650, or null');
END $$;

-- Raises an error unless these can be the tasks of a mission.
CREATE OR REPLACE FUNCTION missions.expect_tasks(tasks jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(CASE WHEN jsonb_typeof(tasks) = 'array'
        THEN jsonb_array_length(tasks) BETWEEN 1 AND 50 END, 'tasks: expected an array of 1 to 50');
    PERFORM errand.expect((SELECT bool_and((
            t ->> 'kind' IN ('interaction', 'photos', 'video', 'survey', 'report')
            AND jsonb_typeof(t -> 'title') = 'string'
            AND length(t ->> 'title') BETWEEN 1 AND 200 AND t ->> 'title' !~ '[[:cntrl:]]'
            AND coalesce(jsonb_typeof(t -> 'is_required') = 'boolean', true)
            ) IS TRUE) FROM jsonb_array_elements(tasks) t),
        'tasks: expected each to have a kind (interaction, photos, video, survey, report), a '
        'title of 1 to 200 characters, and optionally is_required, true or false');
END $$;
