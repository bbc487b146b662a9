-- Guessed codes, and what they lock.
--
-- A typed code has 20 secret bits, so wrong ones are counted per period of five minutes: for the
-- coupon, its establishment, the establishment of the till, the terminal, and everywhere. From the
-- limits of coupons.guess_limits on, typed codes are refused. Scanned codes have 80 secret bits,
-- which nobody guesses: they are never refused, so that one till cannot stop the others.
--
-- The caller receives the answer before it decides whether the transaction commits. The counters
-- are therefore sequences, which a rollback does not undo. Keyed hashes choose them: a coupon and
-- an establishment have two counters each, and reach a limit only if both do. The caller makes up
-- the names of terminals, so only terminals with a recent redemption have a counter; the others
-- share the limits of their establishment and of all establishments.

-- The start of the five-minute period of a time.
CREATE OR REPLACE FUNCTION coupons.guess_period(at timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN date_bin('5 minutes', at, '2000-01-01Z');

-- The number of that period since 2000: 23 bits until 2079. (Stable, as extract() is: the planner
-- would not inline it otherwise.)
CREATE OR REPLACE FUNCTION coupons.period_number(at timestamptz)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (floor(extract(epoch FROM at))::bigint - 946684800) / 300;

-- The value of a counter: the period (23 bits), a tag (20 bits) and the count (20 bits).
CREATE OR REPLACE FUNCTION coupons.counter_value(counter bigint)
RETURNS bigint LANGUAGE sql
RETURN coalesce(pg_sequence_last_value(('coupons.guess_counter_' || counter::text)::regclass), 0);

-- The count of a counter in a period; also that of a later period, which another caller may have
-- started since this caller read the clock. A caller that lets its connection stall does not set a
-- counter back.
CREATE OR REPLACE FUNCTION coupons.guesses_in(counter bigint, period bigint)
RETURNS bigint LANGUAGE sql
RETURN CASE WHEN coupons.counter_value(counter) >> 40 >= period
    THEN coupons.counter_value(counter) & 1048575 ELSE 0 END;

-- Counts in a counter; starts again in a new period, with the tag. Two callers that start a period
-- at the same moment may count as one.
CREATE OR REPLACE FUNCTION coupons.count_in(counter bigint, tag bigint, period bigint)
RETURNS bigint LANGUAGE sql
RETURN CASE WHEN coupons.counter_value(counter) >> 40 >= period
    THEN nextval(('coupons.guess_counter_' || counter::text)::regclass)
    ELSE setval(('coupons.guess_counter_' || counter::text)::regclass,
        (period << 40) | (tag << 20) | 1) END;

-- The counters: 0 counts all guesses, 225 those of them that the others count, too. Each hash is
-- hashint8extended(id, seed).
CREATE OR REPLACE FUNCTION coupons.coupon_counter(hash bigint, which int)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + 64 * which + (hash >> 6 * which & 63);

CREATE OR REPLACE FUNCTION coupons.establishment_counter(hash bigint, which int)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 129 + 32 * which + (hash >> 5 * which & 31);

-- Terminals of an establishment share a counter only if there are more than 32.
CREATE OR REPLACE FUNCTION coupons.terminal_counter(hash bigint, number int)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 193 + ((hash >> 10) + number & 31);

-- The guesses of a coupon or an establishment in a period: the lower count of its two counters.
CREATE OR REPLACE FUNCTION coupons.coupon_guesses(hash bigint, period bigint)
RETURNS bigint LANGUAGE sql
RETURN least(coupons.guesses_in(coupons.coupon_counter(hash, 0), period),
    coupons.guesses_in(coupons.coupon_counter(hash, 1), period));

CREATE OR REPLACE FUNCTION coupons.establishment_guesses(hash bigint, period bigint)
RETURNS bigint LANGUAGE sql
RETURN least(coupons.guesses_in(coupons.establishment_counter(hash, 0), period),
    coupons.guesses_in(coupons.establishment_counter(hash, 1), period));

-- Counts a guess for an establishment, whose id is the tag.
CREATE OR REPLACE FUNCTION coupons.count_establishment(hash bigint, id bigint, period bigint)
RETURNS bigint LANGUAGE sql
RETURN coupons.count_in(coupons.establishment_counter(hash, 0), id & 1048575, period)
    | coupons.count_in(coupons.establishment_counter(hash, 1), id & 1048575, period);

-- Counts a typed guess for the coupon, for the establishment of the till, for the coupon's own, and
-- for the terminal if it has a number.
CREATE OR REPLACE FUNCTION coupons.count_guess(
    coupon_hash bigint, own_hash bigint, own bigint, till_hash bigint, establishment bigint,
    number int, period bigint
) RETURNS bigint LANGUAGE sql
RETURN coupons.count_in(coupons.coupon_counter(coupon_hash, 0), 0, period)
    | coupons.count_in(coupons.coupon_counter(coupon_hash, 1), 0, period)
    | coupons.count_establishment(till_hash, establishment, period)
    | CASE WHEN own <> establishment
        THEN coupons.count_establishment(own_hash, own, period) ELSE 0 END
    | CASE WHEN number IS NOT NULL
        THEN coupons.count_in(coupons.terminal_counter(till_hash, number), 0, period) ELSE 0 END;

-- Records an alert, once for an establishment and period, and notifies the operator. key
-- distinguishes who raises it: a transaction that never ends blocks nobody else.
CREATE OR REPLACE FUNCTION coupons.raise_alert(
    establishment bigint, terminal text, guesses int, at timestamptz, key text
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present CONSTANT timestamptz := coupons.guess_period(at);
BEGIN
    IF EXISTS (SELECT FROM coupons.alerts a WHERE a.establishment_id = establishment
        AND a.at >= present AND a.at < present + interval '5 minutes') THEN
        RETURN false;
    END IF;
    INSERT INTO coupons.alerts (at, establishment_id, terminal, guesses)
    VALUES (at, establishment, terminal, guesses);
    PERFORM notification.emit('coupon.guessing', 'operator', jsonb_build_object(
        'establishment_id', establishment::text, 'terminal', terminal, 'guesses', guesses),
        -- Two that are raised at once are two events.
        key || ':' || establishment || ':' || extract(epoch FROM present)::bigint || ':' || guesses
            || ':' || md5(coalesce(terminal, '')));
    RETURN true;
END $$;

-- Records a guess of the transaction, and raises the alert of its establishment. Scanned codes are
-- recorded up to the alert.
CREATE OR REPLACE FUNCTION coupons.record_guess(
    establishment bigint, terminal text, at timestamptz, is_typed boolean
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present CONSTANT timestamptz := coupons.guess_period(at);
    alert CONSTANT int := (SELECT l.alert FROM coupons.guess_limits l);
    recorded int;
BEGIN
    recorded := (SELECT count(*) FROM (SELECT FROM coupons.guesses g
        WHERE g.establishment_id = establishment AND g.at >= present
          AND g.at < present + interval '5 minutes' LIMIT alert) AS first);
    IF is_typed OR recorded < alert THEN
        INSERT INTO coupons.guesses VALUES (establishment, terminal, at, is_typed);
        recorded := recorded + 1;
    END IF;
    IF recorded >= alert THEN
        PERFORM coupons.raise_alert(
            establishment, nullif(terminal, ''), alert, at, 'guessing');
    END IF;
END $$;

-- Raises the alerts of guesses that were rolled back, and returns their number; workers call it
-- twice a minute. It reads the counters of the period, and those that still have the one before.
CREATE OR REPLACE FUNCTION coupons.raise_alerts(at timestamptz DEFAULT clock_timestamp())
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    period CONSTANT bigint := coupons.period_number(at);
    limits coupons.guess_limits;
    of record;
    since timestamptz;
    recorded int;
    raised int := 0;
BEGIN
    SELECT * INTO limits FROM coupons.guess_limits;
    FOR of IN
        SELECT e.id, found.period, hashint8extended(e.id, k.seed) AS hash,
            coupons.establishment_guesses(hashint8extended(e.id, k.seed), found.period) AS guesses
        FROM (
            SELECT DISTINCT c.value >> 40 AS period, c.value >> 20 & 1048575 AS tag
            FROM generate_series(129::bigint, 192) AS n (counter)
            CROSS JOIN LATERAL (SELECT coupons.counter_value(n.counter) OFFSET 0) AS c (value)
            WHERE c.value >> 40 BETWEEN period - 1 AND period + 1
              AND c.value & 1048575 >= least(limits.terminal, limits.alert)
        ) AS found
        JOIN establishments.establishments e ON e.id & 1048575 = found.tag
        CROSS JOIN coupons.scramble k
        ORDER BY e.id, found.period
    LOOP
        since := '2000-01-01Z'::timestamptz + of.period * interval '5 minutes';
        recorded := (SELECT count(*) FROM coupons.guesses g WHERE g.establishment_id = of.id
            AND g.is_typed AND g.at >= since AND g.at < since + interval '5 minutes');
        IF of.guesses >= limits.alert OR of.guesses - recorded >= limits.terminal THEN
            raised := raised + coupons.raise_alert(of.id,
                (SELECT t.terminal FROM coupons.terminals t
                 WHERE t.establishment_id = of.id AND limits.terminal <= coupons.guesses_in(
                     coupons.terminal_counter(of.hash, t.number), of.period)
                 ORDER BY t.redeemed_at DESC LIMIT 1),
                of.guesses::int, greatest(since, least(at, since + interval '299 seconds')),
                'guessing:rolled-back')::int;
        END IF;
    END LOOP;
    RETURN raised;
END $$;
