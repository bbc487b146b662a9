-- Who holds a role or a bulk operation: a session of the database, by its process id and start.

ALTER TABLE errand.leaders
    ADD COLUMN backend_started timestamptz NOT NULL DEFAULT '-infinity';

-- A scheduler outside a worker leads schedules, never the feeding.
ALTER TABLE errand.leaders ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON errand.leaders FOR SELECT USING (true);
CREATE POLICY workers ON errand.leaders TO errand_worker USING (true);
CREATE POLICY schedulers ON errand.leaders TO errand_scheduler USING (role = 'scheduler');

ALTER TABLE errand.operations
    ADD COLUMN backend int,
    ADD COLUMN backend_started timestamptz;
