-- Lanes: who serves their queues, and where their jobs are in the index.

-- The pattern of LIKE that matches what a pattern of queue names matches.
CREATE OR REPLACE FUNCTION errand.like_pattern(pattern text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT replace(regexp_replace(pattern, '([\\%_])', '\\\1', 'g'), '*', '%')
$$;

-- The name or pattern among those of a worker that serves a queue, as QueuePattern decides it in
-- Swift; null for none.
CREATE OR REPLACE FUNCTION errand.serving(queues jsonb, queue text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN queues ? queue THEN queue ELSE (
        SELECT key FROM jsonb_object_keys(queues) AS key
        WHERE strpos(key, '*') > 0 AND queue LIKE errand.like_pattern(key)
        ORDER BY octet_length(key) DESC, key COLLATE "C" LIMIT 1) END
$$;

-- The functions that read errand.jobs are SECURITY DEFINER for errand.queue_depth: autoscalers have
-- no right to read jobs. They are short, whatever the planner expects of an index full of entries
-- of finished jobs: compiling them would take longer.

-- The lanes that have jobs between pairs of lanes: after the first and before the second of each.
--
-- Each step reads the next lane from the index. It does not touch the entries of the given lanes,
-- which are many when a transaction of another session keeps those of finished jobs. For that, each
-- condition bounds a single column: a scan does not stop at the bound of several.
CREATE OR REPLACE FUNCTION errand.lanes_between(
    queues text[], kinds text[], versions smallint[],
    end_queues text[], end_kinds text[], end_versions smallint[]
) RETURNS TABLE (queue text, kind text, args_version smallint)
LANGUAGE sql STABLE ROWS 10 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    WITH RECURSIVE lane AS (
        SELECT g.queue COLLATE "C", g.kind COLLATE "C", g.version, g.end_queue COLLATE "C",
            g.end_kind COLLATE "C", g.end_version, false AS is_found
        FROM unnest($1, $2, $3, $4, $5, $6)
            AS g (queue, kind, version, end_queue, end_kind, end_version)
        UNION ALL
        SELECT next.queue, next.kind, next.args_version, l.end_queue, l.end_kind, l.end_version,
            true
        FROM lane l CROSS JOIN LATERAL (
            -- The same kind, the same queue, a queue between, and those of the end.
            (SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
             WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version > l.version
               AND ((l.queue, l.kind) < (l.end_queue, l.end_kind)
                OR j.args_version < l.end_version)
             ORDER BY j.args_version LIMIT 1)
            UNION ALL
            (SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
             WHERE j.queue = l.queue AND j.kind > l.kind
               AND j.kind < CASE WHEN l.queue = l.end_queue THEN l.end_kind ELSE E'\x7f' END
             ORDER BY j.kind, j.args_version LIMIT 1)
            UNION ALL
            (SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
             WHERE j.queue > l.queue AND j.queue < l.end_queue
             ORDER BY j.queue, j.kind, j.args_version LIMIT 1)
            UNION ALL
            (SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
             WHERE l.queue < l.end_queue AND j.queue = l.end_queue AND j.kind < l.end_kind
             ORDER BY j.kind, j.args_version LIMIT 1)
            UNION ALL
            (SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
             WHERE (l.queue, l.kind) < (l.end_queue, l.end_kind)
               AND j.queue = l.end_queue AND j.kind = l.end_kind
               AND j.args_version < l.end_version
             ORDER BY j.args_version LIMIT 1)
            LIMIT 1
        ) AS next
    )
    SELECT l.queue, l.kind, l.version FROM lane l WHERE l.is_found
$$;

-- The lanes that have jobs, and some that had a moment ago, with the start of each priority.
CREATE OR REPLACE VIEW errand.lanes AS
WITH known AS MATERIALIZED (
    SELECT DISTINCT s.queue, s.kind, s.args_version FROM errand.lane_starts s
), gap AS (
    SELECT array_agg(b.queue) AS queues, array_agg(b.kind) AS kinds,
        array_agg(b.args_version) AS versions, array_agg(b.end_queue) AS end_queues,
        array_agg(b.end_kind) AS end_kinds, array_agg(b.end_version) AS end_versions
    FROM (
        SELECT b.*, lead(b.queue, 1, E'\x7f') OVER place AS end_queue,
            lead(b.kind, 1, '') OVER place AS end_kind,
            lead(b.args_version, 1, 0::smallint) OVER place AS end_version
        FROM (
            SELECT '' COLLATE "C" AS queue, '' COLLATE "C" AS kind, 0::smallint AS args_version
            UNION ALL SELECT * FROM known
        ) b
        WINDOW place AS (ORDER BY b.queue, b.kind, b.args_version)
    ) b
)
SELECT l.queue COLLATE "C" AS queue, l.kind COLLATE "C" AS kind, l.args_version,
    p.priority::smallint AS priority, coalesce(s.run_at, '-infinity') AS run_at,
    coalesce(s.id, 0) AS id, coalesce(s.earlier, '{}') AS earlier
FROM (
    SELECT k.queue, k.kind, k.args_version FROM known k
    UNION ALL
    SELECT o.queue, o.kind, o.args_version FROM gap g CROSS JOIN LATERAL errand.lanes_between(
        g.queues, g.kinds, g.versions, g.end_queues, g.end_kinds, g.end_versions) AS o
) l
CROSS JOIN generate_series(0, 3) AS p (priority)
LEFT JOIN errand.lane_starts s ON s.queue = l.queue AND s.kind = l.kind
    AND s.args_version = l.args_version AND s.priority = p.priority;
COMMENT ON VIEW errand.lanes IS
    'The lanes that have jobs, and where the jobs of each priority start in the index.';

-- The first jobs of a row of errand.lanes, up to a number, and earlier ones that still run; only
-- those before a place, and only those that are not claimed if `waiting`.
CREATE OR REPLACE FUNCTION errand.lane_jobs(
    lane errand.lanes, up_to bigint, end_at timestamptz DEFAULT 'infinity',
    end_id bigint DEFAULT 9223372036854775807, waiting boolean DEFAULT false
) RETURNS TABLE (id bigint, run_at timestamptz, attempt smallint, claimed_by bigint)
LANGUAGE sql STABLE ROWS 100 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_bitmapscan = off AS $$
    (SELECT j.id, j.run_at, j.attempt, j.claimed_by FROM errand.jobs j
     WHERE j.queue = lane.queue AND j.kind = lane.kind AND j.args_version = lane.args_version
       AND j.priority = lane.priority AND (j.run_at, j.id) >= (lane.run_at, lane.id)
       AND (j.run_at, j.id) < (end_at, end_id) AND (j.claimed_by IS NULL OR NOT waiting)
     ORDER BY j.run_at, j.id LIMIT up_to)
    UNION ALL
    SELECT j.id, j.run_at, j.attempt, j.claimed_by FROM unnest(lane.earlier) AS e (id)
    -- OFFSET 0 has the job found by its id.
    CROSS JOIN LATERAL (SELECT * FROM errand.jobs j WHERE j.id = e.id OFFSET 0) AS j
    WHERE (j.queue, j.kind, j.args_version, j.priority)
        = (lane.queue, lane.kind, lane.args_version, lane.priority)
      AND (j.run_at, j.id) < (lane.run_at, lane.id) AND (j.run_at, j.id) < (end_at, end_id)
      AND (j.claimed_by IS NULL OR NOT waiting)
$$;
