-- Requests that open missions, blocked and erased people, and how long contents are kept.

-- Takes a request_id now; see routines/missions.sql.
DROP FUNCTION IF EXISTS missions.open_mission(bigint, text, timestamptz, timestamptz, bigint,
    bigint, jsonb, text, int, text, real, real, int, int, boolean, text);
ALTER TABLE missions.missions
    -- The request that opened it, and the SHA-256 of its content.
    ADD request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 100),
    ADD request_hash bytea,
    ADD CONSTRAINT missions_request UNIQUE (request_id),
    ADD CHECK ((request_id IS NULL) = (request_hash IS NULL));

-- What a person submitted, and all assignments and flags of a person.
CREATE INDEX assignments_person ON missions.assignments (person_id, id);
CREATE INDEX flags_person ON missions.flags (person_id);
CREATE INDEX steps_done ON missions.steps (done_at);

INSERT INTO ledger.pending_sources VALUES ('missions', 'pending');
INSERT INTO people.holders VALUES ('missions', 30, true);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('missions.steps', 'missions', 'forget_steps', '12 months',
        'results of tasks, with references to pictures, of missions that were decided');
