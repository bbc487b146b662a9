-- Terms and news of the company, sent to many people in chunks.

CREATE SCHEMA news;

INSERT INTO people.holders VALUES ('news', 75, false);

CREATE TYPE news.sending_state AS ENUM ('draft', 'running', 'paused', 'done', 'cancelled');

-- One text for many people: what it says, whom it is for, and how far it is.
CREATE TABLE news.sendings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('company.news', 'company.terms')),
    -- all; app:NAME, the people who have or had a device or a notice of the app; or list, the
    -- people in news.recipients.
    audience text NOT NULL CHECK (audience ~ '^(all|list|app:[a-z][a-z0-9_-]{0,39})$'),
    -- The version of the terms, as people.consents has it; a person gets each version once.
    version text CHECK (length(version) BETWEEN 1 AND 40 AND version !~ '[[:cntrl:]]'),
    headline text NOT NULL CHECK (length(headline) BETWEEN 1 AND 120 AND headline !~ '[[:cntrl:]]'),
    summary text NOT NULL CHECK (length(summary) BETWEEN 1 AND 300 AND summary !~ '[[:cntrl:]]'),
    body text NOT NULL CHECK (length(body) BETWEEN 1 AND 20000),
    state news.sending_state NOT NULL DEFAULT 'draft',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL CHECK (length(created_by) BETWEEN 1 AND 200),
    -- It is for the people who were known then.
    started_at timestamptz,
    started_by text CHECK (length(started_by) BETWEEN 1 AND 200),
    ended_at timestamptz,
    -- When it was started, paused, resumed, cancelled or done.
    state_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The number of people it was for when it started.
    people bigint CHECK (people >= 0),
    -- The person up to whom it has got; nobody before the first chunk.
    reached bigint NOT NULL DEFAULT -9223372036854775808,
    chunk_at timestamptz,
    -- Of the people up to there, those who are notified, now or at their own time, and those who
    -- are not: blocked or erased, not notified by their own choice or the cap, or notified before.
    notified bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    -- notified + skipped when it was started or resumed last, for the rate.
    seen_before bigint NOT NULL DEFAULT 0,
    CHECK ((version IS NOT NULL) = (kind = 'company.terms')),
    CHECK (state IN ('draft', 'cancelled') OR started_at IS NOT NULL AND people IS NOT NULL),
    CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'cancelled')))
) WITH (fillfactor = 50);
CREATE INDEX sendings_state ON news.sendings (state, id);
CREATE INDEX sendings_under_way ON news.sendings (id) WHERE state IN ('running', 'paused');
CREATE INDEX sendings_terms ON news.sendings (id) WHERE version IS NOT NULL;

CREATE TABLE news.rules (
    -- The maximum number of people times the bytes of the body: each notice, and each item of an
    -- inbox, has its own copy of the body.
    most_bytes bigint NOT NULL DEFAULT 4000000000 CHECK (most_bytes >= 1),
    -- The number of people whom a sending reads in one transaction.
    chunk_size int NOT NULL DEFAULT 1000 CHECK (chunk_size BETWEEN 1 AND 10000),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO news.rules DEFAULT VALUES;

-- Whose row is locked by who starts a sending. Not an advisory lock, which any login may take.
CREATE TABLE news.starts (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only));
INSERT INTO news.starts DEFAULT VALUES;

-- The people of sendings with a list.
CREATE TABLE news.recipients (
    sending_id bigint NOT NULL REFERENCES news.sendings,
    person_id bigint NOT NULL,
    PRIMARY KEY (sending_id, person_id)
);
CREATE INDEX recipients_person ON news.recipients (person_id);

INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('news.recipients', 'news', 'forget_recipients', '90 days',
        'lists of people for terms and news, from the end of the sending');

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('news.send', 1, 'news', 3, 50);
