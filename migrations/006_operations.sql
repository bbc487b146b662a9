-- What operators do: fingerprints that gather dead letters, bulk operations, the audit.

-- What the first line of an error has in common with others: without numbers, hexadecimal ids,
-- UUIDs and quoted texts.
CREATE FUNCTION errand.error_pattern(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(
        regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            left(split_part(coalesce(error, ''), E'\n', 1), 2000),
            '"[^"]*"|`[^`]*`|“[^”]*”', '"…"', 'g'),
            '(^|[^a-zA-Z0-9])''[^'']*''(?![a-zA-Z0-9])', '\1"…"', 'g'),
            '\m[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\M', '#', 'gi'),
            '\m(0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{8,})\M', '#', 'gi'),
            '[0-9]+([.,][0-9]+)*', '#', 'g'), 200)
$$;

-- Names that pattern, short enough to be typed.
CREATE FUNCTION errand.fingerprint(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(errand.error_pattern(error)), 12)
$$;

-- Kept for dead letters alone, written once when one dies: a group of a million is counted from
-- an index, not by a million regular expressions.
ALTER TABLE errand.finished_jobs ADD COLUMN fingerprint text;

CREATE FUNCTION errand.set_fingerprint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.fingerprint := errand.fingerprint(coalesce(NEW.errors -> -1 ->> 'error', NEW.reason));
    RETURN NEW;
END $$;
CREATE TRIGGER dead_jobs_fingerprint BEFORE INSERT ON errand.dead_jobs
    FOR EACH ROW EXECUTE FUNCTION errand.set_fingerprint();
UPDATE errand.dead_jobs
SET fingerprint = errand.fingerprint(coalesce(errors -> -1 ->> 'error', reason));

CREATE INDEX dead_jobs_group ON errand.dead_jobs (fingerprint, id) INCLUDE (kind, finished_at);
CREATE INDEX dead_jobs_kind ON errand.dead_jobs (kind, id);
CREATE INDEX dead_jobs_queue ON errand.dead_jobs (queue, id);

-- One bulk action on the dead letters that passed a filter at one moment. It goes by ids in
-- chunks; each chunk and its place here are one transaction, so it can be resumed after anything.
CREATE TABLE errand.operations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action text NOT NULL CHECK (action IN ('redrive', 'discard')),
    operator text NOT NULL,
    reason text,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    -- As JobFilter writes it.
    filter jsonb NOT NULL,
    rate_per_s double precision CHECK (rate_per_s > 0),
    total bigint NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    -- The highest id dealt with.
    cursor bigint NOT NULL DEFAULT 0,
    -- Of 'running' ones, those whose session is gone (see the advisory lock) were interrupted.
    state text NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'done', 'cancelled', 'failed')),
    -- Why it was cancelled or failed.
    note text
) WITH (fillfactor = 70);

-- Everything that an operator changed, written in the transaction of the change.
CREATE TABLE errand.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    operator text NOT NULL,
    -- As the command is called, such as 'queue pause'.
    action text NOT NULL,
    -- What was changed, such as the queue's name or the job's id.
    subject text NOT NULL,
    reason text,
    change jsonb
);
CREATE INDEX audit_operator ON errand.audit (operator, id);
CREATE INDEX audit_action ON errand.audit (action, id);
