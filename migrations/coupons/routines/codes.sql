-- Rotating codes of coupons: derived on request, never stored. A coupon has codes of two series:
-- `qr` for scanners, and `typed`, which rotates more slowly.
--
-- A code is an HMAC-SHA-256 (RFC 2104) of a coupon and an epoch, keyed by the epoch's secret.
-- Workers create epochs ahead of time and destroy each when its codes expire: one row rotates ten
-- million coupons. Recovering a destroyed secret takes both the WAL of that time and the key file.

-- HMAC-SHA-256 (RFC 2104) with a key prepared as in coupons.open_secrets.
CREATE OR REPLACE FUNCTION coupons.mac(inner_block bytea, outer_block bytea, message bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(outer_block || sha256(inner_block || message));

-- 31 bits of a MAC, at the offset in its last four bits (RFC 4226, section 5.3).
CREATE OR REPLACE FUNCTION coupons.truncated(mac bytea)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substr(mac, (get_byte(mac, length(mac) - 1) & 15) + 1, 4), 'hex'))
    ::bit(32)::bigint & 2147483647;

-- Encodes the lowest bits of a number in Crockford's base 32, five per character.
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

-- Decodes Crockford's base 32 in capital letters.
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

-- Crockford's check symbol of a number: detects any wrong character and any two swapped ones.
CREATE OR REPLACE FUNCTION coupons.check_symbol(value bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U', (value % 37)::int + 1, 1);

-- The number of a coupon in its codes: a Feistel network over 35 bits, with the keys of
-- coupons.scramble. Each round multiplies and takes the middle bits.
CREATE OR REPLACE FUNCTION coupons.handle_of(coupon bigint, keys bigint[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    high bigint := coupon >> 17;
    low bigint := coupon & 131071;
BEGIN
    IF NOT coupon BETWEEN 0 AND 34359738367 THEN
        RAISE EXCEPTION 'coupon %: codes support ids below 2^35', coupon
            USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    high := high # ((low * keys[1] >> 20) & 262143);
    low := low # ((high * keys[2] >> 20) & 131071);
    high := high # ((low * keys[3] >> 20) & 262143);
    low := low # ((high * keys[4] >> 20) & 131071);
    RETURN high << 17 | low;
END $$;

-- The coupon of such a number.
CREATE OR REPLACE FUNCTION coupons.coupon_of(handle bigint, keys bigint[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    high bigint := handle >> 17;
    low bigint := handle & 131071;
BEGIN
    low := low # ((high * keys[4] >> 20) & 131071);
    high := high # ((low * keys[3] >> 20) & 262143);
    low := low # ((high * keys[2] >> 20) & 131071);
    high := high # ((low * keys[1] >> 20) & 262143);
    RETURN high << 17 | low;
END $$;

-- Both with the keys of the installation, which only the owner reads.
CREATE OR REPLACE FUNCTION coupons.handle_of(coupon bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coupons.handle_of(coupon, k.keys) FROM coupons.scramble k);
END $$;

CREATE OR REPLACE FUNCTION coupons.coupon_of(handle bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coupons.coupon_of(handle, k.keys) FROM coupons.scramble k);
END $$;

-- The mark of an epoch in a code: the lowest 25 bits of its start, in seconds since 1970, in a QR
-- code; the slot in a typed code.
CREATE OR REPLACE FUNCTION coupons.mark_of(series text, starts_at timestamptz, slot smallint)
RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE series WHEN 'qr' THEN extract(epoch FROM starts_at)::bigint & 33554431 ELSE slot END;

-- The head of a code, as a number: the coupon (35 bits) and the mark of the epoch, with 25 bits in
-- a QR code and 5 in a typed code. The MAC follows it.
CREATE OR REPLACE FUNCTION coupons.head_of(handle bigint, width int, mark int)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN handle << width | mark;

-- The message of the MAC: the version of the format, and the head.
CREATE OR REPLACE FUNCTION coupons.code_message(head bigint)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\x01'::bytea || int8send(head);

-- The text of a QR code: EC1 and, in hexadecimal, the head (60 bits) and 80 bits of the MAC. These
-- are 38 alphanumeric characters, the capacity of version 2-M.
CREATE OR REPLACE FUNCTION coupons.payload(head bigint, mac bytea)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'EC1' || upper(substr(encode(int8send(head) || substr(mac, 1, 10), 'hex'), 2));

-- The typed code as a number of 60 bits: the head (40 bits) and 20 bits of the MAC.
CREATE OR REPLACE FUNCTION coupons.typed_value(head bigint, mac bytea)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (head << 20) | (coupons.truncated(mac) & 1048575);

-- A code in capital letters, with digits for the letters that people confuse with them, without
-- spaces and hyphens. Scanners that emulate keyboards send a newline at the end. Scanned codes have
-- neither such letters nor hyphens.
CREATE OR REPLACE FUNCTION coupons.plain_code(code text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(upper(translate(left(code, 100), E' \t\r\n', '') COLLATE "C"),
    U&'OIL-\00A0\2010\2011\2012\2013', '011');

-- Parses a code. It avoids regular expressions, which would take half of the time of a check.
CREATE OR REPLACE FUNCTION coupons.read_code(code text)
RETURNS coupons.reading LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    plain CONSTANT text := coupons.plain_code(coalesce(code, ''));
    value bigint;
BEGIN
    IF length(plain) = 38 AND left(plain, 3) = 'EC1'
        AND translate(substr(plain, 4), '0123456789ABCDEF', '') = '' THEN
        value := ('x' || substr(plain, 4, 15))::bit(60)::bigint;
        RETURN ROW (NULL, plain, 'qr', value, value >> 25,
            (value & 33554431)::int, decode(right(plain, 20), 'hex'))::coupons.reading;
    END IF;
    IF length(plain) IS DISTINCT FROM 13
        OR translate(left(plain, 12), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', '') <> ''
        OR strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U', right(plain, 1)) = 0 THEN
        RETURN ROW ('malformed', plain, NULL, NULL, NULL, NULL, NULL)::coupons.reading;
    END IF;
    value := coupons.base32_value(left(plain, 12));
    IF coupons.check_symbol(value) <> right(plain, 1) THEN
        RETURN ROW ('mistyped', plain, NULL, NULL, NULL, NULL, NULL)::coupons.reading;
    END IF;
    RETURN ROW (NULL, plain, 'typed', value >> 20, value >> 25,
        (value >> 20 & 31)::int, int8send(value & 1048575))::coupons.reading;
END $$;

-- Enqueues a rotation; of concurrent callers only the first does. The row, unlike an advisory lock,
-- can be locked by no login but through this function, and no longer than that transaction: workers
-- rotate twice a minute anyway.
CREATE OR REPLACE FUNCTION coupons.ask_for_rotation()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM coupons.rotation_requests FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM errand.enqueue_own('coupons.rotate', unique_key => 'asked');
    END IF;
END $$;

-- The epoch of a series at a time, and the start of the next one.
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

-- A coupon's codes at a time, and when each rotates; null while its secret is missing.
CREATE OR REPLACE FUNCTION coupons.codes_at(
    coupon bigint, at timestamptz,
    OUT payload text, OUT payload_until timestamptz, OUT typed text, OUT typed_until timestamptz
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    handle bigint;
    mark int;
    inner_block bytea;
    outer_block bytea;
    head bigint;
    value bigint;
    digits text;
BEGIN
    SELECT coupons.handle_of(coupon, k.keys), e.mark, e.inner_block, e.outer_block, e.until
    INTO handle, mark, inner_block, outer_block, payload_until
    FROM coupons.scramble k LEFT JOIN coupons.epoch_at('qr', at) AS e ON true;
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

-- The state of a coupon at a time.
CREATE OR REPLACE FUNCTION coupons.state_of(coupon coupons.coupons, at timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN coupon.redeemed_at IS NOT NULL THEN 'redeemed'
    WHEN coupon.voided_at IS NOT NULL THEN 'voided'
    WHEN coupon.expires_at <= at THEN 'expired'
    WHEN coupon.valid_from > at THEN 'not_yet_valid'
    ELSE 'usable' END;
