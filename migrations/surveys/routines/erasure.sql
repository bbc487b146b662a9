-- Blocked and erased people, what is known of a person, and how long it is kept; see people.holders
-- and people.retention_rules.

-- Withdraws the open invitations of a blocked person.
CREATE OR REPLACE FUNCTION surveys.block(person bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE surveys.invitations i SET state = 'withdrawn', ended_at = clock_timestamp()
    WHERE i.person_id = person AND i.state = 'open' AND i.expires_at > clock_timestamp();
END $$;

-- Opens the invitations again of a person who is no longer blocked.
CREATE OR REPLACE FUNCTION surveys.unblock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE surveys.invitations i
    SET state = CASE WHEN i.expires_at > clock_timestamp() THEN 'open'
            ELSE 'expired' END::surveys.invitation_state,
        ended_at = CASE WHEN i.expires_at > clock_timestamp() THEN NULL ELSE i.ended_at END
    WHERE i.person_id = NEW.id AND i.state = 'withdrawn';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER people_unblocked_surveys AFTER UPDATE OF blocked_at ON people.people
    FOR EACH ROW WHEN (OLD.blocked_at IS NOT NULL AND NEW.blocked_at IS NULL)
    EXECUTE FUNCTION surveys.unblock();

-- Takes the person, and what texts say of a person, from answers and their invitations; returns
-- how many. Of the times only the day is left: the ledger and the coupons know when the person did
-- something.
CREATE OR REPLACE FUNCTION surveys.anonymize_answers(invitations bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    rows bigint;
BEGIN
    UPDATE surveys.completions c
    SET person_id = NULL, request_id = NULL, origin = NULL, coupon_id = NULL,
        completed_at = date_trunc('day', c.completed_at, 'UTC'),
        answers = surveys.masked_answers(c.answers)
    WHERE c.invitation_id = ANY (invitations);
    GET DIAGNOSTICS rows = ROW_COUNT;
    UPDATE surveys.reviews r SET note = NULL
    WHERE r.invitation_id = ANY (invitations) AND r.note IS NOT NULL;
    PERFORM surveys.anonymize_invitations(invitations);
    RETURN rows;
END $$;

CREATE OR REPLACE FUNCTION surveys.anonymize_invitations(invitations bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    rows bigint;
BEGIN
    UPDATE surveys.invitations i
    SET person_id = NULL, request_id = NULL,
        source = CASE i.source WHEN 'receipt' THEN i.source ELSE 'invited' END,
        purchased_at = date_trunc('day', i.purchased_at, 'UTC'),
        invited_at = date_trunc('day', i.invited_at, 'UTC'),
        expires_at = date_trunc('day', i.expires_at, 'UTC') + interval '1 day',
        state = CASE WHEN i.state <> 'open' THEN i.state
            WHEN i.expires_at > clock_timestamp() THEN 'withdrawn'
            ELSE 'expired' END::surveys.invitation_state,
        ended_at = date_trunc('day', coalesce(i.ended_at, clock_timestamp()), 'UTC')
    WHERE i.id = ANY (invitations) AND i.person_id IS NOT NULL;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN rows;
END $$;

-- Takes the texts of an erased person from answers, and the answers, the respondent and the
-- invitation from their webhooks, sent or not: these have exact times, as the ledger has. Returns
-- the number of webhooks.
CREATE OR REPLACE FUNCTION surveys.delete_texts(invitations bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    rows bigint;
BEGIN
    UPDATE surveys.completions c SET answers = surveys.without_texts(c.answers)
    WHERE c.invitation_id = ANY (invitations);
    UPDATE notification.events e
    SET data = (e.data - 'answers') || '{"respondent": null, "answers_left_out": true}',
        dedupe_key = 'erased:' || e.id
    WHERE e.dedupe_key = ANY (ARRAY(
        SELECT 'survey:' || i || ':completed' FROM unnest(invitations) AS i));
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN rows;
END $$;

-- Erases a person. Answers stay without the person and without texts.
CREATE OR REPLACE FUNCTION surveys.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- In the order in which samples lock them.
    given CONSTANT bigint[] := ARRAY(
        SELECT c.invitation_id FROM surveys.completions c WHERE c.person_id = $1
        ORDER BY c.invitation_id FOR NO KEY UPDATE);
    answers bigint;
    invitations bigint;
    days bigint;
    events bigint;
BEGIN
    invitations := (SELECT count(*) FROM surveys.invitations i WHERE i.person_id = $1);
    events := surveys.delete_texts(given);
    answers := surveys.anonymize_answers(given);
    PERFORM surveys.anonymize_invitations(ARRAY(
        SELECT i.id FROM surveys.invitations i WHERE i.person_id = $1));
    DELETE FROM surveys.scan_days d WHERE d.person_id = $1;
    GET DIAGNOSTICS days = ROW_COUNT;
    RETURN QUERY VALUES
        ('surveys.completions', 'anonymized', answers,
            'what was answered, without texts and in no report; of the time only the day is left'),
        ('surveys.invitations', 'anonymized', invitations,
            'so that no receipt is scanned twice'),
        ('surveys.scan_days', 'deleted', days, NULL),
        ('notification.events', 'anonymized', events,
            'webhooks of answers, without answers and respondent');
END $$;

-- Returns all that is known of a person. Notes of reviews are for operators alone.
CREATE OR REPLACE FUNCTION surveys.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'invitations', coalesce((SELECT jsonb_agg(jsonb_build_object('id', i.id, 'survey', v.title,
                'version', i.version, 'establishment', e.name, 'branch', b.name,
                'source', i.source, 'request_id', i.request_id,
                'purchased_at', people.written(i.purchased_at),
                'invited_at', people.written(i.invited_at),
                'expires_at', people.written(i.expires_at), 'state', i.state,
                'ended_at', people.written(i.ended_at)) ORDER BY i.id)
            FROM surveys.invitations i
            JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
            JOIN establishments.establishments e ON e.id = i.establishment_id
            LEFT JOIN establishments.branches b ON b.id = i.branch_id
            WHERE i.person_id = $1), '[]'),
        'completions', coalesce((SELECT jsonb_agg(jsonb_build_object('invitation', c.invitation_id,
                'completed_at', people.written(c.completed_at),
                'seconds_spent', c.seconds_spent, 'request_id', c.request_id,
                'coupon', c.coupon_id, 'state', c.state, 'answers', (
                    SELECT jsonb_agg(jsonb_build_object('question', q.label,
                        'options', q.options, 'answer', c.answers -> q.number::text)
                        ORDER BY q.number)
                    FROM surveys.questions q
                    WHERE q.survey_id = c.survey_id AND q.version = c.version
                      AND c.answers ? q.number::text)) ORDER BY c.completed_at)
            FROM surveys.completions c WHERE c.person_id = $1), '[]'),
        'reviews', coalesce((SELECT jsonb_agg(jsonb_build_object('invitation', r.invitation_id,
                'flags', r.flags, 'verdict', r.verdict,
                'sampled_at', people.written(r.sampled_at),
                'reviewed_at', people.written(r.reviewed_at)) ORDER BY r.invitation_id)
            FROM surveys.completions c JOIN surveys.reviews r USING (invitation_id)
            WHERE c.person_id = $1), '[]'),
        'scan_days', coalesce((SELECT jsonb_agg(jsonb_build_object('day', d.day,
                'branches', d.branches, 'wrong', d.wrong))
            FROM surveys.scan_days d WHERE d.person_id = $1), '[]'));
END $$;
