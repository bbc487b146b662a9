-- People: their facts, and checks for other modules.

-- Adds a person, or changes only the given facts; returns whether the person is new.
--   facts  any of email, time_zone, birth_date, age_verified_at, location_consent_at, notice_time,
--          quiet_from, quiet_until and muted_until, as text; null clears it, or sets its default
-- A changed birth date loses its verification, unless facts contains age_verified_at.
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
    PERFORM people.expect_facts(facts);
    INSERT INTO people.people (id) VALUES (person) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    SELECT * INTO p FROM people.people q WHERE q.id = person FOR NO KEY UPDATE;
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
    WHERE q.id = person AND facts <> '{}';
    RETURN is_new;
END $$;

-- Raises an error unless the facts are valid. The text names keys but no values, which are
-- personal.
CREATE OR REPLACE FUNCTION people.expect_facts(facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    address CONSTANT text :=
        '^(?=.{3,254}$)[^[:cntrl:]]*[^@[:space:][:cntrl:]]@[^@[:space:][:cntrl:]]+$';
    -- Never an offset or an abbreviation, which ignore daylight saving time.
    zone CONSTANT text := '^(UTC|(?!posix/|right/)[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$';
    clock CONSTANT text := '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$';
    moment CONSTANT text :=
        '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$';
    of_clock CONSTANT text := 'a time such as 18:30';
    of_moment CONSTANT text := 'a time with its offset such as 2026-01-05T10:00:00Z';
    wrong text;
BEGIN
    SELECT string_agg(coalesce(f.key || ': expected ' || k.expected || ', or null',
            f.key || ': unknown fact'), '; ' ORDER BY f.key)
    INTO wrong
    FROM jsonb_each(facts) f LEFT JOIN (VALUES
        ('email', address, 'an address of at most 254 characters'),
        ('time_zone', zone, 'an IANA name such as America/Toronto'),
        ('birth_date', '^\d{4}-\d\d-\d\d$', 'a date such as 1990-05-17'),
        ('notice_time', clock, of_clock), ('quiet_from', clock, of_clock),
        ('quiet_until', clock, of_clock), ('age_verified_at', moment, of_moment),
        ('location_consent_at', moment, of_moment), ('muted_until', moment, of_moment)
    ) AS k (key, pattern, expected) ON k.key = f.key
    WHERE k.key IS NULL OR jsonb_typeof(f.value) NOT IN ('string', 'null')
        OR f.value #>> '{}' !~ k.pattern;
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
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM people.people p WHERE p.id = person)
$$;

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
