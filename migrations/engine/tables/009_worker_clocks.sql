-- By how many seconds the clock of the worker's machine is ahead of the database's, at its last
-- heartbeat; null before its second one.
ALTER TABLE errand.workers ADD COLUMN clock_ahead_seconds double precision;
