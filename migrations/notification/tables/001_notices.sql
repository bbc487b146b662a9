-- Notices: the events to notify people of, the decisions, and the results.

CREATE SCHEMA notification;

CREATE TYPE notification.notice_status AS ENUM (
    'intended',     -- recorded, and not yet decided
    'held',         -- to be decided again at hold_until
    'pending',      -- decided; deliveries are under way
    'sent',         -- it reached the person by one channel at least
    'merged',       -- sent as part of merged_into
    'dropped',      -- the policy forbids it
    'refused',      -- the sender has to wait until hold_until
    'expired',      -- it would have come too late
    'failed',       -- no channel reached the person
    'withdrawn');   -- the person no longer agreed when it was to be sent

-- One row for each notice, with the history of its decision.
CREATE TABLE notification.notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The id that leaves the system, in the Message-ID.
    public_id uuid NOT NULL DEFAULT gen_random_uuid(),
    person_id bigint NOT NULL REFERENCES people.people,
    kind text NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL DEFAULT '{}',
    -- The same event never notifies twice.
    dedupe_key text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    status notification.notice_status NOT NULL DEFAULT 'intended',
    reason text,
    answered_at timestamptz,
    app text,
    urgency text CHECK (urgency IN ('urgent', 'normal', 'promotional')),
    -- The person who sends a reminder.
    sender_id bigint REFERENCES people.people,
    decided_at timestamptz,
    -- When it was decided to send it, which counts against caps; null if it was not sent.
    send_decided_at timestamptz,
    hold_until timestamptz,
    -- Why it was held; kept after the hold.
    hold_reason text,
    merged_into bigint,
    -- The job whose handler recorded or decided it.
    job_id bigint,
    -- An index by the status itself would make each change of it touch all indexes.
    is_held boolean NOT NULL GENERATED ALWAYS AS (status = 'held') STORED,
    -- Has one of the rare statuses, by which listings find it.
    is_uncommon boolean NOT NULL GENERATED ALWAYS AS (
        status IN ('held', 'refused', 'expired', 'failed', 'withdrawn')) STORED
) WITH (fillfactor = 85);
CREATE INDEX notices_person ON notification.notices (person_id, created_at);
CREATE INDEX notices_held ON notification.notices (person_id, kind) WHERE is_held;
CREATE INDEX notices_promotional ON notification.notices (person_id, send_decided_at)
    WHERE send_decided_at IS NOT NULL AND urgency = 'promotional';
CREATE INDEX notices_reminders ON notification.notices (person_id, sender_id, created_at)
    WHERE sender_id IS NOT NULL;
CREATE INDEX notices_merged ON notification.notices (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX notices_uncommon ON notification.notices (id) WHERE is_uncommon;

-- The cooldowns: until when a person gets no further notice of a subject. Set by compare-and-set,
-- so that only one of several workers sends.
CREATE TABLE notification.cooldowns (
    person_id bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    -- When the notice that began it was created.
    since timestamptz NOT NULL,
    until timestamptz NOT NULL,
    -- Whether it lasts, beyond `until`, until the person was seen away from the place of the
    -- subject.
    must_leave boolean NOT NULL DEFAULT false,
    left_at timestamptz,
    forget_at timestamptz NOT NULL,
    PRIMARY KEY (person_id, subject)
);
CREATE INDEX cooldowns_forget ON notification.cooldowns (forget_at);

-- The few jobs of notices that operators cancelled; excludes jobs that ended because their notice
-- was not sent.
CREATE INDEX finished_jobs_notices ON errand.finished_jobs (finished_at)
    WHERE outcome = 'cancelled' AND reason !~ '^(failed|expired|withdrawn): '
      AND kind IN ('notification.decide', 'notification.email', 'notification.push');

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('notification.decide', 1, 'notices', 1, 20);
