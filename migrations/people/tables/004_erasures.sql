-- Erasures of people, with their counts and certificates, and who has had an export.

-- Calls to its functions are composed of it: only names of schemas, and none of the system's.
ALTER TABLE people.holders ADD CHECK (module NOT LIKE 'pg\_%');

-- One erasure of a person, from the request to the certificate.
CREATE TABLE people.erasures (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people,
    -- The person asked, an operator did, the person is under 16 or has not been seen for long, or a
    -- restored backup had the person again.
    cause text NOT NULL
        CHECK (cause IN ('request', 'operator', 'under_age', 'unused', 'suppression')),
    -- kept: an operator objected before it started, or it was not needed any more.
    state text NOT NULL DEFAULT 'requested'
        CHECK (state IN ('requested', 'running', 'finished', 'kept')),
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- From then on it runs; before, an operator can object.
    starts_at timestamptz NOT NULL,
    -- The doctor warns of an erasure that is unfinished then, and more loudly after due_at.
    target_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    -- When the last module had erased the person; then the jobs are searched.
    holders_at timestamptz,
    ended_at timestamptz,
    -- The SHA-256 of the id of the request, which may be anything.
    request_hash bytea UNIQUE,
    -- Forgotten once it is finished.
    reason text CHECK (length(reason) BETWEEN 1 AND 500),
    -- Why it was kept, and by whom.
    kept_by text,
    kept_reason text,
    -- The module that failed last, with the SQLSTATE; null after a success.
    failure text,
    failed_at timestamptz,
    -- The sweep of the jobs that covers it.
    sweep_id bigint
);
CREATE UNIQUE INDEX erasures_open ON people.erasures (person_id)
    WHERE state IN ('requested', 'running');
CREATE INDEX erasures_person ON people.erasures (person_id, id);
CREATE INDEX erasures_starts ON people.erasures (starts_at)
    WHERE state IN ('requested', 'running');
CREATE INDEX erasures_unswept ON people.erasures (id)
    WHERE state = 'running' AND holders_at IS NOT NULL AND sweep_id IS NULL;
CREATE INDEX erasures_swept ON people.erasures (sweep_id, id) WHERE state = 'running';
CREATE INDEX erasures_finished ON people.erasures (ended_at) WHERE state = 'finished';

-- The modules that have erased a person, each written in the transaction of its erasure.
CREATE TABLE people.erasure_steps (
    erasure_id bigint NOT NULL REFERENCES people.erasures,
    module text COLLATE "C" NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (erasure_id, module)
);

-- What was deleted, anonymized and kept, and why. Holds no personal data.
CREATE TABLE people.erasure_counts (
    erasure_id bigint NOT NULL REFERENCES people.erasures,
    module text COLLATE "C" NOT NULL,
    -- Such as coupons.coupons.
    object text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL CHECK (action IN ('deleted', 'anonymized', 'kept')),
    rows bigint NOT NULL CHECK (rows >= 0),
    -- Why rows are kept.
    reason text,
    PRIMARY KEY (erasure_id, module, object, action)
);

-- Kept for ever; without personal data. The hash is over the text.
CREATE TABLE people.certificates (
    erasure_id bigint PRIMARY KEY REFERENCES people.erasures,
    person_id bigint NOT NULL,
    issued_at timestamptz NOT NULL,
    body text NOT NULL,
    sha256 bytea NOT NULL CHECK (length(sha256) = 32)
);
CREATE INDEX certificates_person ON people.certificates (person_id);

-- One pass over all jobs, for all erasures that wait for it: the history has no index by person, as
-- that would slow each job down.
CREATE TABLE people.job_sweeps (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    -- live jobs, finished jobs, the operators' log, then the certificates.
    phase text NOT NULL DEFAULT 'live' CHECK (phase IN ('live', 'finished', 'log', 'ending')),
    -- The highest id that was searched, and the highest there was at the start.
    cursor bigint NOT NULL DEFAULT 0,
    last_id bigint NOT NULL
);
-- One at a time.
CREATE UNIQUE INDEX job_sweeps_open ON people.job_sweeps ((true)) WHERE ended_at IS NULL;

-- The last export of each person: one a day.
CREATE TABLE people.exports (
    person_id bigint PRIMARY KEY REFERENCES people.people,
    exported_at timestamptz NOT NULL,
    request_hash bytea NOT NULL
);
