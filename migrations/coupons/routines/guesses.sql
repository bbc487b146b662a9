-- Guessed codes, and terminals that are locked for them.

-- The period of five minutes that a time is in.
CREATE OR REPLACE FUNCTION coupons.guess_period(at timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN date_bin('5 minutes', at, '2000-01-01Z');

-- Takes note of a guess; the terminal before its establishment, so that none waits in a circle.
--
-- Failed guesses count in periods of five minutes: a few for each terminal, more for all of an
-- establishment (terminal ''). Their table is unlogged: after a crash the counts begin at none.
-- Rolling back the transaction of a guess rolls back its count: tills ask outside of transactions.
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

-- Until when a terminal may not ask by a series; null when it may. (PL/pgSQL keeps the plan from
-- call to call.)
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
