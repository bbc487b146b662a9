-- The logins behind operators' names, and who issues a run.

-- Whether one login may close and approve a run, under the names of two persons.
ALTER TABLE payouts.rules ADD COLUMN allows_shared_login boolean NOT NULL DEFAULT false;

-- The logins of these sessions. Operators choose their names themselves; the server knows logins.
-- Null for runs that were closed or approved before logins were recorded.
ALTER TABLE payouts.runs ADD COLUMN closed_by_login text, ADD COLUMN approved_by_login text;

-- Added without a default, so that older rows do not get the login that migrates.
ALTER TABLE payouts.changes ADD COLUMN login text;
ALTER TABLE payouts.changes ALTER COLUMN login SET DEFAULT session_user;

-- The sessions that issue runs: the claim is a row, not an advisory lock, because any login may
-- take a lock, and only the owner may write this table.
CREATE TABLE payouts.issuers (
    run_id bigint PRIMARY KEY REFERENCES payouts.runs,
    claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the session of `backend` began, because process ids are used again; null if the server
    -- did not say.
    backend_started timestamptz,
    backend int NOT NULL,
    login text NOT NULL DEFAULT session_user,
    actor text NOT NULL
);
