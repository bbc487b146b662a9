-- Recording events of which people may be notified.

-- Returns whether a JSON value has the type of a fact. The text never shows a value, which may be
-- personal.
CREATE OR REPLACE FUNCTION notification.is_fact(value jsonb, type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(CASE type
        WHEN 'text' THEN jsonb_typeof(value) = 'string'
        WHEN 'link' THEN jsonb_typeof(value) = 'string'
            AND value #>> '{}' ~ '^(?!(javascript|data|vbscript):)[a-z][a-z0-9+.-]*:[!-~]+$'
            AND length(value #>> '{}') <= 2000
        WHEN 'count' THEN jsonb_typeof(value) = 'number' AND value #>> '{}' ~ '^[0-9]{1,18}$'
        WHEN 'metres' THEN jsonb_typeof(value) = 'number' AND value #>> '{}' ~ '^[0-9.]+$'
        WHEN 'amount' THEN jsonb_typeof(value -> 'minor') = 'number'
            AND value ->> 'currency' ~ '^[A-Z]{3}$'
        WHEN 'day' THEN jsonb_typeof(value) = 'string'
            AND value #>> '{}' ~ '^\d{4}-\d\d-\d\d$'
        WHEN 'time' THEN jsonb_typeof(value) = 'string'
            AND value #>> '{}' ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?'
                '(Z|[+-]\d\d(:?\d\d)?)$'
        WHEN 'list' THEN jsonb_typeof(value) = 'array'
        WHEN 'amounts' THEN jsonb_typeof(value) = 'array' AND jsonb_array_length(value) > 0
        ELSE true END, false)
$$;

-- Returns the kind; raises an error unless a program has declared it, with exactly these secret
-- facts and at least the other facts.
CREATE OR REPLACE FUNCTION notification.expect_kind(of_kind text, data jsonb, secrets jsonb)
RETURNS notification.kinds LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    known notification.kinds;
    wrong text;
BEGIN
    SELECT * INTO known FROM notification.kinds k WHERE k.kind = of_kind;
    IF known.kind IS NULL THEN
        IF NOT EXISTS (SELECT FROM notification.kinds) THEN
            PERFORM errand.ask_again('no program has declared its kinds of notice yet',
                'Run errand migrate or start a worker, and call again.');
        END IF;
        RAISE EXCEPTION 'kind %: no program has declared this kind of notice', of_kind
            USING ERRCODE = 'invalid_parameter_value', HINT = coalesce('Declared: ' || (
                SELECT string_agg(k.kind, ', ' ORDER BY k.kind) FROM notification.kinds k
                WHERE split_part(k.kind, '.', 1) = split_part(of_kind, '.', 1)) || '.',
                'errand notification kinds lists them.');
    END IF;
    IF secrets IS NOT NULL AND jsonb_typeof(secrets) <> 'object' THEN
        RAISE EXCEPTION 'secrets: expected a JSON object, found %', jsonb_typeof(secrets)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT string_agg(found.text, '; ' ORDER BY found.text) INTO wrong
    FROM (
        SELECT CASE
            WHEN f.key = ANY (known.secrets) AND data ? f.key
                THEN f.key || ': expected in secrets, not in data'
            WHEN NOT notification.is_fact(
                    CASE WHEN f.key = ANY (known.secrets) THEN secrets ELSE data END -> f.key,
                    f.value)
                THEN f.key || ': expected ' || CASE f.value
                    WHEN 'text' THEN 'a text' WHEN 'link' THEN 'a link such as https://host/path'
                    WHEN 'count' THEN 'a whole number from 0' WHEN 'metres' THEN 'a distance'
                    WHEN 'amount' THEN 'an amount such as {"minor": 1230, "currency": "CAD"}'
                    WHEN 'day' THEN 'a day such as "2026-11-20"'
                    WHEN 'time' THEN 'a time such as "2026-11-20T17:30:00Z"'
                    ELSE 'a list' END
                    || CASE WHEN f.key = ANY (known.secrets) THEN ' in secrets' ELSE '' END
            END AS text
        FROM jsonb_each_text(known.facts) AS f
        UNION ALL
        SELECT s.key || ': not a secret fact of this kind'
        FROM jsonb_object_keys(coalesce(secrets, '{}')) AS s (key)
        WHERE s.key <> ALL (known.secrets)
    ) AS found;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'the facts of %: %', of_kind, wrong
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'errand notification kinds lists the facts of each kind.';
    END IF;
    RETURN known;
END $$;

-- Raises an error unless the arguments that all events have are valid.
CREATE OR REPLACE FUNCTION notification.expect_event(
    kind text, data jsonb, secrets jsonb, dedupe_key text, expires_at timestamptz
) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF kind !~ '^[a-z0-9][a-z0-9_.-]{0,99}$' THEN
        RAISE EXCEPTION 'kind %: expected up to 100 of a-z, 0-9, dot, dash, underscore', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(dedupe_key) NOT BETWEEN 1 AND 300 OR dedupe_key ~ '[[:cntrl:]]'
        OR dedupe_key LIKE 'digest:%' THEN
        RAISE EXCEPTION 'dedupe_key: expected 1 to 300 characters in one line that name the '
            'event, and do not begin with digest:'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(data) <> 'object' OR pg_column_size(data) > 65536
        OR pg_column_size(secrets) > 65536 THEN
        IF jsonb_typeof(data) = 'object' AND pg_column_size(data) <= 65536 THEN
            RAISE EXCEPTION 'secrets: expected a JSON object of at most 64 KiB'
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        RAISE EXCEPTION 'data: expected a JSON object of at most 64 KiB, found % of % bytes',
            jsonb_typeof(data), pg_column_size(data) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (expires_at >= '1970-01-01Z' AND expires_at < '10000-01-01Z') THEN
        RAISE EXCEPTION 'expires_at %: expected a time in the years 1970 to 9999', expires_at
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
END $$;

-- A job decides whether, when and how the person is notified.
CREATE OR REPLACE FUNCTION notification.intend(
    kind text, person bigint, subject text, data jsonb, dedupe_key text, expires_at timestamptz,
    sender bigint DEFAULT NULL, secrets jsonb DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    whom people.people;
    known notification.kinds;
    notice bigint;
    is_same boolean;
BEGIN
    IF kind IS NULL OR person IS NULL OR subject IS NULL OR data IS NULL OR dedupe_key IS NULL
        OR expires_at IS NULL THEN
        RAISE EXCEPTION 'intend needs kind, person, subject, data, dedupe_key and expires_at'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    PERFORM notification.expect_event(kind, data, secrets, dedupe_key, expires_at);
    IF length(subject) NOT BETWEEN 1 AND 200 OR subject ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'subject: expected 1 to 200 characters in one line'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO whom FROM people.people p WHERE p.id = person;
    IF whom.id IS NULL THEN
        PERFORM people.expect_person(person);
    END IF;
    IF sender IS NOT NULL THEN
        PERFORM people.expect_person(sender);
    END IF;
    known := notification.expect_kind(kind, data, secrets);
    IF whom.erased_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO notification.notices AS n (person_id, kind, subject, data, dedupe_key, expires_at,
        sender_id, status, reason, answered_at, has_secrets, is_bare)
    VALUES (person, kind, subject,
        CASE WHEN whom.blocked_at IS NULL THEN data ELSE '{}' END, dedupe_key, expires_at, sender,
        CASE WHEN whom.blocked_at IS NULL THEN 'intended'::notification.notice_status
            ELSE 'dropped' END,
        CASE WHEN whom.blocked_at IS NOT NULL THEN 'blocked' END,
        CASE WHEN whom.blocked_at IS NOT NULL THEN clock_timestamp() END,
        whom.blocked_at IS NULL AND known.secrets <> '{}', whom.blocked_at IS NOT NULL)
    ON CONFLICT ON CONSTRAINT notices_dedupe_key_key DO NOTHING
    RETURNING n.id INTO notice;
    IF notice IS NULL THEN
        -- Secrets are not compared: they may be gone.
        SELECT n.id, n.kind = kind AND n.person_id = person AND n.subject = subject
            AND n.sender_id IS NOT DISTINCT FROM sender AND (n.is_bare OR n.data = data)
        INTO notice, is_same
        FROM notification.notices n WHERE n.dedupe_key = intend.dedupe_key;
        IF NOT is_same THEN
            RAISE EXCEPTION 'notice % has this dedupe_key with another kind, person, subject, '
                'sender or other data', notice
                USING ERRCODE = 'unique_violation',
                    HINT = 'Give each event a key of its own, such as payout:90:issued.';
        END IF;
        RETURN notice;
    END IF;
    IF whom.blocked_at IS NOT NULL THEN
        RETURN notice;
    END IF;
    IF known.secrets <> '{}' THEN
        INSERT INTO notification.secrets (notice_id, facts, expires_at)
        VALUES (notice, secrets, expires_at);
    END IF;
    PERFORM errand.enqueue_own('notification.decide', jsonb_build_object('notice_id', notice));
    RETURN notice;
END $$;
COMMENT ON FUNCTION notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint, jsonb)
IS $doc$
Records an event of which a person may be notified. A job decides whether, when and how. Call it in
the transaction of the event.

Arguments:
  kind: the kind of notice; errand notification kinds lists them with their facts
  person: who may be notified
  subject: what it is about, such as payout:90; cooldowns and limits apply to it, and on a device a
    later notice replaces an earlier one of the same subject
  data: the facts of the kind as a JSON object, at most 64 KiB
  dedupe_key: names the event
  expires_at: the notice is not sent after this time
  sender: the person who sends a reminder; null for others
  secrets: the secret facts of the kind, such as a code; null for kinds without
Returns:
  intend: the notice's id; null if the person was erased: nothing is recorded. A notice to a blocked
    person is recorded without its facts, and dropped
Errors:
  22023: unknown kind, a fact is missing or has the wrong type, or an argument is invalid
  23503: no such person or sender
  23505: the dedupe_key is known with another kind, person, subject, sender or other data
  RU002: no program has declared its kinds of notice yet: run errand migrate
Repeated: the same dedupe_key with the same content returns the same id and changes nothing. Secret
facts and expires_at are not compared; the first ones hold.
Sample:
  SELECT notification.intend('payout.issued', person => 17, subject => 'payout:90',
      data => '{"amount": {"minor": 1230, "currency": "CAD"}, "cheque": "",
          "pay_date": "2026-12-01"}',
      dedupe_key => 'payout:90:issued', expires_at => now() + interval '2 days');
$doc$;

-- Deletes the secret facts of notices that have ended: sent, failed, expired or withdrawn.
CREATE OR REPLACE FUNCTION notification.delete_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notification.secrets s WHERE s.notice_id = OLD.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notices_secrets AFTER UPDATE OF status ON notification.notices
    FOR EACH ROW WHEN (OLD.has_secrets AND NEW.status NOT IN ('intended', 'held', 'pending'))
    EXECUTE FUNCTION notification.delete_secrets();
CREATE OR REPLACE TRIGGER notices_secrets_gone AFTER DELETE ON notification.notices
    FOR EACH ROW WHEN (OLD.has_secrets) EXECUTE FUNCTION notification.delete_secrets();
