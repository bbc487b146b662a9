-- What time does: alerts of messages without an answer, and threads without a word.

-- Alerts the operators of messages that have waited too long, once for each; returns how many.
-- While no endpoint takes alerts, the messages stay, and doctor names their threads.
CREATE OR REPLACE FUNCTION inquiries.alert(
    at timestamptz DEFAULT clock_timestamp(), max_rows int DEFAULT 100
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    waiting record;
    event bigint;
    alerted bigint := 0;
BEGIN
    FOR waiting IN
        SELECT m.id, m.thread_id, coalesce(t.waiting_since, m.at) AS since, t.mission_id
        FROM inquiries.messages m JOIN inquiries.threads t ON t.id = m.thread_id
        WHERE m.alert_at <= at
        ORDER BY m.alert_at, m.id LIMIT max_rows FOR NO KEY UPDATE OF m SKIP LOCKED
    LOOP
        event := notification.emit('inquiry.waiting', 'operator', jsonb_build_object(
            'thread', waiting.thread_id::text, 'mission', waiting.mission_id::text,
            'waiting_since', people.written(waiting.since)), 'inquiry:waiting:' || waiting.id);
        -- No endpoint: nor is there one for the others.
        EXIT WHEN event IS NULL;
        UPDATE inquiries.messages m SET alert_at = NULL, alerted_at = at
        WHERE m.id = waiting.id;
        alerted := alerted + 1;
    END LOOP;
    RETURN alerted;
END $$;

-- Closes threads without a word for the time of the rules; returns how many.
CREATE OR REPLACE FUNCTION inquiries.close_silent(
    at timestamptz DEFAULT clock_timestamp(), max_rows int DEFAULT 100
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    silence CONSTANT interval := (SELECT r.close_after FROM inquiries.rules r);
    held inquiries.threads;
    closed bigint := 0;
BEGIN
    FOR held IN
        SELECT t.* FROM inquiries.threads t
        WHERE t.closed_at IS NULL AND t.last_at <= at - silence
        ORDER BY t.last_at LIMIT max_rows FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        PERFORM inquiries.end_thread(held, NULL, at);
        closed := closed + 1;
    END LOOP;
    RETURN closed;
END $$;
