-- The declared kinds of notice, secret facts, and mails to addresses of people who have no account.

-- The kinds of notice that programs know, with the facts that their templates need. Written by
-- 'errand migrate' and by each worker that starts.
CREATE TABLE notification.kinds (
    kind text COLLATE "C" PRIMARY KEY CHECK (kind ~ '^[a-z0-9][a-z0-9_.-]{0,99}$'),
    app text NOT NULL,
    urgency text NOT NULL CHECK (urgency IN ('urgent', 'normal', 'promotional')),
    channels text[] NOT NULL CHECK (channels <@ '{push,email,inbox}'),
    -- The type of each fact, all required: {"title": "text"}.
    facts jsonb NOT NULL,
    -- The facts that are secret, such as a code.
    secrets text[] NOT NULL,
    declared_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE notification.notices
    -- Whether notification.secrets may have a row.
    ADD has_secrets boolean NOT NULL DEFAULT false,
    -- Whether its facts were deleted.
    ADD is_bare boolean NOT NULL DEFAULT false;

-- The secret facts of notices, such as codes and links, until the notice ends: in no WAL, base
-- backup or replica. Empty after a crash of the server. Deleted rows stay in the server's files
-- until VACUUM and new rows overwrite them.
CREATE UNLOGGED TABLE notification.secrets (
    notice_id bigint PRIMARY KEY,
    facts jsonb NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20);

-- Mails to addresses of people who have no account yet. No policy decides about them.
CREATE TABLE notification.direct_mails (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The id that leaves the system, in the Message-ID.
    public_id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL,
    -- Null once it has ended.
    address text,
    locale text NOT NULL,
    -- Empty once it has ended.
    data jsonb NOT NULL,
    -- The same event never sends twice.
    dedupe_key text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    status notification.delivery_status NOT NULL DEFAULT 'pending',
    attempts smallint NOT NULL DEFAULT 0,
    reply text,
    answered_at timestamptz,
    CHECK ((address IS NULL) = (status <> 'pending'))
) WITH (fillfactor = 85);
CREATE INDEX direct_mails_pending ON notification.direct_mails (expires_at)
    WHERE status = 'pending';
-- By the address, as people.people has it, for erasure.
CREATE INDEX direct_mails_address ON notification.direct_mails (lower(address))
    WHERE status = 'pending';

-- Their secret facts, as notification.secrets.
CREATE UNLOGGED TABLE notification.direct_secrets (
    mail_id bigint PRIMARY KEY,
    facts jsonb NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20);

-- Prevents ANALYZE from copying them into its samples, which are logged.
ALTER TABLE notification.secrets ALTER facts SET STATISTICS 0;
ALTER TABLE notification.direct_secrets ALTER facts SET STATISTICS 0;
ALTER TABLE notification.direct_mails ALTER address SET STATISTICS 0;

-- With other arguments and another result, they are created again.
DROP FUNCTION IF EXISTS
    notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint);
DROP FUNCTION IF EXISTS notification.inbox(bigint, bigint, int);

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('notification.direct_mail', 1, 'mail', 0, 12);
