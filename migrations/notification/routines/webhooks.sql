-- Events, and their deliveries to the endpoints of webhooks.

CREATE OR REPLACE FUNCTION notification.emit(
    kind text, owner text, data jsonb, dedupe_key text,
    expires_at timestamptz DEFAULT now() + interval '3 days'
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    event bigint;
    is_same boolean;
BEGIN
    IF kind IS NULL OR owner IS NULL OR data IS NULL OR dedupe_key IS NULL OR expires_at IS NULL
    THEN
        RAISE EXCEPTION 'emit needs kind, owner, data and dedupe_key'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF kind !~ '^[a-z0-9][a-z0-9_.-]{0,99}$' OR kind = 'webhook.test' THEN
        RAISE EXCEPTION 'kind %: expected up to 100 of a-z, 0-9, dot, dash, underscore, and not '
            'webhook.test', kind USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(owner) NOT BETWEEN 1 AND 200 OR owner ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'owner: expected 1 to 200 characters in one line, such as establishment:7'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(dedupe_key) NOT BETWEEN 1 AND 300 OR dedupe_key ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'dedupe_key: expected 1 to 300 characters in one line that name the event'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A webhook has at most 20 kB (Standard Webhooks 1.0.0).
    IF jsonb_typeof(data) <> 'object' OR octet_length(data::text) > 19500 THEN
        RAISE EXCEPTION 'data: expected a JSON object of at most 19500 bytes, found % of %',
            jsonb_typeof(data), octet_length(data::text)
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'Send ids, and let the receiver ask for the rest.';
    END IF;
    IF NOT (expires_at >= '1970-01-01Z' AND expires_at < '10000-01-01Z') THEN
        RAISE EXCEPTION 'expires_at %: expected a time in the years 1970 to 9999', expires_at
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM notification.endpoints e
        WHERE e.owner = emit.owner AND e.disabled_at IS NULL AND e.events && ARRAY[kind, '*'])
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO notification.events AS v (kind, owner, data, occurred_at, expires_at, dedupe_key)
    VALUES (kind, owner, data, now(), expires_at, dedupe_key)
    ON CONFLICT ON CONSTRAINT events_dedupe_key_key DO NOTHING
    RETURNING v.id INTO event;
    IF event IS NULL THEN
        SELECT v.id, v.kind = kind AND v.owner = owner AND v.data = data INTO event, is_same
        FROM notification.events v WHERE v.dedupe_key = emit.dedupe_key;
        IF NOT is_same THEN
            RAISE EXCEPTION 'event % has this dedupe_key with another kind, owner or other data',
                event USING ERRCODE = 'unique_violation',
                    HINT = 'Give each event a key of its own, such as coupon:18:redeemed.';
        END IF;
        RETURN event;
    END IF;
    PERFORM notification.send_event(event, ARRAY(
        SELECT e.id FROM notification.endpoints e
        WHERE e.owner = emit.owner AND e.disabled_at IS NULL AND e.events && ARRAY[kind, '*']
        ORDER BY e.id));
    RETURN event;
END $$;
COMMENT ON FUNCTION notification.emit(text, text, jsonb, text, timestamptz) IS $doc$
Sends an event to the webhook endpoints of an owner. Call it in the transaction of the event.

Arguments:
  kind: the kind of event, such as coupon.redeemed
  owner: whose endpoints, such as establishment:7
  data: a JSON object of at most 19,500 bytes; send ids rather than personal data
  dedupe_key: names the event
  expires_at: deliveries that were not accepted by then are discarded
Returns:
  emit: the event's id; null if no endpoint subscribes to it: nothing is stored
Errors:
  22023: an argument is invalid; the text says which
  23505: the dedupe_key is known with another kind, owner or other data
Repeated: the same dedupe_key with the same content returns the same id and changes nothing.
Sample:
  SELECT notification.emit('coupon.redeemed', owner => 'establishment:7',
      data => '{"coupon": 18}', dedupe_key => 'coupon:18:redeemed');
$doc$;

-- Creates the deliveries of an event to these endpoints, each with its job; for emit() and 'errand
-- webhook test'.
CREATE OR REPLACE FUNCTION notification.send_event(event bigint, endpoints bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    delivery bigint;
BEGIN
    FOR delivery IN
        INSERT INTO notification.event_deliveries (event_id, endpoint_id)
        SELECT event, unnest(endpoints) RETURNING id
    LOOP
        PERFORM errand.enqueue_own(
            'notification.webhook', jsonb_build_object('delivery_id', delivery));
        RETURN NEXT delivery;
    END LOOP;
END $$;

-- Returns whether there is a second secret; for listings, as errand_inspector may not read the
-- column.
CREATE OR REPLACE FUNCTION notification.has_two_secrets(endpoint bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.previous_secret IS NOT NULL FROM notification.endpoints e WHERE e.id = endpoint
$$;
