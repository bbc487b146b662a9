-- Chores and time zones that no job can plan.

-- Finds chores whose next occurrence nobody finds out any more, because the job has died or was
-- cancelled, and says so to those who live there; returns how many.
CREATE OR REPLACE FUNCTION household.fail_unplanned(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    lost record;
    failed bigint := 0;
BEGIN
    FOR lost IN
        -- The longest under way: of many at once, those behind them come soon enough.
        SELECT c.id, c.plan FROM household.chores c WHERE c.id IN (
            SELECT w.id FROM (SELECT p.id, p.plan_job FROM household.chores p
                -- Those of a zone that cannot be used wait for it, and for nothing else.
                WHERE p.plan_job IS NOT NULL AND NOT EXISTS (SELECT FROM household.groups g
                    JOIN household.zones z ON z.time_zone = g.time_zone
                    WHERE g.id = p.group_id AND z.fault IS NOT NULL)
                ORDER BY p.plan_job LIMIT 1000) w
            WHERE NOT EXISTS (SELECT FROM errand.jobs j WHERE j.id = w.plan_job) LIMIT max_rows)
        ORDER BY c.id FOR NO KEY UPDATE OF c SKIP LOCKED
    LOOP
        failed := failed + household.fail_chore(lost.id, lost.plan,
            'Its next day could not be computed: change it, or wait for a fixed time zone.')::int;
    END LOOP;
    RETURN failed;
END $$;

-- Writes down why the rules of a zone cannot be read. False when that was known.
CREATE OR REPLACE FUNCTION household.fail_zone(time_zone text, fault text, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO household.zones AS z (time_zone, fault, faulty_since)
    VALUES (time_zone, left(fault, 500), at)
    ON CONFLICT ON CONSTRAINT zones_pkey DO UPDATE
    SET fault = excluded.fault, faulty_since = coalesce(z.faulty_since, at)
    WHERE z.fault IS DISTINCT FROM excluded.fault;
    RETURN FOUND;
END $$;

-- Writes down what the rules of a zone are, which can be read; whether times have to be computed
-- again by them: those of groups whose times were computed by others.
CREATE OR REPLACE FUNCTION household.set_zone(time_zone text, rules text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    was household.zones;
BEGIN
    SELECT * INTO was FROM household.zones z WHERE z.time_zone = time_zone FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO household.zones (time_zone, rules) VALUES (time_zone, rules)
        ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    IF was.fault IS NOT NULL OR was.rules IS DISTINCT FROM rules THEN
        UPDATE household.zones z SET rules = rules, fault = NULL, faulty_since = NULL,
            is_outdated = z.is_outdated OR coalesce(z.rules <> rules, false)
        WHERE z.time_zone = time_zone RETURNING z.is_outdated INTO was.is_outdated;
    END IF;
    IF was.fault IS NOT NULL THEN
        -- What was asked for meanwhile.
        PERFORM household.replan(c.id)
        FROM household.groups g JOIN household.chores c ON c.group_id = g.id
        WHERE g.time_zone = time_zone AND c.plan_job IS NOT NULL AND NOT c.is_removed;
    END IF;
    RETURN was.is_outdated;
END $$;
