-- Erasing a person, what is known of a person, and how long messages are kept; see people.holders
-- and people.retention_rules.

-- Deletes all that a person asked, and the answers.
CREATE OR REPLACE FUNCTION inquiries.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    messages bigint;
    threads bigint;
BEGIN
    -- In the order of a thread's other writers: the thread, then its messages.
    PERFORM FROM inquiries.threads t WHERE t.person_id = $1 ORDER BY t.id FOR UPDATE;
    DELETE FROM inquiries.messages m WHERE m.thread_id IN (
        SELECT t.id FROM inquiries.threads t WHERE t.person_id = $1);
    GET DIAGNOSTICS messages = ROW_COUNT;
    DELETE FROM inquiries.threads t WHERE t.person_id = $1;
    GET DIAGNOSTICS threads = ROW_COUNT;
    RETURN QUERY VALUES
        ('inquiries.messages', 'deleted', messages, NULL),
        ('inquiries.threads', 'deleted', threads, NULL);
END $$;

-- Returns all that is known of a person.
CREATE OR REPLACE FUNCTION inquiries.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'threads', coalesce((SELECT jsonb_agg(jsonb_build_object('id', t.id,
                'mission', t.mission_id, 'opened_at', people.written(t.opened_at),
                'last_at', people.written(t.last_at),
                'closed_at', people.written(t.closed_at)) ORDER BY t.id)
            FROM inquiries.threads t WHERE t.person_id = $1), '[]'),
        'messages', coalesce((SELECT jsonb_agg(jsonb_build_object('thread', m.thread_id,
                'at', people.written(m.at), 'by', CASE WHEN m.actor IS NULL THEN 'you'
                    ELSE 'an agent' END, 'text', m.text) ORDER BY m.id)
            FROM inquiries.threads t JOIN inquiries.messages m ON m.thread_id = t.id
            WHERE t.person_id = $1), '[]'));
END $$;

-- Deletes messages from before a time, and the threads whose last word is from before it.
CREATE OR REPLACE FUNCTION inquiries.forget_messages(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM inquiries.messages m WHERE m.at < before LIMIT max_rows) AS old);
    END IF;
    DELETE FROM inquiries.messages d USING (
        SELECT m.id FROM inquiries.messages m WHERE m.at < before
        ORDER BY m.at LIMIT max_rows FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE d.id = old.id;
    GET DIAGNOSTICS found = ROW_COUNT;
    DELETE FROM inquiries.threads d USING (
        SELECT t.id FROM inquiries.threads t
        WHERE t.last_at < before
          AND NOT EXISTS (SELECT FROM inquiries.messages m WHERE m.thread_id = t.id)
        ORDER BY t.last_at LIMIT max_rows FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE d.id = old.id;
    RETURN found;
END $$;
