-- Sendings as operators handle them: drafted, started, paused, resumed and cancelled.

-- Raises an error unless these can be a sending: for draft(), and for a dry run. people is for the
-- audience list alone: an unknown id is a mistake in the file.
CREATE OR REPLACE FUNCTION news.expect_draft(
    kind text, audience text, headline text, summary text, body text, version text, people bigint[]
) RETURNS void LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    unknown bigint;
BEGIN
    PERFORM errand.expect(kind IN ('company.news', 'company.terms'),
        'draft: kind: expected company.news or company.terms');
    PERFORM errand.expect(audience ~ '^(all|list|app:[a-z][a-z0-9_-]{0,39})$',
        'draft: audience: expected all, list or app:NAME');
    PERFORM errand.expect((audience = 'list') = (people IS NOT NULL),
        'draft: people: expected the ids of the people of a list, and only for a list');
    PERFORM errand.expect(audience !~ '^app:' OR EXISTS (SELECT FROM notification.apps a
        WHERE a.name = substr(audience, 5)), format('draft: %s: no module has this app', audience));
    PERFORM errand.expect(length(headline) BETWEEN 1 AND 120 AND headline !~ '[[:cntrl:]]',
        'draft: headline: expected 1 to 120 characters in one line');
    PERFORM errand.expect(length(summary) BETWEEN 1 AND 300 AND summary !~ '[[:cntrl:]]',
        'draft: summary: expected 1 to 300 characters in one line');
    PERFORM errand.expect(length(body) BETWEEN 1 AND 20000 AND body ~ '[^[:space:]]',
        'draft: body: expected 1 to 20,000 characters');
    PERFORM errand.expect(CASE kind WHEN 'company.terms'
            THEN length(version) BETWEEN 1 AND 40 AND version !~ '[[:cntrl:]]'
            ELSE version IS NULL END,
        'draft: version: expected 1 to 40 characters for company.terms, and none for company.news');
    IF people IS NOT NULL THEN
        PERFORM errand.expect(cardinality(people) BETWEEN 1 AND 1000000,
            'draft: people: expected 1 to 1,000,000 ids');
        SELECT i.id INTO unknown FROM unnest(people) AS i (id)
        WHERE NOT EXISTS (SELECT FROM people.people p WHERE p.id = i.id) LIMIT 1;
        IF FOUND THEN
            PERFORM people.expect_person(unknown);
        END IF;
    END IF;
END $$;

-- Raises an error if the notices of a sending would store too much text.
CREATE OR REPLACE FUNCTION news.expect_size(body text, people bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    most CONSTANT bigint := (SELECT r.most_bytes FROM news.rules r);
BEGIN
    PERFORM errand.expect(people * octet_length(body) <= most, format(
        'body: %s bytes for each of %s people are more than news.rules.most_bytes, %s: '
        'shorten the text, and link to the rest', octet_length(body), people, most));
END $$;

-- Drafts a sending and returns its id. The people of a list are locked, so that an erasure which
-- begins meanwhile finds them on it; those who are blocked or erased already are left out.
CREATE OR REPLACE FUNCTION news.draft(
    kind text, audience text, headline text, summary text, body text, version text,
    people bigint[], actor text
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    drafted bigint;
BEGIN
    PERFORM news.expect_draft(kind, audience, headline, summary, body, version, people);
    INSERT INTO news.sendings AS s (kind, audience, version, headline, summary, body, created_by)
    VALUES (kind, audience, version, headline, summary, body, actor) RETURNING s.id INTO drafted;
    IF people IS NOT NULL THEN
        INSERT INTO news.recipients (sending_id, person_id)
        SELECT drafted, k.id FROM (SELECT p.id FROM people.people p
            WHERE p.id = ANY (people) AND p.blocked_at IS NULL AND p.erased_at IS NULL
            ORDER BY p.id FOR SHARE) AS k;
    END IF;
    RETURN drafted;
END $$;

-- Whether a person uses an app: has or had a device of it, or got one of its notices.
CREATE OR REPLACE FUNCTION news.uses(person bigint, app text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM notification.devices d WHERE d.person_id = person AND d.app = app)
        OR EXISTS (SELECT FROM notification.notices n WHERE n.person_id = person AND n.app = app);
END $$;

-- Counts the people of an audience who were known at a time. Reads them all: some seconds for a
-- million people of an app.
CREATE OR REPLACE FUNCTION news.count_people(audience text, sending bigint, at timestamptz)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    app CONSTANT text := substr(audience, 5);
BEGIN
    IF audience = 'list' THEN
        RETURN (SELECT count(*) FROM news.recipients r WHERE r.sending_id = sending);
    ELSIF audience = 'all' THEN
        RETURN (SELECT count(*) FROM people.people p WHERE p.created_at <= at);
    END IF;
    RETURN (SELECT count(*) FROM people.people p
        JOIN (SELECT d.person_id FROM notification.devices d WHERE d.app = app
            UNION SELECT n.person_id FROM notification.notices n WHERE n.app = app) AS u
            ON u.person_id = p.id
        WHERE p.created_at <= at);
END $$;

-- The job of a sending that has not ended; null if there is none.
CREATE OR REPLACE FUNCTION news.job_of(sending bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT j.id FROM errand.jobs j
        WHERE j.queue = 'news' AND j.kind = 'news.send'
          AND j.args @> jsonb_build_object('sending_id', sending) LIMIT 1);
END $$;

-- Creates the job of a sending that runs. The unique key makes it one, and the row of the sending,
-- which the caller has locked, keeps a job that ends from missing it: see news.chunk().
CREATE OR REPLACE FUNCTION news.enqueue(sending bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN errand.enqueue_own('news.send', jsonb_build_object('sending_id', sending),
        queue => 'news', unique_key => 'news:' || sending, unique_while => 'unfinished');
END $$;

-- Starts a draft.
--   reason  ok; unknown; running, paused, done, cancelled: it is no draft any more; same: other has
--           the same text for the same people, and was started in the last 7 days
CREATE OR REPLACE FUNCTION news.start(
    sending bigint, actor text, OUT reason text, OUT other bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held news.sendings;
    at timestamptz;
BEGIN
    -- Two operators who start the same text at once: the second sees the first.
    PERFORM FROM news.starts FOR NO KEY UPDATE;
    SELECT * INTO held FROM news.sendings s WHERE s.id = sending FOR NO KEY UPDATE;
    reason := coalesce(held.state::text, 'unknown');
    IF reason <> 'draft' THEN
        RETURN;
    END IF;
    at := clock_timestamp();
    SELECT s.id INTO other FROM news.sendings s
    WHERE s.kind = held.kind AND s.audience = held.audience AND s.id <> sending
      AND s.headline = held.headline AND s.body = held.body
      AND s.version IS NOT DISTINCT FROM held.version
      AND (s.state IN ('running', 'paused')
          OR s.started_at > at - interval '7 days' AND s.state = 'done')
      AND (s.audience <> 'list' OR NOT EXISTS (
          (SELECT r.person_id FROM news.recipients r WHERE r.sending_id = s.id
          EXCEPT SELECT r.person_id FROM news.recipients r WHERE r.sending_id = sending)
          UNION ALL
          (SELECT r.person_id FROM news.recipients r WHERE r.sending_id = sending
          EXCEPT SELECT r.person_id FROM news.recipients r WHERE r.sending_id = s.id)))
    LIMIT 1;
    IF other IS NOT NULL THEN
        reason := 'same';
        RETURN;
    END IF;
    UPDATE news.sendings s
    SET state = 'running', started_at = at, started_by = actor, state_since = at,
        people = news.count_people(held.audience, sending, at)
    WHERE s.id = sending RETURNING s.people INTO held.people;
    PERFORM news.expect_size(held.body, held.people);
    PERFORM news.enqueue(sending);
    reason := 'ok';
END $$;

-- Pauses a sending after its present chunk.
--   reason  ok; unknown; draft, paused, done, cancelled: it does not run
CREATE OR REPLACE FUNCTION news.pause(sending bigint) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    state text;
BEGIN
    SELECT s.state::text INTO state FROM news.sendings s WHERE s.id = sending FOR NO KEY UPDATE;
    IF state IS DISTINCT FROM 'running' THEN
        RETURN coalesce(state, 'unknown');
    END IF;
    UPDATE news.sendings s SET state = 'paused', state_since = clock_timestamp()
    WHERE s.id = sending;
    RETURN 'ok';
END $$;

-- Continues a paused sending, or one that runs and has lost its job.
--   reason  ok; unknown; draft, done, cancelled; running: it has its job
CREATE OR REPLACE FUNCTION news.resume(sending bigint) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    state text;
BEGIN
    SELECT s.state::text INTO state FROM news.sendings s WHERE s.id = sending FOR NO KEY UPDATE;
    IF state IS NULL OR state NOT IN ('paused', 'running') THEN
        RETURN coalesce(state, 'unknown');
    END IF;
    IF state = 'running' AND news.job_of(sending) IS NOT NULL THEN
        RETURN 'running';
    END IF;
    UPDATE news.sendings s SET state = 'running', state_since = clock_timestamp(),
        seen_before = s.notified + s.skipped
    WHERE s.id = sending;
    PERFORM news.enqueue(sending);
    RETURN 'ok';
END $$;

-- Cancels a sending; who was notified stays notified.
--   reason  ok; unknown; done, cancelled: it has ended
CREATE OR REPLACE FUNCTION news.cancel(sending bigint) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    state text;
BEGIN
    SELECT s.state::text INTO state FROM news.sendings s WHERE s.id = sending FOR NO KEY UPDATE;
    IF state IS NULL OR state IN ('done', 'cancelled') THEN
        RETURN coalesce(state, 'unknown');
    END IF;
    UPDATE news.sendings s SET state = 'cancelled', state_since = clock_timestamp(),
        ended_at = clock_timestamp()
    WHERE s.id = sending;
    RETURN 'ok';
END $$;
