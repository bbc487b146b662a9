-- The answers of agents, and the end of threads.

-- Whether the person of a thread is on its mission at a time: has arrived, or can go there now. Who
-- completes a submission that was returned is there no more.
CREATE OR REPLACE FUNCTION inquiries.is_under_way(thread inquiries.threads, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN thread.mission_id IS NOT NULL AND EXISTS (
        SELECT FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
        WHERE a.mission_id = thread.mission_id AND a.person_id = thread.person_id
          AND (a.state = 'arrived' AND a.returns = 0
            OR a.state = 'accepted' AND at BETWEEN m.opens_at AND m.closes_at));
END $$;

-- Answers a thread; a closed one is open again.
--   request_id  names the answer: the same one again changes nothing; null: the same text of the
--               same agent is the same answer, until the person writes again
--   reason      ok; blocked or under_age: the person gets no answers any more
CREATE OR REPLACE FUNCTION inquiries.answer(
    thread bigint, actor text, text text, request_id text,
    at timestamptz DEFAULT clock_timestamp(), OUT reason text, OUT message bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held inquiries.threads;
    known inquiries.messages;
    is_urgent boolean;
BEGIN
    PERFORM inquiries.expect_message('answer', text, coalesce(request_id, 'x'));
    PERFORM errand.expect(length(actor) BETWEEN 1 AND 200,
        'answer: actor: expected 1 to 200 characters');
    SELECT * INTO held FROM inquiries.threads t WHERE t.id = thread FOR NO KEY UPDATE;
    PERFORM inquiries.expect_thread(held.id, thread);
    -- The same text to a closed thread opens it again.
    IF request_id IS NOT NULL OR held.closed_at IS NULL THEN
        known := inquiries.answered(thread, actor, text, request_id);
    END IF;
    IF known.id IS NOT NULL THEN
        IF known.text <> text OR known.actor <> actor THEN
            RAISE EXCEPTION 'answer % has this request_id with another text or actor', known.id
                USING ERRCODE = 'unique_violation', HINT = 'Give each answer its own.';
        END IF;
        reason := 'ok';
        message := known.id;
        RETURN;
    END IF;
    reason := people.obstacle(held.person_id, at);
    IF reason IN ('blocked', 'under_age') THEN
        RETURN;
    END IF;
    reason := 'ok';
    INSERT INTO inquiries.messages AS m (thread_id, person_id, at, actor, request_id, text)
    VALUES (thread, held.person_id, at, actor, coalesce(request_id, gen_random_uuid()::text), text)
    RETURNING m.id INTO message;
    UPDATE inquiries.messages m SET alert_at = NULL
    WHERE m.thread_id = thread AND m.alert_at IS NOT NULL;
    UPDATE inquiries.threads t
    SET waiting_since = NULL, waiting_from = NULL, last_at = greatest(t.last_at, at),
        closed_at = NULL, closed_by = NULL, closed_unanswered = false
    WHERE t.id = thread;
    -- The text stays here, where it is deleted in time.
    is_urgent := inquiries.is_under_way(held, at);
    PERFORM notification.intend(
        CASE WHEN is_urgent THEN 'inquiry.answered_now' ELSE 'inquiry.answered' END,
        held.person_id, 'inquiry:' || thread, jsonb_build_object('thread', thread,
            'about', coalesce((SELECT m.title FROM missions.missions m
                WHERE m.id = held.mission_id), '')),
        'inquiry:' || thread || ':' || message, at + interval '7 days');
END $$;

-- The answer that a request has recorded before, or null. The caller has locked the thread.
CREATE OR REPLACE FUNCTION inquiries.answered(
    thread bigint, actor text, text text, request_id text
) RETURNS inquiries.messages LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    known inquiries.messages;
BEGIN
    IF request_id IS NOT NULL THEN
        SELECT * INTO known FROM inquiries.messages m
        WHERE m.thread_id = thread AND m.request_id = request_id AND m.actor IS NOT NULL;
    ELSE
        SELECT * INTO known FROM inquiries.messages m
        WHERE m.thread_id = thread AND m.actor = actor AND m.text = text
          AND NOT EXISTS (SELECT FROM inquiries.messages n
            WHERE n.thread_id = thread AND n.id > m.id AND n.actor IS NULL)
        ORDER BY m.id DESC LIMIT 1;
    END IF;
    RETURN known;
END $$;

-- Raises an error unless the thread was found.
CREATE OR REPLACE FUNCTION inquiries.expect_thread(known bigint, thread bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF known IS NULL THEN
        RAISE EXCEPTION 'there is no thread %', coalesce(thread::text, 'null')
            USING ERRCODE = 'foreign_key_violation';
    END IF;
END $$;

-- Closes a thread, answered or not; returns whether it was open.
CREATE OR REPLACE FUNCTION inquiries.close(
    thread bigint, actor text, at timestamptz DEFAULT clock_timestamp()
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held inquiries.threads;
BEGIN
    PERFORM errand.expect(length(actor) BETWEEN 1 AND 200,
        'close: actor: expected 1 to 200 characters');
    SELECT * INTO held FROM inquiries.threads t WHERE t.id = thread FOR NO KEY UPDATE;
    PERFORM inquiries.expect_thread(held.id, thread);
    IF held.closed_at IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM inquiries.end_thread(held, actor, at);
    RETURN true;
END $$;

-- Ends an open thread that the caller has locked.
CREATE OR REPLACE FUNCTION inquiries.end_thread(
    thread inquiries.threads, actor text, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE inquiries.messages m SET alert_at = NULL
    WHERE m.thread_id = thread.id AND m.alert_at IS NOT NULL;
    UPDATE inquiries.threads t
    SET closed_at = at, closed_by = actor, waiting_since = NULL, waiting_from = NULL,
        closed_unanswered = t.waiting_since IS NOT NULL
    WHERE t.id = thread.id;
END $$;
