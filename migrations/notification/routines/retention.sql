-- How long rows are kept; see people.retention_rules.
--
-- Ids grow with time, within some places: the oldest rows are those with the lowest ids, and no
-- index of times slows the writing of notices. Each call reads at most twice max_rows, and locks
-- only the rows that it deletes.

-- Deletes the facts of notices from before a time; returns how many notices have none now. Those
-- that have not ended keep theirs.
CREATE OR REPLACE FUNCTION notification.bare_notices(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    reached bigint;
    passed bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM notification.notices n, notification.progress p
            WHERE n.id > p.bared_to AND n.created_at < before);
    END IF;
    -- One caller at a time.
    SELECT p.bared_to INTO reached FROM notification.progress p FOR UPDATE SKIP LOCKED;
    IF reached IS NULL THEN
        RETURN 0;
    END IF;
    WITH oldest AS MATERIALIZED (
        SELECT o.* FROM (
            SELECT n.id, n.created_at, n.is_bare, n.status FROM notification.notices n
            WHERE n.id > reached ORDER BY n.id LIMIT max_rows
        ) AS o
        WHERE o.created_at < before
    ), bared AS (
        UPDATE notification.notices n SET data = '{}', is_bare = true
        WHERE n.id IN (SELECT o.id FROM oldest o
            WHERE NOT o.is_bare AND o.status NOT IN ('intended', 'held', 'pending'))
    )
    SELECT max(o.id), count(*) INTO reached, passed FROM oldest o;
    IF passed > 0 THEN
        UPDATE notification.progress SET bared_to = reached;
    END IF;
    RETURN passed;
END $$;

-- Deletes notices from before a time, with what belongs to them.
CREATE OR REPLACE FUNCTION notification.forget_notices(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM notification.notices n WHERE n.created_at < before);
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
        RETURN (SELECT count(*) FROM notification.deliveries d WHERE d.created_at < before);
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
        RETURN (SELECT count(*) FROM notification.inbox_items i WHERE i.read_at < before);
    END IF;
    DELETE FROM notification.inbox_items i WHERE i.notice_id = ANY (ARRAY(
        SELECT o.notice_id FROM notification.inbox_items o WHERE o.read_at < before
        ORDER BY o.read_at LIMIT max_rows));
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;

-- Deletes mails to people without an account from before a time.
CREATE OR REPLACE FUNCTION notification.forget_direct_mails(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    count bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM notification.direct_mails m
            WHERE m.created_at < before AND m.status <> 'pending');
    END IF;
    DELETE FROM notification.direct_mails m WHERE m.id = ANY (ARRAY(
        SELECT o.id FROM (
            SELECT e.id, e.created_at, e.status FROM notification.direct_mails e
            ORDER BY e.id LIMIT max_rows * 2::bigint
        ) AS o
        WHERE o.created_at < before AND o.status <> 'pending' ORDER BY o.id LIMIT max_rows));
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;
