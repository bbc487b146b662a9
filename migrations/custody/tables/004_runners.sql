-- The session that runs a destruction: the claim is a row, not an advisory lock, because any login
-- may take a lock, and only the owner may write this table.
CREATE TABLE custody.runners (
    destruction_id bigint PRIMARY KEY REFERENCES custody.destructions,
    claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the session of `backend` began, because process ids are used again; null if the server
    -- did not say.
    backend_started timestamptz,
    backend int NOT NULL,
    login text NOT NULL DEFAULT session_user
);
