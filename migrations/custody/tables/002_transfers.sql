-- The transfer of all data to another company: who objects, and what was exported and imported.

-- People who object to the transfer of their data: exports leave them out.
CREATE TABLE custody.objections (
    person_id bigint PRIMARY KEY,
    objected_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The operator who recorded it.
    recorded_by text NOT NULL
);

-- Exports and imports of this database.
CREATE TABLE custody.transfers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    direction text NOT NULL CHECK (direction IN ('export', 'import')),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    operator text NOT NULL,
    login text NOT NULL DEFAULT session_user,
    reason text,
    manifest_sha256 bytea NOT NULL CHECK (length(manifest_sha256) = 32),
    tables int NOT NULL,
    rows bigint NOT NULL,
    -- People who were left out because they object.
    left_out bigint NOT NULL
);

-- Erasing a person deletes their objection.
INSERT INTO people.holders (module, position, blocks) VALUES ('custody', 90, false);
