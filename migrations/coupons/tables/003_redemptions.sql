-- Redemptions, wrong codes and alerts.

-- Counts of wrong codes per period of five minutes, for each terminal and for the establishment
-- (terminal ''). The table is unlogged: after a crash the counts start at zero. A rollback also
-- rolls back the count, so tills call the functions outside of transactions.
CREATE UNLOGGED TABLE coupons.guesses (
    establishment_id bigint NOT NULL,
    terminal text COLLATE "C" NOT NULL,
    period timestamptz NOT NULL,
    count int NOT NULL,
    PRIMARY KEY (establishment_id, terminal)
) WITH (fillfactor = 50);

CREATE TABLE coupons.guess_limits (
    -- Wrong codes in five minutes that lock a terminal.
    terminal int NOT NULL DEFAULT 10 CHECK (terminal >= 1),
    -- Wrong codes in five minutes that lock typed codes at an establishment. Scanned codes stay
    -- open: nobody guesses their 80 bits, and one terminal must not lock the others.
    establishment int NOT NULL DEFAULT 100 CHECK (establishment >= 1),
    -- Wrong codes in five minutes at one establishment that raise an alert.
    alert int NOT NULL DEFAULT 30 CHECK (alert >= 1 AND alert <= establishment),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO coupons.guess_limits DEFAULT VALUES;

-- Bursts of guesses, one row per establishment and period; endpoints of `operator` get an event.
CREATE TABLE coupons.alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    establishment_id bigint NOT NULL,
    -- The terminal of the last guess.
    terminal text NOT NULL,
    guesses int NOT NULL
);
CREATE INDEX alerts_at ON coupons.alerts (at);

-- No foreign key: rows are written while the row of the coupon is locked.
CREATE TABLE coupons.redemptions (
    coupon_id bigint PRIMARY KEY,
    redeemed_at timestamptz NOT NULL,
    establishment_id bigint NOT NULL,
    terminal text NOT NULL,
    -- The idempotency key of the terminal's request.
    request_id text NOT NULL,
    code_hash bytea NOT NULL,
    -- The confirmation number for the terminal and the person.
    confirmation text NOT NULL
);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('coupons.redeemed', 1, 'coupons', 1, 20);

-- The answer to a code. The reasons:
--   ok                 the code is valid, or this request redeemed the coupon
--   malformed          not a coupon code; detected without a lookup
--   mistyped           wrong check symbol: a character is wrong
--   unknown            no coupon has or had this code
--   too_old            the code has rotated; the app shows the current one
--   wrong_place        the coupon belongs to another establishment
--   voided, expired, not_yet_valid
--   redeemed           the coupon was redeemed at redeemed_at
--   too_many_guesses   the terminal is locked until ask_again_at
--   not_ready          retry in a second: workers prepare the secrets after a crash
CREATE TYPE coupons.answer AS (
    is_accepted boolean,
    reason text,
    coupon_id bigint,
    title text,
    expires_at timestamptz,
    redeemed_at timestamptz,
    confirmation text,
    ask_again_at timestamptz
);
