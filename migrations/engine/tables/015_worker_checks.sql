-- All workers, and the operators' commands, read what a worker writes of itself: a row that they
-- cannot read would stop them all.
DELETE FROM errand.workers
WHERE NOT lease_seconds BETWEEN 0 AND 31536000
   OR jsonb_typeof(queues) <> 'object' OR jsonb_typeof(load) <> 'object'
   OR array_ndims(kinds) > 1 OR EXISTS (SELECT FROM unnest(kinds) AS k WHERE k IS NULL)
   OR array_ndims(roles) > 1 OR EXISTS (SELECT FROM unnest(roles) AS r WHERE r IS NULL)
   OR array_ndims(running) > 1 OR EXISTS (SELECT FROM unnest(running) AS r WHERE r IS NULL);

ALTER TABLE errand.workers
    -- NaN, which PostgreSQL sorts last, is not between.
    ADD CHECK (lease_seconds BETWEEN 0 AND 31536000),
    ADD CHECK (jsonb_typeof(queues) = 'object'),
    ADD CHECK (jsonb_typeof(load) = 'object'),
    ADD CHECK (coalesce(array_ndims(kinds), 1) = 1 AND array_position(kinds, NULL) IS NULL),
    ADD CHECK (coalesce(array_ndims(roles), 1) = 1 AND array_position(roles, NULL) IS NULL),
    ADD CHECK (coalesce(array_ndims(running), 1) = 1 AND array_position(running, NULL) IS NULL);

-- It is called errand.early_deaths() now.
DROP FUNCTION IF EXISTS errand.young_deaths(jsonb, int);
