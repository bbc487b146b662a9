-- People: their facts, and checks for other modules.

CREATE OR REPLACE FUNCTION people.put_person(person bigint, facts jsonb DEFAULT '{}')
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    p people.people;
    is_new boolean;
BEGIN
    IF person IS NULL OR facts IS NULL OR jsonb_typeof(facts) <> 'object' THEN
        RAISE EXCEPTION 'put_person needs a person, and facts as a JSON object'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM errand.expect(person >= 1, 'put_person: person: expected a number from 1');
    PERFORM people.expect_facts(facts);
    INSERT INTO people.people (id) VALUES (person) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    SELECT * INTO p FROM people.people q WHERE q.id = person FOR NO KEY UPDATE;
    IF facts = '{}' THEN
        RETURN is_new;
    END IF;
    IF p.blocked_at IS NOT NULL THEN
        PERFORM people.expect_open(person);
    END IF;
    IF facts ? 'birth_date' AND (facts ->> 'birth_date')::date IS DISTINCT FROM p.birth_date THEN
        p.age_verified_at := NULL;
    END IF;
    -- Keeps the facts that are not given.
    p := jsonb_populate_record(p, facts);
    p.time_zone := coalesce(p.time_zone, 'UTC');
    p.notice_time := coalesce(p.notice_time, '10:00');
    IF (p.quiet_from IS NULL) <> (p.quiet_until IS NULL) THEN
        RAISE EXCEPTION 'put_person: quiet hours need quiet_from and quiet_until, or neither'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE people.people q
    SET email = p.email, time_zone = p.time_zone, birth_date = p.birth_date,
        age_verified_at = p.age_verified_at, location_consent_at = p.location_consent_at,
        notice_time = p.notice_time, quiet_from = p.quiet_from, quiet_until = p.quiet_until,
        muted_until = p.muted_until
    WHERE q.id = person;
    IF facts ->> 'birth_date' IS NOT NULL THEN
        PERFORM people.block_under_age(person);
    END IF;
    RETURN is_new;
END $$;
COMMENT ON FUNCTION people.put_person(bigint, jsonb) IS $doc$
Adds a person, or changes only the given facts. The id is the app's. Values are texts; null clears
a fact or sets its default. A changed birth date loses its verification, unless facts has
`age_verified_at`. Who turns out to be under 16 is blocked at once, and erased within 30 days
unless an operator objects.

Arguments:
  person: the person's id, from 1
  facts: an object with any of email, time_zone, birth_date, age_verified_at, location_consent_at,
    notice_time, quiet_from, quiet_until and muted_until
Returns:
  is_new: whether the person was not known before
Reasons:
  under_age: the person is under 16 and blocked; only an operator can correct the birth date
  blocked: the person's erasure was requested
  erased: the person was erased; ids are not used again
Errors:
  22023: an unknown fact, or a malformed value; the text names the fact, not the value
Repeated: changes nothing, and answers false.
Sample:
  SELECT people.put_person(person => 18, facts => '{"email": "person18@example.org",
      "time_zone": "America/Toronto", "birth_date": "1990-05-17", "quiet_from": "21:30",
      "quiet_until": "08:00"}');
$doc$;

-- A person's facts as people.put_person takes them.
CREATE OR REPLACE FUNCTION people.facts_of(person bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('email', p.email, 'time_zone', p.time_zone,
        'birth_date', to_char(p.birth_date, 'YYYY-MM-DD'),
        'age_verified_at', people.written(p.age_verified_at),
        'location_consent_at', people.written(p.location_consent_at),
        'notice_time', p.notice_time::text, 'quiet_from', p.quiet_from::text,
        'quiet_until', p.quiet_until::text, 'muted_until', people.written(p.muted_until))
    FROM people.people p WHERE p.id = person AND p.erased_at IS NULL
$$;
COMMENT ON FUNCTION people.facts_of(bigint) IS $doc$
Reads a person's facts back, in the form that `people.put_person` takes.

Arguments:
  person: the person
Returns:
  facts: an object with every fact, null for those that are not set; null for an id that is not
    known or was erased
Repeated: Reads only.
Sample:
  SELECT people.facts_of(person => 18) ->> 'time_zone';
$doc$;

-- Records that a person uses an app, at most once a day: who is not seen for long is erased.
CREATE OR REPLACE FUNCTION people.touch(person bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    UPDATE people.people p SET last_seen_at = clock_timestamp(), unused_warned_at = NULL
    WHERE p.id = person AND p.blocked_at IS NULL
      AND (p.last_seen_at < clock_timestamp() - interval '1 day'
        OR p.unused_warned_at IS NOT NULL);
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
END $$;
COMMENT ON FUNCTION people.touch(bigint) IS $doc$
Records that a person uses the app; call it when a session starts. Accounts that were not used for
24 months are erased 30 days after their people were notified. As long as no app calls this
function, no account counts as unused; the 24 months begin with its first call.

Arguments:
  person: the person
Errors:
  23503: no such person
Repeated: writes at most once a day.
Sample:
  SELECT people.touch(person => 18);
$doc$;

-- Raises an error unless the facts are valid. The text names keys but no values, which are
-- personal.
CREATE OR REPLACE FUNCTION people.expect_facts(facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    address CONSTANT text :=
        '^(?=.{3,254}$)[^[:cntrl:]]*[^@[:space:][:cntrl:]]@[^@[:space:][:cntrl:]]+$';
    clock CONSTANT text := '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$';
    moment CONSTANT text :=
        '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$';
    of_clock CONSTANT text := 'a time such as 18:30';
    of_moment CONSTANT text := 'a time with its offset such as 2026-01-05T10:00:00Z';
    wrong text;
    of record;
BEGIN
    SELECT string_agg(coalesce(f.key || ': expected ' || k.expected || ', or null',
            f.key || ': unknown fact'), '; ' ORDER BY f.key)
    INTO wrong
    FROM jsonb_each(facts) f LEFT JOIN (VALUES
        ('email', address, 'an address of at most 254 characters'),
        ('time_zone', '', 'an IANA name such as America/Toronto'),
        ('birth_date', '^\d{4}-\d\d-\d\d$', 'a date such as 1990-05-17'),
        ('notice_time', clock, of_clock), ('quiet_from', clock, of_clock),
        ('quiet_until', clock, of_clock), ('age_verified_at', moment, of_moment),
        ('location_consent_at', moment, of_moment), ('muted_until', moment, of_moment)
    ) AS k (key, pattern, expected) ON k.key = f.key
    WHERE k.key IS NULL OR jsonb_typeof(f.value) NOT IN ('string', 'null')
        OR f.value #>> '{}' !~ k.pattern;
    -- Such as 30 February; the error of the cast would name it.
    FOR of IN
        SELECT f.key, f.value FROM jsonb_each_text(facts) f
        WHERE wrong IS NULL AND f.value IS NOT NULL
          AND f.key IN ('birth_date', 'age_verified_at', 'location_consent_at', 'muted_until')
        ORDER BY f.key
    LOOP
        BEGIN
            IF of.key = 'birth_date' THEN
                PERFORM of.value::date;
            ELSE
                PERFORM of.value::timestamptz;
            END IF;
        EXCEPTION WHEN data_exception THEN
            wrong := of.key || ': no such day or time';
        END;
        EXIT WHEN wrong IS NOT NULL;
    END LOOP;
    IF wrong IS NULL AND facts ->> 'birth_date' !~ '^(19|2\d)' THEN
        wrong := 'birth_date: expected a day since 1900';
    ELSIF wrong IS NULL AND (facts ->> 'birth_date')::date > current_date + 1 THEN
        wrong := 'birth_date: expected a day in the past';
    ELSIF wrong IS NULL AND facts ->> 'time_zone' IS NOT NULL
        AND NOT errand.is_zone(facts ->> 'time_zone') THEN
        wrong := 'time_zone: expected an IANA name such as America/Toronto, or null';
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'put_person: %', wrong
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'The facts are email, time_zone, birth_date, age_verified_at, '
                    'location_consent_at, notice_time, quiet_from, quiet_until and muted_until.';
    END IF;
END $$;

-- Clears bounces and refusals when the address changes.
CREATE OR REPLACE FUNCTION people.forget_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.email_bounces := '{}';
    NEW.email_bounced_at := NULL;
    IF NEW.email_refused_at IS NOT DISTINCT FROM OLD.email_refused_at THEN
        NEW.email_refused_at := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER people_address BEFORE UPDATE OF email ON people.people
    FOR EACH ROW WHEN (OLD.email IS DISTINCT FROM NEW.email)
    EXECUTE FUNCTION people.forget_address();

-- Returns whether the person exists; false for null.
CREATE OR REPLACE FUNCTION people.is_known(person bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM people.people p WHERE p.id = person);
END $$;

-- Raises an error unless the person exists.
CREATE OR REPLACE FUNCTION people.expect_person(person bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'no person has the id %', coalesce(person::text, 'null')
            USING ERRCODE = 'foreign_key_violation',
                HINT = 'Add the person with people.put_person.';
    END IF;
END $$;

-- Raises the refusal of what a person who is blocked or erased can no longer do.
CREATE OR REPLACE FUNCTION people.expect_open(person bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    p people.people;
BEGIN
    SELECT * INTO p FROM people.people q WHERE q.id = person;
    IF p.id IS NULL THEN
        PERFORM people.expect_person(person);
    ELSIF p.erased_at IS NOT NULL THEN
        PERFORM errand.refuse('erased', format('person %s was erased', person));
    ELSIF p.blocked_at IS NOT NULL THEN
        IF NOT people.is_of_age(person) AND p.birth_date IS NOT NULL THEN
            PERFORM errand.refuse('under_age', format('person %s is under 16', person),
                'Only an operator can correct it: errand person keep.');
        END IF;
        PERFORM errand.refuse('blocked', format('person %s is blocked until their erasure',
            person));
    END IF;
END $$;
