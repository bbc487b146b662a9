-- Codes of coupons: they turn with the time and are derived on request, never stored. Each is given
-- in two series: `qr`, drawn for a scanner, and `typed`, which takes longer to enter.
--
-- A code is an HMAC-SHA-256 (RFC 2104) over a coupon and an epoch, by that epoch's secret. Errand
-- makes epochs ahead of their time, and destroys each when its codes are no longer good: ten
-- million coupons turn by one row, and nobody can make a destroyed secret again without the WAL of
-- that time and the key file together.

-- Hides from those who see some codes how many coupons there are; it protects nothing else. Each
-- database has its own: a function rather than a row, so that every code is spared a look at it.
DO $do$
BEGIN
    IF to_regprocedure('coupons.scramble_keys()') IS NOT NULL THEN
        RETURN;  -- for good: the codes that people have go by it
    END IF;
    EXECUTE format('CREATE FUNCTION coupons.scramble_keys() RETURNS bigint[] '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN %L::bigint[]',
        -- Odd, of 40 bits.
        ARRAY(SELECT ('x' || encode(substr(uuid_send(gen_random_uuid()), 9, 5), 'hex'))
            ::bit(40)::bigint | 1 FROM generate_series(1, 4)));
END $do$;

-- HMAC-SHA-256 (RFC 2104) with a key that is prepared as in coupons.open_secrets.
CREATE OR REPLACE FUNCTION coupons.mac(inner_block bytea, outer_block bytea, message bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(outer_block || sha256(inner_block || message));

-- 31 bits of a MAC, taken from where its last four bits say (RFC 4226, section 5.3).
CREATE OR REPLACE FUNCTION coupons.truncated(mac bytea)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substr(mac, (get_byte(mac, length(mac) - 1) & 15) + 1, 4), 'hex'))
    ::bit(32)::bigint & 2147483647;

-- The lowest bits of a number in Crockford's base 32, five a character.
CREATE OR REPLACE FUNCTION coupons.base32(value bigint, width int)
RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    written text := '';
BEGIN
    FOR place IN REVERSE width - 1..0 LOOP
        written := written
            || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (value >> 5 * place & 31)::int + 1, 1);
    END LOOP;
    RETURN written;
END $$;

-- The number that was written so, in capital letters.
CREATE OR REPLACE FUNCTION coupons.base32_value(written text)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    value bigint := 0;
BEGIN
    FOR place IN 1..length(written) LOOP
        value := value << 5
            | strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(written, place, 1)) - 1;
    END LOOP;
    RETURN value;
END $$;

-- Crockford's check symbol of a number: it finds every wrong and every two swapped characters.
CREATE OR REPLACE FUNCTION coupons.check_symbol(value bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U', (value % 37)::int + 1, 1);

-- The number that stands for a coupon in its codes: a Feistel network over 35 bits, of which each
-- round multiplies and takes bits from the middle. (The planner makes constants of the keys.)
CREATE OR REPLACE FUNCTION coupons.handle_of(coupon bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    high bigint := coupon >> 17;
    low bigint := coupon & 131071;
BEGIN
    IF NOT coupon BETWEEN 0 AND 34359738367 THEN
        RAISE EXCEPTION 'coupon %: codes have room for ids below 2^35', coupon
            USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    high := high # ((low * (coupons.scramble_keys())[1] >> 20) & 262143);
    low := low # ((high * (coupons.scramble_keys())[2] >> 20) & 131071);
    high := high # ((low * (coupons.scramble_keys())[3] >> 20) & 262143);
    low := low # ((high * (coupons.scramble_keys())[4] >> 20) & 131071);
    RETURN high << 17 | low;
END $$;

-- The coupon that a number stands for.
CREATE OR REPLACE FUNCTION coupons.coupon_of(handle bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    high bigint := handle >> 17;
    low bigint := handle & 131071;
BEGIN
    low := low # ((high * (coupons.scramble_keys())[4] >> 20) & 131071);
    high := high # ((low * (coupons.scramble_keys())[3] >> 20) & 262143);
    low := low # ((high * (coupons.scramble_keys())[2] >> 20) & 131071);
    high := high # ((low * (coupons.scramble_keys())[1] >> 20) & 262143);
    RETURN high << 17 | low;
END $$;

-- What a code says of its epoch: the lowest 25 bits of its start, in seconds since 1970, if it is
-- scanned; the slot if it is typed.
CREATE OR REPLACE FUNCTION coupons.mark_of(series text, starts_at timestamptz, slot smallint)
RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE series WHEN 'qr' THEN extract(epoch FROM starts_at)::bigint & 33554431 ELSE slot END;

-- What stands before the MAC in a code, as a number: the coupon (35 bits) and its epoch's mark, in
-- 25 bits of a code that is scanned and in 5 of one that is typed.
CREATE OR REPLACE FUNCTION coupons.head_of(handle bigint, width int, mark int)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN handle << width | mark;

-- What is hashed for a code: the version of its form, and what stands before the MAC.
CREATE OR REPLACE FUNCTION coupons.code_message(head bigint)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\x01'::bytea || int8send(head);

-- The QR code's text: EC1 and, in hexadecimal, its head (60 bits) and 80 bits of the MAC: 38
-- characters of those that QR codes store most tightly, as many as fit into version 2-M.
CREATE OR REPLACE FUNCTION coupons.payload(head bigint, mac bytea)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'EC1' || upper(substr(encode(int8send(head) || substr(mac, 1, 10), 'hex'), 2));

-- The typed code as a number of 60 bits: its head (40), and 20 of the MAC.
CREATE OR REPLACE FUNCTION coupons.typed_value(head bigint, mac bytea)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (head << 20) | (coupons.truncated(mac) & 1048575);

-- Regular expressions would take half of the time of a check.
CREATE OR REPLACE FUNCTION coupons.read_code(code text)
RETURNS coupons.reading LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- Scanners that type end with a line.
    plain text :=
        upper(translate(left(coalesce(code, ''), 100), E' \t\r\n', '') COLLATE "C");
    value bigint;
BEGIN
    IF length(plain) = 38 AND left(plain, 3) = 'EC1'
        AND translate(substr(plain, 4), '0123456789ABCDEF', '') = '' THEN
        value := ('x' || substr(plain, 4, 15))::bit(60)::bigint;
        RETURN ROW (NULL, plain, 'qr', value, coupons.coupon_of(value >> 25),
            (value & 33554431)::int, decode(right(plain, 20), 'hex'))::coupons.reading;
    END IF;
    -- What people type for what they read; no-break spaces and hyphens are there for the eye.
    plain := translate(plain, U&'OIL-\00A0\2010\2011\2012\2013', '011');
    IF length(plain) IS DISTINCT FROM 13
        OR translate(left(plain, 12), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', '') <> ''
        OR strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U', right(plain, 1)) = 0 THEN
        RETURN ROW ('malformed', plain, NULL, NULL, NULL, NULL, NULL)::coupons.reading;
    END IF;
    value := coupons.base32_value(left(plain, 12));
    IF coupons.check_symbol(value) <> right(plain, 1) THEN
        RETURN ROW ('mistyped', plain, NULL, NULL, NULL, NULL, NULL)::coupons.reading;
    END IF;
    RETURN ROW (NULL, plain, 'typed', value >> 20, coupons.coupon_of(value >> 25),
        (value >> 20 & 31)::int, int8send(value & 1048575))::coupons.reading;
END $$;

-- Asks a worker for what is missing; only the first of many who notice does.
CREATE OR REPLACE FUNCTION coupons.ask_for_rotation()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF pg_try_advisory_xact_lock(hashtextextended('coupons.ask_for_rotation', 0)) THEN
        PERFORM errand.enqueue('coupons.rotate', unique_key => 'asked');
    END IF;
END $$;

-- The epoch of a series at a time, and when the next one starts.
CREATE OR REPLACE FUNCTION coupons.epoch_at(series text, at timestamptz)
RETURNS TABLE (mark int, inner_block bytea, outer_block bytea, until timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT o.mark, o.inner_block, o.outer_block,
        (SELECT n.starts_at FROM coupons.epochs n
         WHERE n.series = $1 AND n.starts_at > $2 ORDER BY n.starts_at LIMIT 1)
    FROM coupons.epochs e
    LEFT JOIN coupons.open_secrets o ON o.series = $1 AND o.starts_at = e.starts_at
    WHERE e.series = $1 AND e.starts_at <= $2
    ORDER BY e.starts_at DESC LIMIT 1
$$;

-- A coupon's codes at a time, each with when it turns; null when there is no secret for it yet.
CREATE OR REPLACE FUNCTION coupons.codes_at(
    coupon bigint, at timestamptz,
    OUT payload text, OUT payload_until timestamptz, OUT typed text, OUT typed_until timestamptz
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    handle CONSTANT bigint := coupons.handle_of(coupon);
    mark int;
    inner_block bytea;
    outer_block bytea;
    head bigint;
    value bigint;
    digits text;
BEGIN
    SELECT * INTO mark, inner_block, outer_block, payload_until FROM coupons.epoch_at('qr', at);
    head := coupons.head_of(handle, 25, mark);
    payload := coupons.payload(
        head, coupons.mac(inner_block, outer_block, coupons.code_message(head)));
    SELECT * INTO mark, inner_block, outer_block, typed_until FROM coupons.epoch_at('typed', at);
    head := coupons.head_of(handle, 5, mark);
    value := coupons.typed_value(
        head, coupons.mac(inner_block, outer_block, coupons.code_message(head)));
    digits := coupons.base32(value, 12);
    typed := left(digits, 4) || '-' || substr(digits, 5, 4) || '-' || substr(digits, 9)
        || coupons.check_symbol(value);
END $$;

-- What a coupon is good for at a time.
CREATE OR REPLACE FUNCTION coupons.state_of(coupon coupons.coupons, at timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN coupon.redeemed_at IS NOT NULL THEN 'redeemed'
    WHEN coupon.voided_at IS NOT NULL THEN 'voided'
    WHEN coupon.expires_at <= at THEN 'expired'
    WHEN coupon.valid_from > at THEN 'not_yet_valid'
    ELSE 'usable' END;

-- What an app shows its person: the codes of a coupon of theirs, and when each turns (null: not
-- known to turn; ask again after a period).
--
-- state says why there are none: redeemed, voided, expired, not_yet_valid; unknown when the person
-- has no such coupon; not_ready for the second that workers need after a crash of the server.
CREATE OR REPLACE FUNCTION coupons.code(
    coupon bigint, person bigint,
    OUT state text, OUT payload text, OUT payload_until timestamptz, OUT typed text,
    OUT typed_until timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    state := coalesce((SELECT coupons.state_of(c, at) FROM coupons.coupons c
        WHERE c.id = coupon AND c.person_id = person), 'unknown');
    IF state <> 'usable' THEN
        RETURN;
    END IF;
    SELECT * INTO payload, payload_until, typed, typed_until FROM coupons.codes_at(coupon, at);
    IF payload IS NULL OR typed IS NULL THEN
        PERFORM coupons.ask_for_rotation();
        payload := NULL;
        typed := NULL;
        state := 'not_ready';
    END IF;
END $$;
