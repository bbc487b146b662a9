-- How long rows are kept; see people.retention_rules.
--
-- Ids grow with time, within some places: the oldest rows are those with the lowest ids, and no
-- index of times slows the writing of notices. Each call reads at most twice max_rows, and locks
-- only the rows that it deletes.

-- Whether a notice keeps its facts: it is to be sent, and can be.
CREATE OR REPLACE FUNCTION notification.needs_facts(
    status notification.notice_status, expires_at timestamptz
) RETURNS boolean LANGUAGE sql AS $$
    SELECT $1 IN ('intended', 'held', 'pending') AND $2 > clock_timestamp()
$$;

-- Deletes the facts of notices from before a time; returns how many it looked at. Those that are
-- still to be sent keep theirs until a later run.
CREATE OR REPLACE FUNCTION notification.bare_notices(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    reached bigint;
    passed bigint;
    late bigint[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT n.created_at FROM notification.notices n
            WHERE n.id > (SELECT p.bared_to FROM notification.progress p)
            ORDER BY n.id LIMIT max_rows
        ) AS o WHERE o.created_at < before);
    END IF;
    -- One caller at a time.
    SELECT p.bared_to INTO reached FROM notification.progress p FOR UPDATE SKIP LOCKED;
    IF reached IS NULL THEN
        RETURN 0;
    END IF;
    WITH next AS MATERIALIZED (
        SELECT n.id, n.created_at, n.is_bare,
            n.created_at < before
                AND NOT notification.needs_facts(n.status, n.expires_at) AS is_over
        FROM notification.notices n WHERE n.id > reached ORDER BY n.id LIMIT max_rows
    ), old AS MATERIALIZED (
        SELECT o.* FROM next o
        WHERE o.id <= (SELECT max(l.id) FROM next l WHERE l.created_at < before)
    ), bared AS (
        UPDATE notification.notices n SET data = '{}', is_bare = true
        WHERE n.id IN (SELECT o.id FROM old o WHERE o.is_over AND NOT o.is_bare)
    ), left_over AS (
        INSERT INTO notification.unbared (notice_id)
        SELECT o.id FROM old o WHERE NOT o.is_over AND NOT o.is_bare
        ON CONFLICT DO NOTHING
    )
    SELECT max(o.id), count(*) INTO reached, passed FROM old o;
    IF passed > 0 THEN
        UPDATE notification.progress SET bared_to = reached;
    END IF;
    IF passed = max_rows THEN
        RETURN passed;
    END IF;
    -- The last batch of a run also looks at those that were passed before.
    late := ARRAY(
        SELECT u.notice_id FROM notification.unbared u
        LEFT JOIN notification.notices n ON n.id = u.notice_id
        WHERE n.id IS NULL OR n.is_bare OR n.created_at < before
            AND NOT notification.needs_facts(n.status, n.expires_at)
        ORDER BY u.notice_id LIMIT max_rows - passed);
    UPDATE notification.notices n SET data = '{}', is_bare = true
    WHERE n.id = ANY (late) AND NOT n.is_bare;
    DELETE FROM notification.unbared u WHERE u.notice_id = ANY (late);
    RETURN passed + cardinality(late);
END $$;

-- Deletes notices from before a time, with what belongs to them.
CREATE OR REPLACE FUNCTION notification.forget_notices(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT n.created_at FROM notification.notices n ORDER BY n.id LIMIT max_rows
        ) AS o WHERE o.created_at < before);
    END IF;
    RETURN (SELECT g.rows FROM notification.delete_notices(ARRAY(
            SELECT o.id FROM (
                SELECT n.id, n.created_at FROM notification.notices n
                ORDER BY n.id LIMIT max_rows * 2::bigint
            ) AS o
            WHERE o.created_at < before ORDER BY o.id LIMIT max_rows)) AS g
        WHERE g.object = 'notices');
END $$;

-- Deletes deliveries from before a time, whatever became of them.
CREATE OR REPLACE FUNCTION notification.forget_deliveries(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    gone bigint[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT d.created_at FROM notification.deliveries d ORDER BY d.id LIMIT max_rows
        ) AS o WHERE o.created_at < before);
    END IF;
    WITH deleted AS (
        DELETE FROM notification.deliveries d WHERE d.id = ANY (ARRAY(
            SELECT o.id FROM (
                SELECT e.id, e.created_at FROM notification.deliveries e
                ORDER BY e.id LIMIT max_rows * 2::bigint
            ) AS o
            WHERE o.created_at < before ORDER BY o.id LIMIT max_rows))
        RETURNING d.id
    )
    SELECT coalesce(array_agg(d.id), '{}') INTO gone FROM deleted d;
    DELETE FROM notification.parked_deliveries p WHERE p.delivery_id = ANY (gone);
    RETURN cardinality(gone);
END $$;

-- Deletes items of inboxes that were read before a time.
CREATE OR REPLACE FUNCTION notification.forget_read_items(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    count bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM notification.inbox_items i WHERE i.read_at < before LIMIT max_rows) AS o);
    END IF;
    DELETE FROM notification.inbox_items i WHERE i.notice_id = ANY (ARRAY(
        SELECT o.notice_id FROM notification.inbox_items o WHERE o.read_at < before
        ORDER BY o.read_at LIMIT max_rows));
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;

-- Deletes mails to people without an account from before a time. Those under way, which may stay
-- pending for 90 days, do not stand in the way of the others.
CREATE OR REPLACE FUNCTION notification.forget_direct_mails(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    count bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT m.created_at FROM notification.direct_mails m
            WHERE m.status <> 'pending' ORDER BY m.id LIMIT max_rows
        ) AS o WHERE o.created_at < before);
    END IF;
    DELETE FROM notification.direct_mails m WHERE m.id = ANY (ARRAY(
        SELECT o.id FROM (
            SELECT e.id, e.created_at FROM notification.direct_mails e
            WHERE e.status <> 'pending' ORDER BY e.id LIMIT max_rows * 2::bigint
        ) AS o
        WHERE o.created_at < before ORDER BY o.id LIMIT max_rows));
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;

-- Notifies a person whose account nobody uses of its erasure; see people.unused_notifiers. All
-- ways that may reach them are tried: pushes and mail, also if they have muted notices, and once
-- more an address that was refused. Who has neither is erased all the same: their notice is
-- recorded as dropped.
CREATE OR REPLACE FUNCTION notification.tell_unused(person bigint, erased_at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    p people.people;
    facts jsonb;
    key text;
    is_refused boolean;
BEGIN
    SELECT * INTO p FROM people.people q WHERE q.id = person;
    IF p.id IS NULL THEN
        RETURN;
    END IF;
    facts := jsonb_build_object('on', to_char(erased_at AT TIME ZONE p.time_zone, 'YYYY-MM-DD'));
    key := 'unused:' || person || ':' || (facts ->> 'on');
    is_refused := p.email_refused_at IS NOT NULL AND notification.is_address(p.email);
    IF is_refused THEN
        PERFORM notification.mail_to('account.unused', p.email, 'en', facts, NULL, key,
            least(erased_at, clock_timestamp() + interval '90 days'));
    END IF;
    IF NOT is_refused OR EXISTS (SELECT FROM notification.devices d
        WHERE d.person_id = person AND d.disabled_at IS NULL)
    THEN
        PERFORM notification.intend('account.unused', person, 'account', facts, key, erased_at);
    END IF;
END $$;
