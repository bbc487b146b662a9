-- What people ask, and their further words.

-- Raises an error unless a message is valid. The text never shows the message.
CREATE OR REPLACE FUNCTION inquiries.expect_message(routine text, text text, request_id text)
RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
BEGIN
    IF (length(text) BETWEEN 1 AND 4000 AND text ~ '[^[:space:]]') IS NOT TRUE THEN
        RAISE EXCEPTION '%: text: expected 1 to 4,000 characters', routine
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (length(request_id) BETWEEN 1 AND 100) IS NOT TRUE THEN
        RAISE EXCEPTION '%: request_id: expected 1 to 100 characters', routine
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Returns the message of a person's request if it was recorded before; raises an error if it said
-- something else. thread is null for one that opened a thread, of this mission.
CREATE OR REPLACE FUNCTION inquiries.recorded(
    person bigint, request_id text, text text, thread bigint, mission bigint
) RETURNS inquiries.messages LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known inquiries.messages;
BEGIN
    SELECT * INTO known FROM inquiries.messages m
    WHERE m.person_id = person AND m.request_id = request_id AND m.actor IS NULL;
    IF known.id IS NULL THEN
        RETURN NULL;
    END IF;
    IF known.text <> text OR known.is_first <> (thread IS NULL)
        OR known.thread_id <> coalesce(thread, known.thread_id)
        OR thread IS NULL AND mission IS DISTINCT FROM (
            SELECT t.mission_id FROM inquiries.threads t WHERE t.id = known.thread_id)
    THEN
        RAISE EXCEPTION 'message % has this request_id with another text, thread or mission',
            known.id USING ERRCODE = 'unique_violation', HINT = 'Give each message its own.';
    END IF;
    RETURN known;
END $$;

-- Why a person may not write at a time; ok if they may, with the time at which to ask again for
-- too_many. The caller has locked the person, so that messages at once are counted one by one.
CREATE OR REPLACE FUNCTION inquiries.objection(
    person bigint, at timestamptz, OUT reason text, OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    most CONSTANT int := (SELECT r.per_hour FROM inquiries.rules r);
BEGIN
    reason := people.obstacle(person, at);
    IF reason IN ('blocked', 'under_age') THEN
        RETURN;
    END IF;
    -- The message that leaves the hour when another one may be written.
    SELECT m.at + interval '1 hour' INTO ask_again_at FROM inquiries.messages m
    WHERE m.person_id = person AND m.actor IS NULL AND m.at > at - interval '1 hour'
    ORDER BY m.at DESC OFFSET most - 1 LIMIT 1;
    reason := CASE WHEN ask_again_at IS NULL THEN 'ok' ELSE 'too_many' END;
END $$;

-- Records a message of a person in their thread, which waits for an answer from then on.
CREATE OR REPLACE FUNCTION inquiries.add_message(
    thread inquiries.threads, is_first boolean, text text, request_id text, at timestamptz
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    added bigint;
BEGIN
    INSERT INTO inquiries.messages AS m (thread_id, person_id, at, alert_at, is_first, request_id,
        text)
    SELECT thread.id, thread.person_id, at,
        at + CASE WHEN thread.mission_id IS NULL THEN r.alert_other ELSE r.alert_mission END,
        is_first, request_id, text
    FROM inquiries.rules r
    RETURNING m.id INTO added;
    UPDATE inquiries.threads t
    SET last_at = greatest(t.last_at, at), waiting_since = coalesce(t.waiting_since, at),
        waiting_from = coalesce(t.waiting_from, added)
    WHERE t.id = thread.id;
    RETURN added;
END $$;

-- inquiries.ask() at a time.
CREATE OR REPLACE FUNCTION inquiries.ask_at(
    person bigint, text text, mission bigint, request_id text, at timestamptz,
    OUT reason text, OUT thread bigint, OUT message bigint, OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    opened inquiries.threads;
    known inquiries.messages;
BEGIN
    PERFORM inquiries.expect_message('ask', text, request_id);
    -- Two phones at once: the second waits, and sees what the first has written.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    known := inquiries.recorded(person, request_id, text, NULL, mission);
    IF known.id IS NOT NULL THEN
        reason := 'ok';
        thread := known.thread_id;
        message := known.id;
        RETURN;
    END IF;
    SELECT o.reason, o.ask_again_at INTO reason, ask_again_at
    FROM inquiries.objection(person, at) o;
    IF reason <> 'ok' THEN
        RETURN;
    END IF;
    IF mission IS NOT NULL AND NOT EXISTS (SELECT FROM missions.assignments a
        WHERE a.mission_id = mission AND a.person_id = person)
    THEN
        -- The same for a mission that does not exist: others' missions are not revealed.
        reason := 'not_yours';
        RETURN;
    END IF;
    INSERT INTO inquiries.threads (person_id, mission_id, opened_at, last_at)
    VALUES (person, mission, at, at) RETURNING * INTO opened;
    thread := opened.id;
    message := inquiries.add_message(opened, true, text, request_id, at);
END $$;

CREATE OR REPLACE FUNCTION inquiries.ask(
    person bigint, text text, mission bigint, request_id text
) RETURNS TABLE (reason text, thread bigint, message bigint, ask_again_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY SELECT * FROM inquiries.ask_at(person, text, mission, request_id,
        clock_timestamp());
END $$;
COMMENT ON FUNCTION inquiries.ask(bigint, text, bigint, text) IS $doc$
Opens a thread with a person's question to the agents. One that is not answered in 10 minutes, if it
is about a mission, or else in 4 hours, alerts the operators.

Arguments:
  person: who asks
  text: the question, 1 to 4,000 characters
  mission: a mission that was offered to the person, whatever became of it; null for other questions
  request_id: the app's id of the message, 1 to 100 characters, unique for the person
Returns:
  reason: ok, or why nothing was recorded
  thread: the thread's id; null if nothing was recorded
  message: the message's id; null if nothing was recorded
  ask_again_at: with too_many, when the person can write again; else null
Reasons:
  ok: the question was recorded
  not_yours: the mission was never offered to the person
  too_many: the person has written 20 messages in the last hour
  blocked: the person's erasure was requested
  under_age: the person is under 16
Errors:
  22023: the text or the request_id is empty or too long
  23503: no such person
  23505: the request_id is known with another text, thread or mission
Repeated: answers the same as the first time, and changes nothing. After a refusal it is a new
request.
Sample:
  SELECT reason, thread FROM inquiries.ask(person => 18, text => 'When are rewards paid?',
      mission => NULL, request_id => 'a7');
$doc$;

-- Whether a person can add to a thread at a time.
CREATE OR REPLACE FUNCTION inquiries.is_open(thread inquiries.threads, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN thread.closed_at IS NULL
        AND thread.last_at > at - (SELECT r.close_after FROM inquiries.rules r);
END $$;

-- inquiries.say() at a time.
CREATE OR REPLACE FUNCTION inquiries.say_at(
    thread bigint, person bigint, text text, request_id text, at timestamptz,
    OUT reason text, OUT message bigint, OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known inquiries.messages;
    held inquiries.threads;
BEGIN
    PERFORM inquiries.expect_message('say', text, request_id);
    -- First the person, then the thread: as ask(), and as an erasure.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    SELECT * INTO held FROM inquiries.threads t
    WHERE t.id = thread AND t.person_id = person FOR NO KEY UPDATE;
    IF held.id IS NULL THEN
        RAISE EXCEPTION 'person % has no thread %', person, coalesce(thread::text, 'null')
            USING ERRCODE = 'foreign_key_violation', HINT = 'Open one with inquiries.ask.';
    END IF;
    known := inquiries.recorded(person, request_id, text, thread, NULL);
    IF known.id IS NOT NULL THEN
        reason := 'ok';
        message := known.id;
        RETURN;
    END IF;
    SELECT o.reason, o.ask_again_at INTO reason, ask_again_at
    FROM inquiries.objection(person, at) o;
    -- By the clock, not by the sweep.
    IF reason = 'ok' AND NOT inquiries.is_open(held, at) THEN
        reason := 'closed';
    END IF;
    IF reason <> 'ok' THEN
        RETURN;
    END IF;
    message := inquiries.add_message(held, false, text, request_id, at);
END $$;

CREATE OR REPLACE FUNCTION inquiries.say(
    thread bigint, person bigint, text text, request_id text
) RETURNS TABLE (reason text, message bigint, ask_again_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY SELECT * FROM inquiries.say_at(thread, person, text, request_id,
        clock_timestamp());
END $$;
COMMENT ON FUNCTION inquiries.say(bigint, bigint, text, text) IS $doc$
Adds a person's next words to their open thread. They wait for an answer as a new question does.

Arguments:
  thread: the person's thread
  person: who writes
  text: 1 to 4,000 characters
  request_id: the app's id of the message, 1 to 100 characters, unique for the person
Returns:
  reason: ok, or why nothing was recorded
  message: the message's id; null if nothing was recorded
  ask_again_at: with too_many, when the person can write again; else null
Reasons:
  ok: the message was recorded
  closed: the thread is closed, or nobody has written for 7 days: open another one with
    inquiries.ask
  too_many: the person has written 20 messages in the last hour
  blocked: the person's erasure was requested
  under_age: the person is under 16
Errors:
  22023: the text or the request_id is empty or too long
  23503: no such person, or the person has no such thread
  23505: the request_id is known with another text or thread
Repeated: answers the same as the first time, and changes nothing. After a refusal it is a new
request.
Sample:
  SELECT s.reason FROM inquiries.of_person(person => 18) t, inquiries.say(t.thread, person => 18,
      text => 'I mean those of surveys.', request_id => 'a8') s;
$doc$;
