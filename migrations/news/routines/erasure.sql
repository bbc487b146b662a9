-- Erasing a person, what is known of a person, and how long lists are kept; see people.holders and
-- people.retention_rules.

-- Removes a person from lists. What the person was sent is in notification.
CREATE OR REPLACE FUNCTION news.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    listed bigint;
BEGIN
    DELETE FROM news.recipients r WHERE r.person_id = $1;
    GET DIAGNOSTICS listed = ROW_COUNT;
    RETURN QUERY VALUES ('news.recipients', 'deleted', listed, NULL);
END $$;

-- Returns all that is known of a person.
CREATE OR REPLACE FUNCTION news.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('recipients', coalesce((
        SELECT jsonb_agg(jsonb_build_object('headline', s.headline,
            'started_at', people.written(s.started_at)) ORDER BY s.id)
        FROM news.recipients r JOIN news.sendings s ON s.id = r.sending_id
        WHERE r.person_id = $1), '[]'));
END $$;

-- Deletes the lists of sendings that ended before a time, and of drafts from before it.
CREATE OR REPLACE FUNCTION news.forget_recipients(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM news.sendings s JOIN news.recipients r ON r.sending_id = s.id
            WHERE coalesce(s.ended_at, s.created_at) < before
              AND s.state IN ('done', 'cancelled', 'draft') LIMIT max_rows) AS old);
    END IF;
    -- A draft without its list must not be started.
    UPDATE news.sendings s SET state = 'cancelled', state_since = clock_timestamp(),
        ended_at = clock_timestamp()
    WHERE s.state = 'draft' AND s.audience = 'list' AND s.created_at < before;
    DELETE FROM news.recipients d USING (
        SELECT r.sending_id, r.person_id
        FROM news.sendings s JOIN news.recipients r ON r.sending_id = s.id
        WHERE s.state IN ('done', 'cancelled')
          AND (CASE WHEN s.started_at IS NULL THEN s.created_at ELSE s.ended_at END) < before
        LIMIT max_rows FOR UPDATE OF r SKIP LOCKED
    ) AS old
    WHERE d.sending_id = old.sending_id AND d.person_id = old.person_id;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;
