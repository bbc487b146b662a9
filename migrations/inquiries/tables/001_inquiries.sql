-- Questions of people, above all of secret shoppers, and the answers of agents.

CREATE SCHEMA inquiries;

INSERT INTO people.holders VALUES ('inquiries', 28, false);

CREATE TABLE inquiries.rules (
    -- A message without an answer alerts the operators after this time: of a mission's thread, and
    -- of others.
    alert_mission interval NOT NULL DEFAULT '10 minutes' CHECK (alert_mission > '0 seconds'),
    alert_other interval NOT NULL DEFAULT '4 hours' CHECK (alert_other > '0 seconds'),
    -- A thread closes after this time without a word.
    close_after interval NOT NULL DEFAULT '7 days' CHECK (close_after > '0 seconds'),
    -- The maximum number of messages of a person in an hour.
    per_hour int NOT NULL DEFAULT 20 CHECK (per_hour >= 1),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO inquiries.rules DEFAULT VALUES;

-- One question with its answers, and the further words of both.
CREATE TABLE inquiries.threads (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people,
    -- The person's own mission that it is about; null for other questions.
    mission_id bigint REFERENCES missions.missions,
    opened_at timestamptz NOT NULL,
    -- The last word of either.
    last_at timestamptz NOT NULL CHECK (last_at >= opened_at),
    -- The time and the id of the person's first message since the last answer; null: nobody waits.
    waiting_since timestamptz,
    waiting_from bigint,
    closed_at timestamptz,
    -- The operator who closed it; null: nobody wrote for a long time.
    closed_by text CHECK (length(closed_by) BETWEEN 1 AND 200),
    -- Whether it was closed while the person waited for an answer.
    closed_unanswered boolean NOT NULL DEFAULT false,
    CHECK (closed_at IS NULL OR waiting_since IS NULL),
    CHECK (waiting_since IS NOT NULL OR waiting_from IS NULL),
    CHECK (closed_at IS NOT NULL OR closed_by IS NULL AND NOT closed_unanswered)
) WITH (fillfactor = 85);
CREATE INDEX threads_person ON inquiries.threads (person_id, id);
CREATE INDEX threads_open ON inquiries.threads (last_at) WHERE closed_at IS NULL;
-- Those who wait the longest come first; a page begins behind a message, which stays where it is.
CREATE INDEX threads_waiting ON inquiries.threads (waiting_from) WHERE waiting_from IS NOT NULL;
CREATE INDEX threads_mission ON inquiries.threads (mission_id, id) WHERE mission_id IS NOT NULL;
CREATE INDEX threads_last ON inquiries.threads (last_at);
CREATE INDEX threads_unanswered ON inquiries.threads (closed_at) WHERE closed_unanswered;

CREATE TABLE inquiries.messages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread_id bigint NOT NULL REFERENCES inquiries.threads,
    -- The person of the thread.
    person_id bigint NOT NULL REFERENCES people.people,
    at timestamptz NOT NULL,
    -- When the operators are alerted of it; null once it was answered, or they were. If no endpoint
    -- takes alerts, it stays until one does.
    alert_at timestamptz,
    alerted_at timestamptz,
    -- Whether it opened the thread.
    is_first boolean NOT NULL DEFAULT false,
    -- The agent who answers; null: the person writes.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    request_id text COLLATE "C" NOT NULL CHECK (length(request_id) BETWEEN 1 AND 100),
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 4000),
    CHECK (actor IS NULL OR alert_at IS NULL AND alerted_at IS NULL AND NOT is_first)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX messages_request ON inquiries.messages (person_id, request_id)
    WHERE actor IS NULL;
CREATE UNIQUE INDEX messages_answer ON inquiries.messages (thread_id, request_id)
    WHERE actor IS NOT NULL;
CREATE INDEX messages_thread ON inquiries.messages (thread_id, id);
CREATE INDEX messages_recent ON inquiries.messages (person_id, at) WHERE actor IS NULL;
CREATE INDEX messages_alerts ON inquiries.messages (alert_at) WHERE alert_at IS NOT NULL;
CREATE INDEX messages_old ON inquiries.messages (at);
-- Prevents ANALYZE from keeping samples of them.
ALTER TABLE inquiries.messages ALTER text SET STATISTICS 0;

INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('inquiries.messages', 'inquiries', 'forget_messages', '12 months',
        'questions of people and the answers of agents, from when they were written');

INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;
