-- Wrong codes, counted so that no rollback undoes it.
--
-- The column accounts.codes.tries counts those of committed transactions. A program that raises an
-- error for a wrong code, or that calls in a subtransaction, rolls that back, and could then guess
-- without end. Therefore 128 sequences count, too. A sequence counts for one code at a time: its
-- value is the id of the code and the count (8 bits). A code has two sequences to choose from. It
-- leaves one to another code when nothing is lost: when its row counts as much, or it has ended.
--
-- While both are taken by codes whose tries were rolled back, a wrong try of the code could not be
-- counted: it is refused as locked, and a new code has two other sequences. This happens only while
-- some program rolls back the wrong codes of many people in ten minutes; the doctor reports it.

-- A sequence of a code.
CREATE OR REPLACE FUNCTION accounts.tries_slot(code bigint, which int)
RETURNS regclass LANGUAGE sql STABLE
RETURN ('accounts.tries_' || ((hashint8extended(code, 0) + which * (1 + 2 *
    (hashint8extended(code, 1) & 31))) & 127)::text)::regclass;

-- The value of a sequence; 0 if nothing was counted.
CREATE OR REPLACE FUNCTION accounts.tries_value(slot regclass)
RETURNS bigint LANGUAGE sql
RETURN coalesce(pg_sequence_last_value(slot), 0);

-- Whether a sequence may count for another code: nothing is lost.
CREATE OR REPLACE FUNCTION accounts.is_free(value bigint, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE
RETURN NOT EXISTS (SELECT FROM accounts.codes c WHERE c.id = value >> 8 AND c.ended_at IS NULL
    AND c.expires_at > at AND c.tries < (value & 255));

-- The number of wrong tries of a code, those of rolled-back transactions included; null if no
-- sequence can count another one.
--   committed   those in its row
CREATE OR REPLACE FUNCTION accounts.tries_of(code bigint, committed int, at timestamptz)
RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    first CONSTANT bigint := accounts.tries_value(accounts.tries_slot(code, 0));
    second CONSTANT bigint := accounts.tries_value(accounts.tries_slot(code, 1));
BEGIN
    IF code IN (first >> 8, second >> 8) THEN
        RETURN greatest(committed,
            CASE WHEN first >> 8 = code THEN (first & 255)::int ELSE 0 END,
            CASE WHEN second >> 8 = code THEN (second & 255)::int ELSE 0 END);
    END IF;
    RETURN CASE WHEN accounts.is_free(first, at) OR accounts.is_free(second, at)
        THEN committed END;
END $$;

-- Counts a wrong try of a code whose row is locked.
--   tries   those before, by accounts.tries_of()
CREATE OR REPLACE FUNCTION accounts.count_try(code bigint, tries int, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    slots CONSTANT regclass[] := ARRAY[
        accounts.tries_slot(code, 0), accounts.tries_slot(code, 1)];
BEGIN
    FOR which IN 1..2 LOOP
        IF accounts.tries_value(slots[which]) >> 8 = code THEN
            PERFORM nextval(slots[which]);
            RETURN;
        END IF;
    END LOOP;
    FOR which IN 1..2 LOOP
        IF accounts.is_free(accounts.tries_value(slots[which]), at) OR which = 2 THEN
            PERFORM setval(slots[which], code << 8 | tries + 1);
            RETURN;
        END IF;
    END LOOP;
END $$;

-- The wrong tries of a code for listings, whose logins read no sequence.
CREATE OR REPLACE FUNCTION accounts.tries_in(code bigint) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(accounts.tries_of(c.id, c.tries, clock_timestamp()), c.tries)
        FROM accounts.codes c WHERE c.id = code);
END $$;

-- The number of codes with wrong tries that were rolled back, for the doctor.
CREATE OR REPLACE FUNCTION accounts.rolled_back() RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN (SELECT count(*) FROM (
            SELECT accounts.tries_value(('accounts.tries_' || slot)::regclass) AS value
            FROM generate_series(0, 127) AS slot OFFSET 0) AS s
        WHERE s.value > 0 AND NOT accounts.is_free(s.value, at));
END $$;
