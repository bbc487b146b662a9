-- The board, where members leave notes for a time.

-- A note may be a picture without a text.
CREATE OR REPLACE FUNCTION household.add_note(
    person bigint, body text, expires_at timestamptz DEFAULT NULL, picture text DEFAULT NULL,
    request_id text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    at CONSTANT timestamptz := clock_timestamp();
    rules household.rules;
    request CONSTANT bytea := household.digest('note', person::text, body,
        extract(epoch FROM expires_at)::text, picture);
    note bigint := household.requested(home, request_id, request);
BEGIN
    IF note IS NOT NULL THEN
        RETURN note;
    END IF;
    SELECT * INTO rules FROM household.rules;
    IF (SELECT count(*) FROM household.notes n
        WHERE n.group_id = home AND n.expires_at > at) >= rules.max_notes THEN
        PERFORM errand.refuse('too_many', format('a board has at most %s notes', rules.max_notes),
            'Take one off, or wait until one goes.');
    END IF;
    expires_at := coalesce(expires_at, at + rules.note_ttl);
    PERFORM errand.expect(CASE WHEN body IS NULL THEN picture IS NOT NULL
            ELSE length(body) BETWEEN 1 AND 2000 END,
        'body: expected 1 to 2000 characters, or null and a picture');
    PERFORM household.expect_picture('picture', picture);
    PERFORM errand.expect(expires_at > at AND expires_at <= at + rules.max_note_ttl,
        format('expires_at: expected an instant of the next %s', rules.max_note_ttl));
    INSERT INTO household.notes AS n (group_id, author_id, written_at, expires_at, body, picture)
    VALUES (home, person, at, expires_at, body, picture) RETURNING n.id INTO note;
    PERFORM household.remember_request(home, request_id, request, note);
    PERFORM household.happened(home, 'note_added', person, jsonb_build_object('note_id', note));
    RETURN note;
END $$;
COMMENT ON FUNCTION household.add_note(bigint, text, timestamptz, text, text) IS $doc$
Puts a note on the board of the person's group, and notifies the others. It deletes itself when its
time is over. Returns its id.

Arguments:
  person: the author
  body: 1 to 2000 characters; may be null if there is a picture
  expires_at: when it deletes itself, at most a year ahead; null for in 7 days
  picture: where the app keeps a picture: an id or an address, never the picture itself
  request_id: names this request, so that it can be repeated; null for none
Returns:
  note: the id of the note
Reasons:
  no_group: the person is in no group
  too_many: the board has as many notes as it may have
Errors:
  22023: an argument is invalid
  23505: the request_id is known, with other content
Repeated: with the same request_id and content, returns the same id and changes nothing; without
  one, adds another.
Sample:
  SELECT household.add_note(person => 17, body => 'The plumber comes on Friday at nine',
      expires_at => now() + interval '3 days');
  SELECT household.add_note(person => 18, body => NULL, picture => 'pictures/cat.jpg');
$doc$;

-- Any member may: its author is notified if another one did. A job learns who that was from its
-- arguments, as the note is gone by then.
CREATE OR REPLACE FUNCTION household.remove_note(person bigint, note bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.notes;
BEGIN
    DELETE FROM household.notes n WHERE n.id = note AND n.group_id = home RETURNING n.* INTO of;
    IF of.id IS NULL THEN
        RETURN false;
    END IF;
    IF of.author_id <> person AND of.expires_at > clock_timestamp() THEN
        PERFORM household.happened(home, 'note_removed', person,
            jsonb_build_object('note_id', note, 'to', jsonb_build_array(of.author_id)));
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION household.remove_note(bigint, bigint) IS $doc$
Takes a note off the board. Any member may; the author is notified if it was another one.

Arguments:
  person: a member
  note: the note's id
Returns:
  removed: true; false if it is gone
Reasons:
  no_group: the person is in no group
Repeated: returns false and changes nothing; so it does if the note's time was over.
Sample:
  SELECT household.remove_note(person => 17, note => 2);
$doc$;

-- Not those whose time is over and that are not deleted yet.
CREATE OR REPLACE FUNCTION household.notes(person bigint)
RETURNS TABLE (note_id bigint, author_id bigint, body text, written_at timestamptz,
    expires_at timestamptz, picture text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT n.id, n.author_id, n.body, n.written_at, n.expires_at, n.picture
    FROM household.notes n WHERE n.group_id = household.home_of($1) AND n.expires_at > at
    ORDER BY n.written_at DESC, n.id DESC LIMIT 1000;
END $$;
COMMENT ON FUNCTION household.notes(bigint) IS $doc$
Lists the board of the person's group, the newest note first, at most 1,000.

Arguments:
  person: a member
Returns:
  note_id: the id of the note
  author_id: who has written it
  body: the text; null for a picture without one
  written_at: when it was written
  expires_at: when it deletes itself
  picture: where the app keeps a picture; null for none
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT note_id, author_id, body, picture FROM household.notes(person => 18);
$doc$;

-- Deletes notes whose time is over; returns how many. Those under way elsewhere are left for the
-- next time.
CREATE OR REPLACE FUNCTION household.expire_notes(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 10000)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    expired bigint;
BEGIN
    at := coalesce(at, clock_timestamp());
    DELETE FROM household.notes n WHERE n.ctid = ANY (ARRAY(
        SELECT e.ctid FROM household.notes e WHERE e.expires_at <= at
        ORDER BY e.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS expired = ROW_COUNT;
    RETURN expired;
END $$;
