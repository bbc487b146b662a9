-- Devices, and unsubscribing from mail by one click.

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
    PERFORM people.expect_person(person);
    IF EXISTS (SELECT FROM people.people p WHERE p.id = person AND p.blocked_at IS NOT NULL) THEN
        RETURN NULL;
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
COMMENT ON FUNCTION notification.register_device(bigint, text, text, text, text, text) IS $doc$
Registers a device for pushes. Call it at each start of the app. A token belongs to the person who
registered it last; a disabled device is enabled again.

Arguments:
  person: who uses the device
  app: the app, one of notification.apps
  platform: apns or fcm
  token: the token of the provider
  topic: for apns, the bundle id of the app
  environment: production or development
Returns:
  register_device: the device's id; null if the person is blocked or was erased
Errors:
  22023: unknown app, platform or missing topic
  23503: no such person
Repeated: returns the same id.
Sample:
  SELECT notification.register_device(17, app => 'survey', platform => 'apns',
      token => '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad',
      topic => 'com.example.survey');
$doc$;

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
COMMENT ON FUNCTION notification.unregister_device(bigint, text, text) IS $doc$
Disables a device, for example when its person signs out.

Arguments:
  person: who used the device
  platform: apns or fcm
  token: the token of the provider
Returns:
  unregister_device: whether the person had such an enabled device
Errors:
  22023: unknown platform
Repeated: returns false and changes nothing.
Sample:
  SELECT notification.unregister_device(17, platform => 'apns',
      token => '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad');
$doc$;

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
COMMENT ON FUNCTION notification.unsubscribe(uuid, text) IS $doc$
Turns mails of a kind off for the person whose mail contained the link. Call it for a POST, never
for a GET, which mail programs send by themselves.

Arguments:
  token: the token in the link
  kind: the kind of notice in the link, or * for all kinds
Returns:
  unsubscribe: whether somebody has the token; false for an invalid kind
Repeated: returns the same and changes nothing.
Sample:
  SELECT notification.unsubscribe('6f2e7b1c-1b7e-4d8a-9f43-2a5d0c9e8b71', kind => 'coupon.nearby');
$doc$;
