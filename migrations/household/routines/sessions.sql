-- Sessions that failed to prove whose they are.

-- Notified once of each session.
CREATE OR REPLACE FUNCTION household.report_failed_session(person bigint, session text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    PERFORM people.expect_person(person);
    PERFORM errand.expect(length(session) BETWEEN 1 AND 200,
        'session: expected 1 to 200 characters that name it, and prove nothing');
    IF people.obstacle(person) IN ('blocked', 'under_age') THEN
        RETURN false;
    END IF;
    INSERT INTO household.failed_sessions AS f (person_id, at, session)
    VALUES (person, at, session) ON CONFLICT ON CONSTRAINT failed_sessions_pkey DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM errand.enqueue_own('household.notify', jsonb_build_object('event', 'session_failed',
        'person_id', person, 'session', encode(sha256(convert_to(session, 'UTF8')), 'hex')));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.report_failed_session(bigint, text) IS $doc$
Notes that a session failed to prove that it is the person's, and notifies them by push and mail:
once of each session.

Arguments:
  person: whose session it claims to be
  session: 1 to 200 characters that name the session and prove nothing, such as its id
Returns:
  notified: true; false if the session was reported before, or the person is to be erased
Errors:
  22023: the session is invalid
  23503: no such person
Repeated: returns false and changes nothing.
Sample:
  SELECT household.report_failed_session(person => 17, session => 'session-81');
$doc$;
