-- Finished jobs: their daily partitions, and the fingerprints by which dead letters are grouped.

-- Creates the daily partitions from `first` on; returns how many were missing.
--
-- The feeder calls this function and the next one. They are SECURITY DEFINER because the feeder
-- owns no tables.
CREATE OR REPLACE FUNCTION errand.prepare_finished_partitions(first date, days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    day date;
    name text;
    made int := 0;
BEGIN
    FOR day IN SELECT first + n FROM generate_series(0, days - 1) AS n LOOP
        name := 'finished_jobs_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass('errand.' || name) IS NOT NULL;
        -- A row that went to the default partition in the meantime would forbid the new one.
        CONTINUE WHEN EXISTS (
            SELECT FROM errand.finished_jobs_other WHERE keep_until = day);
        EXECUTE format(
            'CREATE TABLE errand.%I PARTITION OF errand.finished_jobs FOR VALUES FROM (%L) TO (%L)',
            name, day, day + 1);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- Drops the partitions whose retention ended before `today`; returns how many.
CREATE OR REPLACE FUNCTION errand.drop_expired_partitions(today date) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
    dropped int := 0;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'errand.finished_jobs'::regclass
          AND c.relname ~ '^finished_jobs_[0-9]{8}$'
          AND to_date(right(c.relname, 8), 'YYYYMMDD') < today
    LOOP
        EXECUTE format('DROP TABLE errand.%I', name);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM errand.finished_jobs_other WHERE keep_until < today;
    RETURN dropped;
END $$;

-- So that the first worker finds the partitions of its day.
DO $$
BEGIN
    PERFORM errand.prepare_finished_partitions((now() AT TIME ZONE 'UTC')::date, 12);
END $$;

-- The first line of an error without the parts that differ between similar errors: numbers,
-- hexadecimal ids, UUIDs and quoted texts.
CREATE OR REPLACE FUNCTION errand.error_pattern(error text) RETURNS text
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

-- A hash of that pattern, short enough to be typed.
CREATE OR REPLACE FUNCTION errand.fingerprint(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(errand.error_pattern(error)), 12)
$$;

CREATE OR REPLACE FUNCTION errand.set_fingerprint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.fingerprint := errand.fingerprint(coalesce(NEW.errors -> -1 ->> 'error', NEW.reason));
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER dead_jobs_fingerprint BEFORE INSERT ON errand.dead_jobs
    FOR EACH ROW EXECUTE FUNCTION errand.set_fingerprint();
