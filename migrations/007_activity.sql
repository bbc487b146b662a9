-- What the workers did, minute by minute: rates and percentiles are read from here, at the same
-- cost however long the history is.

-- Each worker writes rows of its own alone, the same one again with every heartbeat of its minute.
-- After an hour what all workers did within ten minutes is put together in a row of worker 0.
-- A histogram is two arrays side by side: the numbers of the buckets that are not empty, and what
-- is in each. Bucket 0 ends at 100 µs, each further one is wider by a quarter of a doubling.
CREATE TABLE errand.activity (
    minute timestamptz NOT NULL,
    worker bigint NOT NULL,
    -- First attempts that began.
    started int NOT NULL DEFAULT 0,
    completed int NOT NULL DEFAULT 0,
    -- Attempts that failed and are to be made again.
    retried int NOT NULL DEFAULT 0,
    dead int NOT NULL DEFAULT 0,
    cancelled int NOT NULL DEFAULT 0,
    snoozed int NOT NULL DEFAULT 0,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- From the time that a job was due to the start of its attempt.
    wait_buckets smallint[] NOT NULL DEFAULT '{}',
    wait_counts int[] NOT NULL DEFAULT '{}',
    -- From the start of an attempt to its end.
    run_buckets smallint[] NOT NULL DEFAULT '{}',
    run_counts int[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (minute, worker, queue, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
