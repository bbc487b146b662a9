-- Mail that is switched off by one click, addresses that bounce, and what operators look for.

ALTER TABLE notification.people
    -- In the links of the person's mails: whoever has it can switch mails off, and nothing else.
    ADD COLUMN unsubscribe_token uuid NOT NULL DEFAULT gen_random_uuid();
CREATE UNIQUE INDEX people_unsubscribe_token ON notification.people (unsubscribe_token);

-- Switches off the mails of a kind, or of all with *, for the person of a link; the app server's
-- page calls it for a POST, never for a GET, which programs that read mail send by themselves.
--
-- Returns whether somebody has that token, and tells nothing else; the same again changes nothing.
-- For what can be no kind it changes nothing and returns false.
CREATE FUNCTION notification.unsubscribe(token uuid, kind text) RETURNS boolean
LANGUAGE sql AS $$
    WITH person AS (
        SELECT p.id FROM notification.people p
        WHERE p.unsubscribe_token = $1 AND $2 ~ '^(\*|[a-z0-9][a-z0-9_.-]{0,99})$'
    ), switched AS (
        INSERT INTO notification.preferences AS r (person_id, kind, channel, is_on)
        SELECT id, $2, 'email', false FROM person
        ON CONFLICT ON CONSTRAINT preferences_pkey DO UPDATE SET is_on = false WHERE r.is_on
    ), others AS (
        -- Choices of single kinds outweigh that of all.
        UPDATE notification.preferences r SET is_on = false FROM person
        WHERE $2 = '*' AND r.person_id = person.id AND r.channel = 'email' AND r.kind <> '*'
          AND r.is_on
    )
    SELECT EXISTS (SELECT FROM person)
$$;

ALTER TABLE notification.people
    -- The notices that the address bounced since it last took one; so many refuse it.
    ADD COLUMN email_bounces bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN email_bounced_at timestamptz;

-- What was known of an address means nothing for the next one.
CREATE FUNCTION notification.forget_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.email_bounces := '{}';
    NEW.email_bounced_at := NULL;
    IF NEW.email_refused_at IS NOT DISTINCT FROM OLD.email_refused_at THEN
        NEW.email_refused_at := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER people_address BEFORE UPDATE OF email ON notification.people
    FOR EACH ROW WHEN (OLD.email IS DISTINCT FROM NEW.email)
    EXECUTE FUNCTION notification.forget_address();

-- Jobs of notices that operators have cancelled: few, beside those that ended because their notice
-- came to nothing.
CREATE INDEX finished_jobs_notices ON errand.finished_jobs (finished_at)
    WHERE outcome = 'cancelled' AND reason !~ '^(failed|expired|withdrawn): '
      AND kind IN ('notification.decide', 'notification.email', 'notification.push');

ALTER TABLE notification.notices
    -- Has one of the statuses that few have, by which listings find it. An index by the status
    -- itself would make each change of it touch all indexes.
    ADD COLUMN is_uncommon boolean NOT NULL GENERATED ALWAYS AS (
        status IN ('held', 'refused', 'expired', 'failed', 'withdrawn')) STORED;
CREATE INDEX notices_uncommon ON notification.notices (id) WHERE is_uncommon;
