-- The lanes in which jobs come so fast that the feeder polls them, so that errand.wake() does not
-- notify of their jobs. The feeder writes it. After a crash of PostgreSQL it is empty: all lanes
-- have notices again.
CREATE UNLOGGED TABLE errand.polled_lanes (
    -- queue, kind and version of the arguments, with tabs between them
    lane text COLLATE "C" PRIMARY KEY
);

-- It has further arguments now.
DROP FUNCTION IF EXISTS errand.wake(text, timestamptz);
