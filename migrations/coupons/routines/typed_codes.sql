-- Typed codes at the till: what their guesses lock, and how they are counted.

-- What chooses the counters of a typed code: the hashes of the coupon's handle, of its own
-- establishment (the till's, if there is no such coupon) and of the till's, and the number of a
-- terminal with a recent redemption.
CREATE OR REPLACE FUNCTION coupons.guess_hashes(
    handle bigint, own bigint, establishment bigint, terminal text, at timestamptz,
    OUT coupon_hash bigint, OUT own_hash bigint, OUT till_hash bigint, OUT number int
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    SELECT hashint8extended(handle, k.seed),
        hashint8extended(coalesce(own, establishment), k.seed),
        hashint8extended(establishment, k.seed), t.number
    INTO coupon_hash, own_hash, till_hash, number
    FROM coupons.scramble k
    LEFT JOIN coupons.terminals t ON t.establishment_id = establishment
        AND t.terminal = terminal AND t.redeemed_at > at - interval '30 days';
END $$;

-- Whether a typed code may be checked: the guesses of the period do not lock its coupon; nor the
-- terminal, if it has redeemed a coupon recently; nor, for any other terminal, its establishment,
-- all establishments, or its name.
CREATE OR REPLACE FUNCTION coupons.admits_typed_code(
    handle bigint, own bigint, establishment bigint, terminal text, at timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    period CONSTANT bigint := coupons.period_number(at);
    everywhere CONSTANT bigint := coupons.guesses_in(0, period);
    limits coupons.guess_limits;
    of record;
    counted bigint;
BEGIN
    -- There only wrong codes would fail, because they are counted.
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'typed codes cannot be checked in a read-only transaction'
            USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    -- The first typed code of the period.
    IF coupons.counter_value(0) >> 40 < period THEN
        counted := setval('coupons.guess_counter_0', period << 40);
        RETURN true;
    END IF;
    SELECT * INTO limits FROM coupons.guess_limits;
    IF everywhere < least(limits.coupon, limits.terminal, limits.establishment, limits.everywhere)
    THEN
        RETURN true;
    END IF;
    of := coupons.guess_hashes(handle, own, establishment, terminal, at);
    -- A guess of a coupon counts for its establishment, too: two more counters to agree.
    IF coupons.coupon_guesses(of.coupon_hash, period) >= limits.coupon
        AND coupons.establishment_guesses(of.own_hash, period) >= limits.coupon THEN
        RETURN false;
    END IF;
    IF of.number IS NULL THEN
        IF everywhere >= limits.everywhere
            OR coupons.establishment_guesses(of.till_hash, period) >= limits.establishment
            OR limits.terminal <= (SELECT count(*) FROM coupons.guesses g
                WHERE g.establishment_id = establishment AND g.terminal = terminal AND g.is_typed
                  AND g.at >= coupons.guess_period(at)
                  AND g.at < coupons.guess_period(at) + interval '5 minutes') THEN
            RETURN false;
        END IF;
    ELSIF coupons.guesses_in(coupons.terminal_counter(of.till_hash, of.number), period)
            >= limits.terminal
        AND coupons.establishment_guesses(of.till_hash, period) >= limits.terminal THEN
        RETURN false;
    END IF;
    -- Somebody interrupts guesses before they are counted: until the period is over, every code is
    -- counted before it is checked, right ones too.
    IF everywhere - coupons.guesses_in(225, period) >= limits.terminal THEN
        counted := coupons.count_guess(of.coupon_hash, of.own_hash, own, of.till_hash,
            establishment, of.number, period);
    END IF;
    RETURN true;
END $$;

-- Counts and records a wrong typed code, for the establishment of the till and the coupon's own;
-- coupons.typed_answer() has counted it everywhere.
CREATE OR REPLACE FUNCTION coupons.count_typed_guess(
    handle bigint, own bigint, establishment bigint, terminal text, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    period CONSTANT bigint := coupons.period_number(at);
    of record;
    counted bigint;
BEGIN
    of := coupons.guess_hashes(handle, own, establishment, terminal, at);
    counted := coupons.count_guess(of.coupon_hash, of.own_hash, own, of.till_hash, establishment,
        of.number, period) | coupons.count_in(225, 0, period);
    PERFORM coupons.record_guess(establishment, terminal, at, true);
    IF own <> establishment THEN
        PERFORM coupons.record_guess(own, '', at, true);
    END IF;
END $$;

-- Whether no later epoch of a series has started.
CREATE OR REPLACE FUNCTION coupons.is_latest(series text, starts_at timestamptz, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM coupons.epochs n WHERE n.series = is_latest.series
        AND n.starts_at > is_latest.starts_at AND n.starts_at <= at);
END $$;

-- The answer to a typed code whose secret is open; null for every other code. A right code of
-- another establishment is answered and counted like a wrong one.
CREATE OR REPLACE FUNCTION coupons.typed_answer(
    code text, establishment bigint, terminal text, at timestamptz
) RETURNS coupons.answer LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    said coupons.reading;
    made bytea;
    own bigint;
    coupon bigint;
    state text;
    title text;
    expires_at timestamptz;
    redeemed_at timestamptz;
    is_watched boolean;
BEGIN
    said := coupons.read_code(code);
    SELECT coupons.mac(o.inner_block, o.outer_block, coupons.code_message(said.head)),
        c.establishment_id, c.id, coupons.state_of(c, at), c.title, c.expires_at, c.redeemed_at,
        -- False if nobody has guessed in this period, and the transaction may write.
        pg_sequence_last_value('coupons.guess_counter_0')
            IS DISTINCT FROM coupons.period_number(at) << 40
            OR current_setting('transaction_read_only')::boolean
    INTO made, own, coupon, state, title, expires_at, redeemed_at, is_watched
    FROM coupons.open_secrets o CROSS JOIN coupons.scramble k
    LEFT JOIN coupons.coupons c ON c.id = coupons.coupon_of(said.handle, k.keys)
    WHERE o.series = 'typed' AND said.series = 'typed' AND o.mark = said.mark AND o.starts_at <= at
      AND (o.good_until > at OR coupons.is_latest(o.series, o.starts_at, at))
      AND length(terminal) BETWEEN 1 AND 100 AND establishment IS NOT NULL;
    IF made IS NULL THEN
        RETURN NULL;
    END IF;
    IF is_watched THEN
        IF NOT coupons.admits_typed_code(said.handle, own, establishment, terminal, at) THEN
            RETURN ROW (false, 'too_many_guesses', NULL, NULL, NULL, NULL, NULL,
                coupons.guess_period(at) + interval '5 minutes')::coupons.answer;
        END IF;
    END IF;
    -- One expression compares and counts: no cancel request, timeout or error comes between the
    -- two. Hashes are compared, because a comparison stops at the first different byte.
    IF (sha256(int8send(coupons.truncated(made) & 1048575)) = sha256(said.mac)
            AND own = establishment) IS TRUE
        OR nextval('coupons.guess_counter_0') IS NULL THEN
        RETURN ROW (state = 'usable', CASE state WHEN 'usable' THEN 'ok' ELSE state END, coupon,
            title, expires_at, redeemed_at, NULL, NULL)::coupons.answer;
    END IF;
    PERFORM coupons.count_typed_guess(said.handle, own, establishment, terminal, at);
    RETURN coupons.refusal('unknown');
END $$;
