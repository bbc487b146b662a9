-- What a worker declares and what it reports are apart: `queues` is written once, at its
-- registration, and `load` with each heartbeat.
--
-- queues  {"name or pattern": {"concurrency": n, "weight": n}}
-- load    {"queue": {"busy": n, "waiting": n, "finished": n, "failed": n, "rate": n}}, only of
--         queues that have jobs or finished some lately
ALTER TABLE errand.workers ADD COLUMN load jsonb NOT NULL DEFAULT '{}';
