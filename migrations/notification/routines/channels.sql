-- Devices, and unsubscribing from mail by one click.

-- Registers a device; returns its id. An app calls it at each start.
--
-- A token belongs to one device: it moves when another person registers it, and is enabled when it
-- is registered again.
CREATE OR REPLACE FUNCTION notification.register_device(
    person bigint, app text, platform text, token text, topic text DEFAULT '',
    environment text DEFAULT 'production'
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    IF NOT EXISTS (SELECT FROM notification.apps a WHERE a.name = app) THEN
        RAISE EXCEPTION 'app %: expected one of %', app,
            (SELECT string_agg(a.name, ', ' ORDER BY a.name) FROM notification.apps a)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'no person has the id %', person
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

-- Disables a device, for example when its person signs out; false if the person has no such enabled
-- device.
CREATE OR REPLACE FUNCTION notification.unregister_device(person bigint, platform text, token text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- Unsubscribes the person of a link from mails of a kind, or of all with *. The app server's page
-- calls it for a POST, never for a GET, which mail programs send by themselves.
--
-- Returns whether a person has that token, and reveals nothing else. Idempotent. For an invalid
-- kind, returns false and changes nothing.
CREATE OR REPLACE FUNCTION notification.unsubscribe(token uuid, kind text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH person AS (
        SELECT p.id FROM people.people p
        WHERE p.unsubscribe_token = $1 AND $2 ~ '^(\*|[a-z0-9][a-z0-9_.-]{0,99})$'
    ), switched AS (
        INSERT INTO notification.preferences AS r (person_id, kind, channel, is_on)
        SELECT id, $2, 'email', false FROM person
        ON CONFLICT ON CONSTRAINT preferences_pkey DO UPDATE SET is_on = false WHERE r.is_on
    ), others AS (
        -- Preferences for single kinds override the one for all.
        UPDATE notification.preferences r SET is_on = false FROM person
        WHERE $2 = '*' AND r.person_id = person.id AND r.channel = 'email' AND r.kind <> '*'
          AND r.is_on
    )
    SELECT EXISTS (SELECT FROM person)
$$;
