-- Where the jobs of a lane and priority start: no other live job is before (run_at, id), and none
-- can appear there. The feeder moves it as jobs finish.
--
-- While a transaction of another session holds a snapshot, the entries of finished jobs stay in the
-- index. A reader that begins here does not pass them.
CREATE TABLE errand.lane_starts (
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    args_version smallint NOT NULL,
    priority smallint NOT NULL,
    run_at timestamptz NOT NULL,
    id bigint NOT NULL,
    -- The live jobs before it: they run for long.
    earlier bigint[] NOT NULL,
    PRIMARY KEY (queue, kind, args_version, priority)
) WITH (fillfactor = 50);
