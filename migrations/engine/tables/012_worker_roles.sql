-- The roles for which it is a candidate.
ALTER TABLE errand.workers ADD COLUMN roles text[] NOT NULL DEFAULT '{}';
