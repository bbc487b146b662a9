-- The chunks of a sending, each one transaction of its job.

-- Locks a sending that runs for the job's next chunk; no row if it does not run. Until the
-- transaction ends, nobody pauses, resumes or cancels it: a job that finds nothing to do ends in
-- the same transaction, so that a resume after it sees that the job has ended.
CREATE OR REPLACE FUNCTION news.chunk(sending bigint) RETURNS SETOF news.sendings
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY SELECT s.* FROM news.sendings s WHERE s.id = sending FOR NO KEY UPDATE;
END $$;

-- The next people behind one, in the order of ids: max_rows of them are read; those who do not
-- belong to the audience have is_meant false. is_clear is false for blocked and erased people.
CREATE OR REPLACE FUNCTION news.people_behind(
    audience text, sending bigint, behind bigint, known_at timestamptz, max_rows int
) RETURNS TABLE (person bigint, is_meant boolean, is_clear boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    app CONSTANT text := substr(audience, 5);
BEGIN
    IF audience = 'list' THEN
        RETURN QUERY SELECT r.person_id, true, p.blocked_at IS NULL AND p.erased_at IS NULL
        FROM news.recipients r JOIN people.people p ON p.id = r.person_id
        WHERE r.sending_id = sending AND r.person_id > behind
        ORDER BY r.person_id LIMIT max_rows;
    ELSIF audience = 'all' THEN
        RETURN QUERY SELECT p.id, p.created_at <= known_at,
            p.blocked_at IS NULL AND p.erased_at IS NULL
        FROM people.people p WHERE p.id > behind ORDER BY p.id LIMIT max_rows;
    ELSE
        RETURN QUERY SELECT p.id, p.created_at <= known_at AND news.uses(p.id, app),
            p.blocked_at IS NULL AND p.erased_at IS NULL
        FROM people.people p WHERE p.id > behind ORDER BY p.id LIMIT max_rows;
    END IF;
END $$;

-- Records a chunk: the person up to whom it got, null for the last chunk, and its counts.
CREATE OR REPLACE FUNCTION news.record_chunk(
    sending bigint, reached bigint, notified bigint, skipped bigint, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE news.sendings s
    SET reached = coalesce(reached, s.reached), notified = s.notified + notified,
        skipped = s.skipped + skipped, chunk_at = at,
        state = CASE WHEN reached IS NULL THEN 'done' ELSE s.state END,
        state_since = CASE WHEN reached IS NULL THEN at ELSE s.state_since END,
        ended_at = CASE WHEN reached IS NULL THEN at END
    WHERE s.id = sending AND s.state = 'running';
END $$;

CREATE OR REPLACE FUNCTION news.terms_of(person bigint)
RETURNS TABLE (version text, sent_at timestamptz, agreed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY SELECT s.version, n.send_decided_at, c.given_at
    FROM news.sendings s
    JOIN notification.notices n ON n.person_id = person
        AND n.dedupe_key = 'company.terms:' || s.version || ':' || person
        -- Not one that is held until the end of quiet hours, or ended before it was sent.
        AND n.status IN ('pending', 'sent') AND n.send_decided_at IS NOT NULL
    LEFT JOIN people.consents c ON c.person_id = person AND c.what = 'terms'
        AND c.version = s.version AND c.replaced_at IS NULL AND c.withdrawn_at IS NULL
    WHERE s.version IS NOT NULL AND s.state <> 'draft'
    ORDER BY n.id DESC, s.id DESC LIMIT 1;
END $$;
COMMENT ON FUNCTION news.terms_of(bigint) IS $doc$
Returns the terms that a person was sent last, and whether the person has agreed to them: for an app
that asks for the consent when it starts. Terms that are held until the end of quiet hours, and
those that expired or failed, were not sent. No row for who was sent none in the last 13 months.

Arguments:
  person: the person
Returns:
  version: the version that was sent
  sent_at: when the notice was sent
  agreed_at: when the person agreed to this version with people.record_consent; null if not, or if
    the consent was withdrawn or replaced
Repeated: Reads only.
Sample:
  SELECT version, sent_at, agreed_at FROM news.terms_of(person => 18);
$doc$;
