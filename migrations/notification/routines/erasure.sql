-- What is known of a person, and its erasure.

-- Deletes notices with all that belongs to them; returns how many rows of each table.
CREATE OR REPLACE FUNCTION notification.delete_notices(ids bigint[])
RETURNS TABLE (object text, rows bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    gone bigint[];
BEGIN
    -- First, so that the later statements see what a decision under way writes.
    PERFORM FROM notification.notices n WHERE n.id = ANY (ids) ORDER BY n.id FOR UPDATE;
    DELETE FROM notification.inbox_items i WHERE i.notice_id = ANY (ids);
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'inbox_items';
    RETURN NEXT;
    DELETE FROM notification.parked_items i WHERE i.notice_id = ANY (ids);
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'parked_items';
    RETURN NEXT;
    WITH deleted AS (
        DELETE FROM notification.deliveries d WHERE d.notice_id = ANY (ids) RETURNING d.id
    )
    SELECT coalesce(array_agg(d.id), '{}') INTO gone FROM deleted d;
    object := 'deliveries';
    rows := cardinality(gone);
    RETURN NEXT;
    DELETE FROM notification.parked_deliveries p WHERE p.delivery_id = ANY (gone);
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'parked_deliveries';
    RETURN NEXT;
    DELETE FROM notification.notices n WHERE n.id = ANY (ids);
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'notices';
    RETURN NEXT;
END $$;

-- Deletes all that is known of a person; see people.holders. Reminders that the person sent to
-- others name them, and go too.
CREATE OR REPLACE FUNCTION notification.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    reason := NULL;
    action := 'deleted';
    FOR object, rows IN
        SELECT 'notification.' || g.object, g.rows FROM notification.delete_notices(ARRAY(
            SELECT n.id FROM notification.notices n
            WHERE n.person_id = erase.person OR n.sender_id = erase.person ORDER BY n.id)) AS g
    LOOP
        RETURN NEXT;
    END LOOP;
    -- Items whose notices are gone already.
    DELETE FROM notification.inbox_items i WHERE i.person_id = erase.person;
    DELETE FROM notification.devices d WHERE d.person_id = erase.person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'notification.devices';
    RETURN NEXT;
    DELETE FROM notification.preferences r WHERE r.person_id = erase.person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'notification.preferences';
    RETURN NEXT;
    DELETE FROM notification.cooldowns c WHERE c.person_id = erase.person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'notification.cooldowns';
    RETURN NEXT;
    DELETE FROM notification.direct_mails m
    USING people.people p
    WHERE p.id = erase.person AND m.status = 'pending' AND lower(m.address) = lower(p.email);
    GET DIAGNOSTICS rows = ROW_COUNT;
    object := 'notification.direct_mails';
    RETURN NEXT;
END $$;

-- Deletes the notices of an app to some people that name a person, such as a member who is erased;
-- returns how many. The fact "named" of such notices, a list of ids, says whom they name. Where the
-- facts are gone by age, the texts of items that nobody has read are searched for the person's
-- names.
CREATE OR REPLACE FUNCTION notification.forget_names(
    among bigint[], named bigint, names text[], of_app text
) RETURNS bigint LANGUAGE sql AS $$
    WITH words AS (
        SELECT '(^|\W)(' || string_agg(regexp_replace(name, '([^[:alnum:][:space:]])', '\\\1', 'g'),
            '|') || ')(\W|$)' AS pattern
        FROM unnest(names) AS name WHERE name <> ''
    )
    SELECT coalesce(max(g.rows) FILTER (WHERE g.object = 'notices'), 0)
    FROM notification.delete_notices(ARRAY(
        SELECT n.id FROM words w CROSS JOIN notification.notices n
        LEFT JOIN notification.inbox_items i ON n.is_bare AND i.notice_id = n.id
        WHERE n.person_id = ANY (among) AND n.app = of_app
          AND (n.data -> 'named' @> to_jsonb(named)
            OR i.title ~ w.pattern OR i.body ~ w.pattern))) AS g
$$;

-- Returns all that is known of a person; see people.holders.
CREATE OR REPLACE FUNCTION notification.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'notices', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'kind', n.kind,
                'subject', n.subject, 'data', n.data, 'created_at', n.created_at,
                'status', n.status, 'reason', n.reason, 'ended_at', n.answered_at)
                || CASE WHEN EXISTS (
                    SELECT FROM notification.secrets s WHERE s.notice_id = n.id)
                    THEN '{"secrets": "sealed"}'::jsonb ELSE '{}' END ORDER BY n.id), '[]')
            FROM notification.notices n WHERE n.person_id = person),
        'reminders_sent', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'kind', n.kind,
                'subject', n.subject, 'created_at', n.created_at) ORDER BY n.id), '[]')
            FROM notification.notices n WHERE n.sender_id = person),
        'deliveries', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('notice', d.notice_id,
                'provider', d.provider, 'device', d.device_id, 'created_at', d.created_at,
                'status', d.status, 'reply', d.reply, 'ended_at', d.answered_at) ORDER BY d.id),
                '[]')
            FROM notification.notices n JOIN notification.deliveries d ON d.notice_id = n.id
            WHERE n.person_id = person),
        'inbox_items', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('notice', i.notice_id, 'app', i.app,
                'title', i.title, 'body', i.body, 'created_at', i.created_at,
                'read_at', i.read_at) ORDER BY i.number), '[]')
            FROM notification.inbox_items i WHERE i.person_id = person),
        'devices', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'app', d.app,
                'platform', d.platform, 'environment', d.environment, 'topic', d.topic,
                'token', d.token, 'registered_at', d.registered_at,
                'disabled_at', d.disabled_at, 'disabled_reason', d.disabled_reason)
                ORDER BY d.id), '[]')
            FROM notification.devices d WHERE d.person_id = person),
        'preferences', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('kind', r.kind, 'channel', r.channel,
                'is_on', r.is_on) ORDER BY r.kind, r.channel), '[]')
            FROM notification.preferences r WHERE r.person_id = person),
        'cooldowns', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('subject', c.subject, 'since', c.since,
                'until', c.until, 'left_at', c.left_at) ORDER BY c.subject), '[]')
            FROM notification.cooldowns c WHERE c.person_id = person),
        'direct_mails', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'kind', m.kind,
                'address', m.address, 'locale', m.locale, 'data', m.data,
                'created_at', m.created_at) ORDER BY m.id), '[]')
            FROM people.people p JOIN notification.direct_mails m
                ON m.status = 'pending' AND lower(m.address) = lower(p.email)
            WHERE p.id = person))
$$;
