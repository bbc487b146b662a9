CREATE OR REPLACE FUNCTION household.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'household.% is kept: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON household.shares
    FOR EACH STATEMENT EXECUTE FUNCTION household.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON household.bills
    FOR EACH STATEMENT EXECUTE FUNCTION household.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON household.payments
    FOR EACH STATEMENT EXECUTE FUNCTION household.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON household.members
    FOR EACH STATEMENT EXECUTE FUNCTION household.refuse_change();

-- Zones that need the ends of this month and the next ones; a job writes them with
-- household.set_month_end().
CREATE OR REPLACE FUNCTION household.zones_to_plan(until timestamptz)
RETURNS TABLE (time_zone text, planned_to date) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    -- One step of the index a zone, however many groups it has.
    WITH RECURSIVE zones AS (
        (SELECT g.time_zone FROM household.groups g ORDER BY g.time_zone LIMIT 1)
        UNION ALL
        SELECT (SELECT g.time_zone FROM household.groups g WHERE g.time_zone > z.time_zone
            ORDER BY g.time_zone LIMIT 1)
        FROM zones z WHERE z.time_zone IS NOT NULL
    )
    SELECT z.time_zone, max(e.on_day) FROM zones z
    LEFT JOIN household.month_ends e USING (time_zone)
    WHERE z.time_zone IS NOT NULL
    GROUP BY z.time_zone HAVING coalesce(max(e.at) <= until, true) ORDER BY z.time_zone;
END $$;

-- Records the time of the notices about balances in a zone; a month that was notified stays as
-- it is.
CREATE OR REPLACE FUNCTION household.set_month_end(time_zone text, on_day date, at timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO household.month_ends AS e (time_zone, on_day, at) VALUES (time_zone, on_day, at)
    ON CONFLICT ON CONSTRAINT month_ends_pkey DO UPDATE SET at = excluded.at
    WHERE e.notified_at IS NULL AND e.at <> excluded.at;
END $$;

-- Whether there is a side of this id; the ledger asks it before it opens an account.
CREATE OR REPLACE FUNCTION household.is_side(side bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM household.sides s WHERE s.id = side)
$$;
