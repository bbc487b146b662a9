-- The destruction of all customer data at the end of a service: plans, steps, counts, certificates.

CREATE SCHEMA custody;

-- The rules of destruction and transfer; one row.
CREATE TABLE custody.rules (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- Whether one person may plan and approve, and whether two may share a login of PostgreSQL.
    allows_same boolean NOT NULL DEFAULT false,
    allows_shared_login boolean NOT NULL DEFAULT false,
    -- How long before a destruction or transfer all people must have been notified.
    notice_days int NOT NULL DEFAULT 30 CHECK (notice_days BETWEEN 0 AND 365)
);
INSERT INTO custody.rules DEFAULT VALUES;

CREATE TABLE custody.destructions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state text NOT NULL DEFAULT 'planned'
        CHECK (state IN ('planned', 'approved', 'started', 'done', 'cancelled')),
    -- The day on which all people had been notified, as the planner states.
    notified_on date NOT NULL,
    -- Whether the ledger stays, without people.
    keeps_ledger boolean NOT NULL,
    -- The context of the command line, if it is a production context; null for others.
    context text,
    -- The folders outside of the database whose content is removed.
    folders text[] NOT NULL DEFAULT '{}',
    -- The preconditions that need not hold, by name.
    accepted text[] NOT NULL DEFAULT '{}',
    reason text,
    planned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    planned_by text NOT NULL,
    planned_by_login text NOT NULL DEFAULT session_user,
    approved_at timestamptz,
    approved_by text,
    approved_by_login text,
    started_at timestamptz,
    started_by text,
    ended_at timestamptz,
    cancelled_by text,
    -- The text whose SHA-256 is certificate_sha256.
    certificate text,
    certificate_sha256 bytea
);
-- At most one is open.
CREATE UNIQUE INDEX destructions_open ON custody.destructions ((true))
    WHERE state IN ('planned', 'approved', 'started');

-- The steps of a started destruction, in order. Each may be repeated until it has ended.
CREATE TABLE custody.steps (
    destruction_id bigint NOT NULL REFERENCES custody.destructions,
    position int NOT NULL,
    name text NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    -- What it did, such as the names of removed files.
    detail jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (destruction_id, position),
    UNIQUE (destruction_id, name)
);

-- The rows of each table before and after.
CREATE TABLE custody.counts (
    destruction_id bigint NOT NULL REFERENCES custody.destructions,
    module text COLLATE "C" NOT NULL,
    object text COLLATE "C" NOT NULL,
    rows_before bigint NOT NULL,
    emptied_at timestamptz,
    rows_after bigint,
    -- Why its rows are kept; null for tables that are emptied.
    kept_for text,
    PRIMARY KEY (destruction_id, object)
);

-- The rights of apps that a destruction has revoked, to restore them if it is cancelled.
CREATE TABLE custody.revoked_rights (
    destruction_id bigint NOT NULL REFERENCES custody.destructions,
    routine text NOT NULL,
    grantee name NOT NULL,
    PRIMARY KEY (destruction_id, routine, grantee)
);
