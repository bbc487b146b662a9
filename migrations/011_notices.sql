-- From what happened to what a person is told: intents, decisions, deliveries and the inbox.

ALTER TABLE notification.people
    -- When somebody checked the birth date; it is worth nothing without that.
    ADD COLUMN age_verified_at timestamptz,
    -- The person's own time for automatic notices, by the clocks of their zone.
    ADD COLUMN notice_time time NOT NULL DEFAULT '10:00' CHECK (notice_time < '24:00'),
    -- Quiet hours by the same clocks, the end not included; null for none.
    ADD COLUMN quiet_from time DEFAULT '22:00' CHECK (quiet_from < '24:00'),
    ADD COLUMN quiet_until time DEFAULT '07:00' CHECK (quiet_until < '24:00'),
    -- Until then the person is told nothing but what is urgent.
    ADD COLUMN muted_until timestamptz,
    ADD CHECK ((quiet_from IS NULL) = (quiet_until IS NULL));
-- All can be told: the inbox takes notices without an address.
DROP INDEX notification.people_zones;
CREATE INDEX people_zones ON notification.people (time_zone);

-- What a person chose; where there is no row, the kind's own choice holds.
CREATE TABLE notification.preferences (
    person_id bigint NOT NULL REFERENCES notification.people ON DELETE CASCADE,
    -- A kind of notice, or * for all that have no row of their own.
    kind text COLLATE "C" NOT NULL CHECK (kind ~ '^(\*|[a-z0-9][a-z0-9_.-]{0,99})$'),
    channel text COLLATE "C" NOT NULL CHECK (channel IN ('push', 'email', 'inbox')),
    is_on boolean NOT NULL,
    PRIMARY KEY (person_id, kind, channel)
);

CREATE TABLE notification.devices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES notification.people ON DELETE CASCADE,
    app text NOT NULL
        CHECK (app IN ('survey', 'vote', 'household', 'places', 'experience', 'account')),
    platform text NOT NULL CHECK (platform IN ('apns', 'fcm')),
    environment text NOT NULL CHECK (environment IN ('production', 'development')),
    -- The app's bundle id; APNs wants to know it.
    topic text NOT NULL CHECK (length(topic) <= 200 AND topic !~ '[[:cntrl:][:space:]]'),
    token text NOT NULL
        CHECK (length(token) BETWEEN 1 AND 4096 AND token !~ '[[:cntrl:][:space:]]'),
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at timestamptz,
    disabled_reason text,
    UNIQUE (platform, token)
);
CREATE INDEX devices_person ON notification.devices (person_id) WHERE disabled_at IS NULL;

-- Takes note of a device; returns its id. An app calls it at each start.
--
-- A token belongs to one device: registered by somebody else it moves, and registered again it is
-- enabled.
CREATE FUNCTION notification.register_device(
    person bigint, app text, platform text, token text, topic text DEFAULT '',
    environment text DEFAULT 'production'
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    device bigint;
BEGIN
    IF person IS NULL OR app IS NULL OR platform IS NULL OR token IS NULL OR topic IS NULL
        OR environment IS NULL THEN
        RAISE EXCEPTION 'register_device needs person, app, platform and token'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF platform NOT IN ('apns', 'fcm') THEN
        RAISE EXCEPTION 'platform %: expected apns or fcm', platform
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF platform = 'apns' AND topic = '' THEN
        RAISE EXCEPTION 'a device of apns needs a topic: the bundle id of its app'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM notification.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'nobody has the id %', person
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the person first.';
    END IF;
    INSERT INTO notification.devices AS d (person_id, app, platform, environment, topic, token)
    VALUES (person, app, platform, environment, topic, token)
    ON CONFLICT ON CONSTRAINT devices_platform_token_key DO UPDATE
    SET person_id = excluded.person_id, app = excluded.app, environment = excluded.environment,
        topic = excluded.topic, registered_at = excluded.registered_at, disabled_at = NULL,
        disabled_reason = NULL
    RETURNING d.id INTO device;
    RETURN device;
END $$;

-- Switches a device off, as when its person signs out there; false when they have no such device
-- that is on.
CREATE FUNCTION notification.unregister_device(person bigint, platform text, token text)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF person IS NULL OR platform IS NULL OR token IS NULL THEN
        RAISE EXCEPTION 'unregister_device needs person, platform and token'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF platform NOT IN ('apns', 'fcm') THEN
        RAISE EXCEPTION 'platform %: expected apns or fcm', platform
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE notification.devices d
    SET disabled_at = clock_timestamp(), disabled_reason = 'the person signed out'
    WHERE d.person_id = person AND d.platform = platform AND d.token = token
      AND d.disabled_at IS NULL;
    RETURN FOUND;
END $$;

-- An error unless facts is what put_person() takes. It names keys and no values, which are
-- personal.
CREATE FUNCTION notification.expect_facts(facts jsonb) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    address CONSTANT text :=
        '^(?=.{3,254}$)[^[:cntrl:]]*[^@[:space:][:cntrl:]]@[^@[:space:][:cntrl:]]+$';
    -- Never an offset or an abbreviation, which know nothing of daylight saving.
    zone CONSTANT text := '^(UTC|(?!posix/|right/)[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$';
    clock CONSTANT text := '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$';
    moment CONSTANT text :=
        '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$';
    of_clock CONSTANT text := 'a time such as 18:30';
    of_moment CONSTANT text := 'a time with its offset such as 2026-01-05T10:00:00Z';
    wrong text;
BEGIN
    SELECT string_agg(coalesce(f.key || ': expected ' || k.expected || ', or null',
            f.key || ' is nothing that it knows'), '; ' ORDER BY f.key)
    INTO wrong
    FROM jsonb_each(facts) f LEFT JOIN (VALUES
        ('email', address, 'an address of at most 254 characters'),
        ('time_zone', zone, 'a name of IANA such as America/Toronto'),
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
                HINT = 'It takes email, time_zone, birth_date, age_verified_at, '
                    'location_consent_at, notice_time, quiet_from, quiet_until and muted_until.';
    END IF;
END $$;

-- Adds a person, or changes what facts names of one and leaves the rest; true for who is new.
--   facts  any of email, time_zone, birth_date, age_verified_at, location_consent_at, notice_time,
--          quiet_from, quiet_until and muted_until, as text; null clears it, or sets what it is by
--          default
-- Another birth date is not verified, unless facts says when it was.
CREATE FUNCTION notification.put_person(person bigint, facts jsonb DEFAULT '{}') RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    p notification.people;
    is_new boolean;
BEGIN
    IF person IS NULL OR facts IS NULL OR jsonb_typeof(facts) <> 'object' THEN
        RAISE EXCEPTION 'put_person needs a person, and facts as a JSON object'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM notification.expect_facts(facts);
    INSERT INTO notification.people (id) VALUES (person) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    SELECT * INTO p FROM notification.people q WHERE q.id = person FOR NO KEY UPDATE;
    IF facts ? 'birth_date' AND (facts ->> 'birth_date')::date IS DISTINCT FROM p.birth_date THEN
        p.age_verified_at := NULL;
    END IF;
    -- Those that facts does not name stay.
    p := jsonb_populate_record(p, facts);
    p.time_zone := coalesce(p.time_zone, 'UTC');
    p.notice_time := coalesce(p.notice_time, '10:00');
    IF (p.quiet_from IS NULL) <> (p.quiet_until IS NULL) THEN
        RAISE EXCEPTION 'put_person: quiet hours need quiet_from and quiet_until, or neither'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE notification.people q
    SET email = p.email, time_zone = p.time_zone, birth_date = p.birth_date,
        age_verified_at = p.age_verified_at, location_consent_at = p.location_consent_at,
        notice_time = p.notice_time, quiet_from = p.quiet_from, quiet_until = p.quiet_until,
        muted_until = p.muted_until
    WHERE q.id = person AND facts <> '{}';
    RETURN is_new;
END $$;

-- A value that is added to a type cannot be used before the end of the transaction: a new type.
ALTER TYPE notification.notice_status RENAME TO notice_status_003;
CREATE TYPE notification.notice_status AS ENUM (
    'intended',     -- recorded, and not yet decided
    'held',         -- to be decided again at hold_until
    'pending',      -- decided; deliveries are under way
    'sent',         -- it reached the person by one way at least
    'merged',       -- told as part of merged_into
    'dropped',      -- the policy says no
    'refused',      -- the sender has to wait until hold_until
    'expired',      -- it would have come too late
    'failed',       -- no way led to the person
    'withdrawn');   -- the person no longer agreed when it was to be sent
ALTER TABLE notification.notices
    ALTER COLUMN status DROP DEFAULT,
    ALTER COLUMN status TYPE notification.notice_status
        USING status::text::notification.notice_status,
    ALTER COLUMN status SET DEFAULT 'intended',
    ADD COLUMN app text,
    ADD COLUMN urgency text CHECK (urgency IN ('urgent', 'normal', 'promotional')),
    -- The person who sends a reminder.
    ADD COLUMN sender_id bigint REFERENCES notification.people,
    ADD COLUMN decided_at timestamptz,
    -- When it was decided to tell it: what counts against caps. Null again when nothing came of it.
    ADD COLUMN told_at timestamptz,
    ADD COLUMN hold_until timestamptz,
    -- Why it was held, kept when it is released.
    ADD COLUMN hold_reason text,
    ADD COLUMN merged_into bigint,
    -- The job whose handler recorded or decided it.
    ADD COLUMN job_id bigint,
    -- An index by status would make each change of it touch all indexes.
    ADD COLUMN is_held boolean NOT NULL GENERATED ALWAYS AS (status = 'held') STORED;
ALTER TABLE notification.notices SET (fillfactor = 85);
DROP TYPE notification.notice_status_003;
CREATE INDEX notices_held ON notification.notices (person_id, kind) WHERE is_held;
CREATE INDEX notices_promotional ON notification.notices (person_id, told_at)
    WHERE told_at IS NOT NULL AND urgency = 'promotional';
CREATE INDEX notices_reminders ON notification.notices (person_id, sender_id, created_at)
    WHERE sender_id IS NOT NULL;
CREATE INDEX notices_merged ON notification.notices (merged_into) WHERE merged_into IS NOT NULL;

CREATE TYPE notification.delivery_status AS ENUM (
    'pending',
    'delivered',    -- the provider took it
    'rejected',     -- the provider can never take this notice
    'gone',         -- the address takes nothing any more
    'failed',       -- there was nothing to send to, or all attempts failed
    'expired', 'withdrawn');

-- One row for each device or address that a notice goes to.
--
-- Written in the transaction of its notice and not checked against it again: that would be a fifth
-- of what it costs to tell many people. Who deletes notices deletes these with them.
CREATE TABLE notification.deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notice_id bigint NOT NULL,
    -- Null for mail, which goes to the person's address at that time.
    device_id bigint,
    created_at timestamptz NOT NULL,
    answered_at timestamptz,
    attempts smallint NOT NULL DEFAULT 0,
    status notification.delivery_status NOT NULL DEFAULT 'pending',
    provider text NOT NULL CHECK (provider IN ('apns', 'fcm', 'mail')),
    -- The provider's answer, or why nothing was sent.
    reply text,
    CHECK ((device_id IS NULL) = (provider = 'mail'))
) WITH (fillfactor = 85);
-- The same way is never taken twice.
CREATE UNIQUE INDEX deliveries_way ON notification.deliveries (notice_id, device_id)
    NULLS NOT DISTINCT;

-- Notices that were on their way when this was applied.
INSERT INTO notification.deliveries (notice_id, created_at, provider)
SELECT id, created_at, 'mail' FROM notification.notices WHERE status = 'pending';
UPDATE errand.jobs j SET args = jsonb_build_object('delivery_id', d.id)
FROM notification.deliveries d
WHERE j.kind = 'notification.email' AND (j.args ->> 'notice_id')::bigint = d.notice_id;

-- What people find in their apps; it goes with its notice, like a delivery.
CREATE TABLE notification.inbox_items (
    notice_id bigint PRIMARY KEY,
    person_id bigint NOT NULL,
    app text NOT NULL,
    created_at timestamptz NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    read_at timestamptz,
    -- In the order in which they came in: notices may be made long before they are let go.
    number bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX inbox_items_person ON notification.inbox_items (person_id, number);

-- A person's notices, newest first; with `after`, those behind the item of that id only. Items of
-- transactions under way can still come in behind one that was seen.
CREATE FUNCTION notification.inbox(person bigint, after bigint DEFAULT 0, at_most int DEFAULT 50)
RETURNS TABLE (id bigint, app text, kind text, title text, body text, data jsonb,
    created_at timestamptz, read_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT i.notice_id, i.app, n.kind, i.title, i.body, n.data, i.created_at, i.read_at
    FROM notification.inbox_items i JOIN notification.notices n ON n.id = i.notice_id
    WHERE i.person_id = person AND i.number > coalesce((
        SELECT a.number FROM notification.inbox_items a WHERE a.notice_id = after), 0)
    ORDER BY i.number DESC LIMIT at_most
$$;

-- Takes note that a person has read items of theirs; returns how many were unread.
CREATE FUNCTION notification.mark_read(person bigint, items bigint[])
RETURNS bigint LANGUAGE sql AS $$
    WITH read AS (
        UPDATE notification.inbox_items SET read_at = clock_timestamp()
        WHERE person_id = person AND notice_id = ANY (items) AND read_at IS NULL
        RETURNING 1
    )
    SELECT count(*) FROM read
$$;

ALTER TABLE notification.cooldowns
    -- Whether it lasts, beyond `until`, until the person was seen away from the subject.
    ADD COLUMN must_leave boolean NOT NULL DEFAULT false,
    ADD COLUMN left_at timestamptz,
    ADD COLUMN forget_at timestamptz;
UPDATE notification.cooldowns SET forget_at = until + interval '1 hour';
ALTER TABLE notification.cooldowns ALTER COLUMN forget_at SET NOT NULL;
DROP INDEX notification.cooldowns_until;
CREATE INDEX cooldowns_forget ON notification.cooldowns (forget_at);

-- Known before the first worker has said so.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('notification.decide', 1, 'notices', 1, 20);

-- Records that something happened of which a person may be told; returns the notice's id.
--
-- A job decides whether, when and how. The same dedupe_key again changes nothing and returns the
-- same id: name the event in it. After expires_at nobody is told any more. sender is the person
-- who sends a reminder.
CREATE FUNCTION notification.intend(
    kind text, person bigint, subject text, data jsonb, dedupe_key text, expires_at timestamptz,
    sender bigint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    notice bigint;
BEGIN
    IF kind IS NULL OR person IS NULL OR subject IS NULL OR data IS NULL OR dedupe_key IS NULL
        OR expires_at IS NULL THEN
        RAISE EXCEPTION 'intend needs kind, person, subject, data, dedupe_key and expires_at'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF kind !~ '^[a-z0-9][a-z0-9_.-]{0,99}$' THEN
        RAISE EXCEPTION 'kind %: expected up to 100 of a-z, 0-9, dot, dash, underscore', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(subject) NOT BETWEEN 1 AND 200 OR subject ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'subject: expected 1 to 200 characters in one line'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(dedupe_key) NOT BETWEEN 1 AND 300 OR dedupe_key ~ '[[:cntrl:]]'
        OR dedupe_key LIKE 'digest:%' THEN
        RAISE EXCEPTION 'dedupe_key: expected 1 to 300 characters in one line that name the '
            'event, and do not begin with digest:'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(data) <> 'object' OR pg_column_size(data) > 65536 THEN
        RAISE EXCEPTION 'data: expected a JSON object of at most 64 KiB, found % of % bytes',
            jsonb_typeof(data), pg_column_size(data) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (expires_at >= '1970-01-01Z' AND expires_at < '10000-01-01Z') THEN
        RAISE EXCEPTION 'expires_at %: expected a time in the years 1970 to 9999', expires_at
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
    IF NOT EXISTS (SELECT FROM notification.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'nobody has the id %', person
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the person first.';
    END IF;
    IF sender IS NOT NULL AND NOT EXISTS (SELECT FROM notification.people p WHERE p.id = sender)
    THEN
        RAISE EXCEPTION 'no sender has the id %', sender USING ERRCODE = 'foreign_key_violation';
    END IF;
    INSERT INTO notification.notices AS n (person_id, kind, subject, data, dedupe_key, expires_at,
        sender_id, status)
    VALUES (person, kind, subject, data, dedupe_key, expires_at, sender, 'intended')
    ON CONFLICT ON CONSTRAINT notices_dedupe_key_key DO NOTHING
    RETURNING n.id INTO notice;
    IF notice IS NULL THEN
        SELECT n.id INTO notice FROM notification.notices n WHERE n.dedupe_key = intend.dedupe_key;
        RETURN notice;
    END IF;
    PERFORM errand.enqueue('notification.decide', jsonb_build_object('notice_id', notice));
    RETURN notice;
END $$;
