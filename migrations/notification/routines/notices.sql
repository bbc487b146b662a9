-- Notices: read in the inbox, withdrawn, deleted.

-- Withdraws the held notices of some subjects to some people; their jobs do nothing.
CREATE OR REPLACE FUNCTION notification.withdraw_held(people bigint[], subjects text[], reason text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE notification.notices n
    SET status = 'withdrawn', reason = reason, answered_at = clock_timestamp()
    WHERE n.id IN (SELECT h.id FROM notification.notices h
        WHERE h.person_id = ANY (people) AND h.subject = ANY (subjects) AND h.is_held
        ORDER BY h.id FOR NO KEY UPDATE) AND n.is_held;
END $$;

-- Calls off the events with these dedupe keys, such as a code that was replaced: what was not sent
-- is withdrawn, notices and direct mails. What is being sent may still arrive; its answer then
-- records that. Items of the inbox that were read stay, and their notices count as sent.
--
-- Locks the notices before their deliveries, as the writing of results does. Each statement sees
-- what a decision wrote while this waited for its notice.
CREATE OR REPLACE FUNCTION notification.call_off_events(keys text[], why text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ids bigint[];
BEGIN
    ids := ARRAY(
        SELECT n.id FROM notification.notices n
        WHERE n.dedupe_key = ANY (keys) AND n.status IN ('intended', 'held', 'pending')
        ORDER BY n.id FOR NO KEY UPDATE);
    IF ids <> '{}' THEN
        DELETE FROM notification.parked_items i WHERE i.notice_id = ANY (ids);
        DELETE FROM notification.inbox_items i
        WHERE i.notice_id = ANY (ids) AND i.read_at IS NULL;
        DELETE FROM notification.parked_deliveries p
        USING notification.deliveries d
        WHERE d.notice_id = ANY (ids) AND p.delivery_id = d.id;
        UPDATE notification.deliveries d
        SET status = 'withdrawn', reply = why, answered_at = clock_timestamp()
        WHERE d.notice_id = ANY (ids) AND d.status = 'pending';
        UPDATE notification.notices n
        SET status = (CASE WHEN reached.it THEN 'sent' ELSE 'withdrawn' END
                )::notification.notice_status,
            reason = why, answered_at = clock_timestamp(),
            send_decided_at = CASE WHEN reached.it THEN n.send_decided_at END
        FROM unnest(ids) AS w (id)
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM notification.deliveries d
                    WHERE d.notice_id = w.id AND d.status = 'delivered')
                OR EXISTS (SELECT FROM notification.inbox_items i WHERE i.notice_id = w.id) AS it
        ) AS reached
        WHERE n.id = w.id;
    END IF;
    UPDATE notification.direct_mails m SET status = 'withdrawn', reply = why
    WHERE m.dedupe_key = ANY (keys) AND m.status = 'pending';
END $$;

-- Deletes the notices of a subject to these people, sent or not. A message that is being sent may
-- still arrive.
CREATE OR REPLACE FUNCTION notification.forget(people bigint[], of_subject text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notification.delete_notices(ARRAY(
        SELECT n.id FROM notification.notices n
        WHERE n.person_id = ANY (people) AND n.subject = of_subject));
END $$;

-- Transactions that commit later may still add items before one already read. Of an item that was
-- deleted only the id is left, which is nearly in the order of the items.
CREATE OR REPLACE FUNCTION notification.inbox(
    person bigint, after bigint DEFAULT 0, max_rows int DEFAULT 50
) RETURNS TABLE (id bigint, app text, kind text, subject text, title text, body text, data jsonb,
    created_at timestamptz, read_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.notice_id, i.app, n.kind, n.subject, i.title, i.body, n.data, i.created_at, i.read_at
    FROM notification.inbox_items i JOIN notification.notices n ON n.id = i.notice_id
    WHERE i.person_id = person AND i.number > coalesce((
            SELECT a.number FROM notification.inbox_items a WHERE a.notice_id = after), 0)
      AND (i.notice_id > coalesce(after, 0) OR EXISTS (
            SELECT FROM notification.inbox_items a WHERE a.notice_id = after))
    ORDER BY i.number DESC LIMIT max_rows
$$;
COMMENT ON FUNCTION notification.inbox(bigint, bigint, int) IS $doc$
Returns the items of a person's inbox, newest first. Items that were read are kept 90 days, others
13 months; the facts 90 days.

Arguments:
  person: whose inbox
  after: only items after the one with this id, also if it was deleted
  max_rows: the maximum number of items
Returns:
  id: the notice
  app: the app of the notice
  kind: the kind of notice
  subject: what it is about, such as vote:12: what the app opens; for a digest, the kind
  title: the title, in one line
  body: the text
  data: the facts of the kind
  created_at: when it came into the inbox
  read_at: when it was read; null if it was not
Repeated: Reads only.
Sample:
  SELECT id, kind, subject, title, read_at FROM notification.inbox(person => 17, max_rows => 20);
$doc$;

-- Marks items of a person as read; returns the number of unread items.
CREATE OR REPLACE FUNCTION notification.mark_read(person bigint, items bigint[])
RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH read AS (
        UPDATE notification.inbox_items SET read_at = clock_timestamp()
        WHERE person_id = person AND notice_id = ANY (items) AND read_at IS NULL
        RETURNING 1
    )
    SELECT count(*) FROM read
$$;
COMMENT ON FUNCTION notification.mark_read(bigint, bigint[]) IS $doc$
Marks items of a person's inbox as read. Ids that are not in this inbox are ignored.

Arguments:
  person: whose inbox
  items: the ids of the items
Returns:
  mark_read: how many of them were unread
Repeated: returns 0 and changes nothing.
Sample:
  SELECT notification.mark_read(person => 17, items => ARRAY[1, 2]);
$doc$;
