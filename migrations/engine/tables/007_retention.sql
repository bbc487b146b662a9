-- What is kept for how long: 'errand db retention' lists it.

-- The longest retention that has a partition for each day. A job that is kept longer is in
-- finished_jobs_long: ten years of daily partitions would make every search slow. The feeder raises
-- it to the longest retention of the declared kinds, up to 31.
ALTER TABLE errand.instance ADD COLUMN daily_days smallint NOT NULL DEFAULT 8
    CHECK (daily_days BETWEEN 8 AND 31);

-- Set for jobs in finished_jobs_long only: the day after which they are deleted.
ALTER TABLE errand.finished_jobs ADD COLUMN long_until date;
CREATE TABLE errand.finished_jobs_long PARTITION OF errand.finished_jobs
    FOR VALUES FROM ('9000-01-01') TO ('9999-01-01');
CREATE INDEX finished_jobs_long_until ON errand.finished_jobs_long (long_until);
CREATE INDEX finished_jobs_other_until ON errand.finished_jobs_other (keep_until);

-- When a queue or kind was last in use, to the day.
ALTER TABLE errand.queues ADD COLUMN seen_at timestamptz NOT NULL DEFAULT clock_timestamp();
ALTER TABLE errand.kinds
    ADD COLUMN seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN retention_days smallint NOT NULL DEFAULT 7 CHECK (retention_days >= 0);

-- For their retention.
CREATE INDEX operations_ended ON errand.operations (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX audit_at ON errand.audit (at);

-- Replaced by functions that take one day each.
DROP FUNCTION IF EXISTS errand.prepare_finished_partitions(date, int);
DROP FUNCTION IF EXISTS errand.drop_expired_partitions(date);
