-- Threads and messages, as their person sees them.

CREATE OR REPLACE FUNCTION inquiries.of_person(
    person bigint, behind bigint DEFAULT NULL, most int DEFAULT 50
) RETURNS TABLE (thread bigint, mission bigint, opened_at timestamptz, last_at timestamptz,
    is_open boolean, is_answered boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(most BETWEEN 1 AND 200, 'of_person: most: expected 1 to 200');
    RETURN QUERY SELECT t.id, t.mission_id, t.opened_at, t.last_at,
        inquiries.is_open(t, clock_timestamp()),
        t.waiting_since IS NULL AND NOT t.closed_unanswered
    FROM inquiries.threads t
    WHERE t.person_id = person AND t.id < coalesce(behind, 9223372036854775807)
    ORDER BY t.id DESC LIMIT most;
END $$;
COMMENT ON FUNCTION inquiries.of_person(bigint, bigint, int) IS $doc$
Lists a person's threads, newest first. No row for an unknown person.

Arguments:
  person: whose threads
  behind: only threads with a lower id: the last one of the page before; null for the first page
  most: the maximum number of threads, 1 to 200
Returns:
  thread: the thread's id
  mission: the mission that it is about; null for other questions
  opened_at: when the person asked
  last_at: when the person or an agent wrote last
  is_open: whether the person can add to it
  is_answered: whether an agent has answered the person's last message
Errors:
  22023: most is not 1 to 200
Repeated: Reads only.
Sample:
  SELECT thread, mission, is_open, is_answered FROM inquiries.of_person(person => 18);
$doc$;

CREATE OR REPLACE FUNCTION inquiries.messages(
    thread bigint, person bigint, behind bigint DEFAULT NULL, most int DEFAULT 100
) RETURNS TABLE (message bigint, at timestamptz, is_own boolean, text text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(most BETWEEN 1 AND 200, 'messages: most: expected 1 to 200');
    RETURN QUERY SELECT m.id, m.at, m.actor IS NULL, m.text
    FROM inquiries.messages m
    WHERE m.thread_id = thread AND m.person_id = person AND m.id > coalesce(behind, 0)
    ORDER BY m.id LIMIT most;
END $$;
COMMENT ON FUNCTION inquiries.messages(bigint, bigint, bigint, int) IS $doc$
Reads the messages of a person's thread, oldest first. The names of agents are not revealed. No row
for a thread of another person.

Arguments:
  thread: the thread
  person: the person of the thread
  behind: only messages with a higher id: the last one of the page before; null for the first page
  most: the maximum number of messages, 1 to 200
Returns:
  message: the message's id
  at: when it was written
  is_own: whether the person wrote it; false for an agent
  text: the message
Errors:
  22023: most is not 1 to 200
Repeated: Reads only.
Sample:
  SELECT m.is_own, m.text FROM inquiries.of_person(person => 18) t,
      inquiries.messages(t.thread, person => 18) m;
$doc$;
