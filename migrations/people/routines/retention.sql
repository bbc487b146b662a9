-- How long rows of people are kept: the rules of all modules, run every night in batches.

-- Deletes one batch of a rule's rows, which the caller commits alone, or counts them. Returns how
-- many; fewer than max_rows means that none is left.
CREATE OR REPLACE FUNCTION people.run_rule(
    rule text, max_rows int DEFAULT 10000, only_count boolean DEFAULT false,
    at timestamptz DEFAULT now()
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    r people.retention_rules;
    rows bigint;
BEGIN
    PERFORM errand.expect(max_rows BETWEEN 1 AND 1000000,
        'run_rule: max_rows: expected 1 to 1000000');
    SELECT * INTO r FROM people.retention_rules q WHERE q.name = rule;
    PERFORM errand.expect(FOUND, format('no rule of retention has the name %s', rule));
    EXECUTE format('SELECT %I.%I($1, $2, $3)', r.module, r.routine)
    -- Workers may call it: a later time would delete what is to be kept.
    INTO rows USING least(at, clock_timestamp()) - r.keep, max_rows, only_count;
    RETURN coalesce(rows, 0);
END $$;

-- Notes the start of a rule's run, the rows of a batch, or its end.
CREATE OR REPLACE FUNCTION people.note_run(
    rule text, has_started boolean, rows bigint, has_ended boolean, sqlstate_code text DEFAULT NULL
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO people.retention_runs AS r (rule, started_at, ended_at, rows, total, failure)
    VALUES (rule, clock_timestamp(), CASE WHEN has_ended THEN clock_timestamp() END, rows, rows,
        sqlstate_code)
    ON CONFLICT ON CONSTRAINT retention_runs_pkey DO UPDATE SET
        started_at = CASE WHEN has_started THEN excluded.started_at ELSE r.started_at END,
        ended_at = excluded.ended_at,
        rows = CASE WHEN has_started THEN 0 ELSE r.rows END + excluded.rows,
        total = r.total + excluded.rows, failure = excluded.failure
$$;

-- ---- Unused accounts ------------------------------------------------------------------------

-- Whether an app reports when people are seen; else nobody counts as unused.
CREATE OR REPLACE FUNCTION people.sees_people() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM people.people p
        WHERE p.last_seen_at > clock_timestamp() - interval '7 days' AND p.blocked_at IS NULL
          AND p.unused_warned_at IS NULL AND p.last_seen_at > p.created_at)
$$;

-- Notes that people who were not seen since a time are notified, by the modules that registered for
-- it; they are erased later unless they come back. The nightly run also notes since when apps
-- report whom they see: before that time nobody was seen, even who used an app.
CREATE OR REPLACE FUNCTION people.warn_unused(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    is_seeing CONSTANT boolean := people.sees_people();
    person bigint;
    notifier people.unused_notifiers;
    notified bigint := 0;
    failure text;
    erased_at CONSTANT timestamptz := clock_timestamp() + (
        SELECT r.keep FROM people.retention_rules r WHERE r.name = 'people.unused_warned');
BEGIN
    IF NOT only_count THEN
        IF is_seeing THEN
            INSERT INTO people.seeing DEFAULT VALUES ON CONFLICT DO NOTHING;
        ELSE
            DELETE FROM people.seeing;
        END IF;
    END IF;
    -- Nobody is erased without a notice.
    IF NOT is_seeing OR NOT EXISTS (SELECT FROM people.seeing s WHERE s.since < before)
        OR NOT EXISTS (SELECT FROM people.unused_notifiers)
    THEN
        RETURN 0;
    END IF;
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM people.people p
            WHERE p.last_seen_at < before AND p.blocked_at IS NULL AND p.unused_warned_at IS NULL
            LIMIT max_rows) AS x);
    END IF;
    FOR person IN
        SELECT p.id FROM people.people p
        WHERE p.last_seen_at < before AND p.blocked_at IS NULL AND p.unused_warned_at IS NULL
        -- Twice as many: those who cannot be notified do not stand before the others.
        ORDER BY p.last_seen_at LIMIT 2 * max_rows FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        BEGIN
            FOR notifier IN SELECT * FROM people.unused_notifiers u ORDER BY u.module LOOP
                EXECUTE format('SELECT %I.%I($1, $2)', notifier.module, notifier.routine)
                USING person, erased_at;
            END LOOP;
            UPDATE people.people p SET unused_warned_at = clock_timestamp() WHERE p.id = person;
            notified := notified + 1;
        EXCEPTION WHEN OTHERS THEN
            failure := SQLSTATE;
        END;
        EXIT WHEN notified = max_rows;
    END LOOP;
    IF notified = 0 AND failure IS NOT NULL THEN
        -- Without the text, which may name anything.
        RAISE EXCEPTION 'nobody of those who are left could be notified' USING ERRCODE = failure;
    END IF;
    RETURN notified;
END $$;

-- Requests the erasure of people who were notified before a time, and were not seen since. It
-- starts days later, so that an operator can object.
CREATE OR REPLACE FUNCTION people.erase_unused(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    idle bigint[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM people.people p WHERE p.unused_warned_at < before AND p.blocked_at IS NULL
            LIMIT max_rows) AS x);
    END IF;
    -- Locked: who has just come back is no longer among them.
    SELECT coalesce(array_agg(u.id), '{}') INTO idle FROM (
        SELECT p.id FROM people.people p
        WHERE p.unused_warned_at < before AND p.blocked_at IS NULL
        ORDER BY p.unused_warned_at LIMIT max_rows FOR NO KEY UPDATE SKIP LOCKED
    ) AS u;
    PERFORM people.open_erasure(id, 'unused', starts_in => '3 days') FROM unnest(idle) AS id
    ORDER BY id;
    RETURN cardinality(idle);
END $$;
