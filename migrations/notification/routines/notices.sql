-- Notices: recorded, read in the inbox, withdrawn, deleted.

-- Records an event of which a person may be notified; returns the notice's id.
--
-- A job decides whether, when and how. dedupe_key names the event: a second call with the same key
-- returns the same id and changes nothing. After expires_at, the notice is not sent. sender is the
-- person who sends a reminder.
CREATE OR REPLACE FUNCTION notification.intend(
    kind text, person bigint, subject text, data jsonb, dedupe_key text, expires_at timestamptz,
    sender bigint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'no person has the id %', person
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add the person first.';
    END IF;
    IF sender IS NOT NULL AND NOT EXISTS (SELECT FROM people.people p WHERE p.id = sender)
    THEN
        RAISE EXCEPTION 'no person has the id %', sender USING ERRCODE = 'foreign_key_violation';
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
    PERFORM errand.enqueue_own('notification.decide', jsonb_build_object('notice_id', notice));
    RETURN notice;
END $$;

-- Withdraws the held notices of some subjects to some people; their jobs do nothing.
CREATE OR REPLACE FUNCTION notification.withdraw_held(people bigint[], subjects text[], reason text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE notification.notices n
    SET status = 'withdrawn', reason = reason, answered_at = clock_timestamp()
    WHERE n.id IN (SELECT h.id FROM notification.notices h
        WHERE h.person_id = ANY (people) AND h.subject = ANY (subjects) AND h.is_held
        ORDER BY h.id FOR NO KEY UPDATE) AND n.is_held;
END $$;

-- Deletes the notices of a subject to these people, sent or not. A message that is being sent may
-- still arrive.
CREATE OR REPLACE FUNCTION notification.forget(people bigint[], of_subject text) RETURNS void
LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM notification.notices n
        WHERE n.person_id = ANY (people) AND n.subject = of_subject RETURNING n.id
    ), items AS (
        DELETE FROM notification.inbox_items i USING gone g WHERE i.notice_id = g.id
    ), parked_items AS (
        DELETE FROM notification.parked_items i USING gone g WHERE i.notice_id = g.id
    ), deliveries AS (
        DELETE FROM notification.deliveries d USING gone g WHERE d.notice_id = g.id RETURNING d.id
    )
    DELETE FROM notification.parked_deliveries p USING deliveries d WHERE p.delivery_id = d.id
$$;

-- Returns a person's notices, newest first; with `after`, only those after the item with that id.
-- Transactions that commit later may still add items before one already read.
CREATE OR REPLACE FUNCTION notification.inbox(
    person bigint, after bigint DEFAULT 0, max_rows int DEFAULT 50
) RETURNS TABLE (id bigint, app text, kind text, title text, body text, data jsonb,
    created_at timestamptz, read_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.notice_id, i.app, n.kind, i.title, i.body, n.data, i.created_at, i.read_at
    FROM notification.inbox_items i JOIN notification.notices n ON n.id = i.notice_id
    WHERE i.person_id = person AND i.number > coalesce((
        SELECT a.number FROM notification.inbox_items a WHERE a.notice_id = after), 0)
    ORDER BY i.number DESC LIMIT max_rows
$$;

-- Marks items of a person as read; returns the number of unread items.
CREATE OR REPLACE FUNCTION notification.mark_read(person bigint, items bigint[])
RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH read AS (
        UPDATE notification.inbox_items SET read_at = clock_timestamp()
        WHERE person_id = person AND notice_id = ANY (items) AND read_at IS NULL
        RETURNING 1
    )
    SELECT count(*) FROM read
$$;
