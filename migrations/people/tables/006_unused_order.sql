-- Since when apps report whom they see, in what portions rules run, and lists of people by state.

ALTER TABLE people.retention_rules
    -- The rows of one transaction; null for the usual number.
    ADD batch int CHECK (batch BETWEEN 1 AND 10000);
-- Each of their rows is a call of other modules.
UPDATE people.retention_rules SET batch = 50 WHERE name = 'people.unused';
UPDATE people.retention_rules SET batch = 1 WHERE name = 'people.unused_warned';

-- Since when apps have reported, without a gap, when they see people; no row while none does. Who
-- was last seen before is not unused: nobody looked.
CREATE TABLE people.seeing (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Without those who were warned already, which a long list of unused accounts would be full of.
CREATE INDEX people_idle ON people.people (last_seen_at)
    WHERE blocked_at IS NULL AND unused_warned_at IS NULL;
DROP INDEX people.people_seen;

CREATE INDEX people_blocked ON people.people (id)
    WHERE blocked_at IS NOT NULL AND erased_at IS NULL;
CREATE INDEX people_erased ON people.people (id) WHERE erased_at IS NOT NULL;

-- With other arguments and results, they are created again.
DROP FUNCTION IF EXISTS people.suppress(bigint[]);
DROP FUNCTION IF EXISTS people.addresses_in(text);
DROP FUNCTION IF EXISTS people.addresses_of(bigint);
DROP FUNCTION IF EXISTS people.sweep_log(people.job_sweeps);
