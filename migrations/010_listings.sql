-- What listings look for. Each index holds only the rows that have the thing, so that a job
-- without it pays for nothing; none names a column that a claim changes.

-- In the order of ids, as listings go through them.
CREATE INDEX jobs_key ON errand.jobs (unique_key, id) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_tagged ON errand.jobs (id) WHERE tags IS NOT NULL;
CREATE INDEX jobs_failed ON errand.jobs (id) WHERE errors IS NOT NULL;

CREATE INDEX finished_jobs_key ON errand.finished_jobs (unique_key, id)
    WHERE unique_key IS NOT NULL;
CREATE INDEX finished_jobs_tagged ON errand.finished_jobs (id) WHERE tags IS NOT NULL;
-- What was given up without an error has a reason.
CREATE INDEX finished_jobs_failed ON errand.finished_jobs (id)
    WHERE errors IS NOT NULL OR reason IS NOT NULL;
