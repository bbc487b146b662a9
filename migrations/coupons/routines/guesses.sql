-- Guessed codes, and the terminals that they lock.

-- The start of the five-minute period of a time.
CREATE OR REPLACE FUNCTION coupons.guess_period(at timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN date_bin('5 minutes', at, '2000-01-01Z');

-- Counts a guess, for the terminal before the establishment, to avoid deadlocks.
--
-- Wrong codes are counted per period of five minutes, for each terminal and for the establishment
-- (terminal ''). Their table is unlogged: after a crash the counts start at zero. A rollback also
-- rolls back the count, so tills call the functions outside of transactions.
CREATE OR REPLACE FUNCTION coupons.count_guess(establishment bigint, terminal text, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present CONSTANT timestamptz := coupons.guess_period(at);
    counted int;
BEGIN
    INSERT INTO coupons.guesses AS g VALUES (establishment, terminal, present, 1)
    ON CONFLICT ON CONSTRAINT guesses_pkey DO UPDATE
    SET count = CASE WHEN g.period = present THEN g.count + 1 ELSE 1 END, period = present;
    INSERT INTO coupons.guesses AS g VALUES (establishment, '', present, 1)
    ON CONFLICT ON CONSTRAINT guesses_pkey DO UPDATE
    SET count = CASE WHEN g.period = present THEN g.count + 1 ELSE 1 END, period = present
    RETURNING g.count INTO counted;
    IF counted = (SELECT l.alert FROM coupons.guess_limits l) THEN
        INSERT INTO coupons.alerts (establishment_id, terminal, guesses)
        VALUES (establishment, terminal, counted);
        PERFORM notification.emit('coupon.guessing', 'operator', jsonb_build_object(
            'establishment_id', establishment::text, 'terminal', terminal, 'guesses', counted),
            'guessing:' || establishment || ':' || extract(epoch FROM present)::bigint);
    END IF;
END $$;

-- The end of a terminal's lock for a series; null if it is not locked. (PL/pgSQL caches the plan.)
CREATE OR REPLACE FUNCTION coupons.locked_until(
    series text, establishment bigint, terminal text, at timestamptz
)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    present CONSTANT timestamptz := coupons.guess_period(at);
BEGIN
    PERFORM FROM coupons.guesses g CROSS JOIN coupons.guess_limits l
    WHERE g.establishment_id = establishment AND g.terminal IN ('', terminal)
      AND g.period = present AND (g.terminal <> '' OR series = 'typed')
      AND g.count >= CASE g.terminal WHEN '' THEN l.establishment ELSE l.terminal END;
    RETURN CASE WHEN FOUND THEN present + interval '5 minutes' END;
END $$;
