-- Redemptions, wrong codes and alerts.

-- Failed guesses in periods of five minutes: a few for each terminal, more for all of an
-- establishment (terminal ''). Not worth a disk's time: after a crash they begin at none. Whoever
-- rolls back the transaction of a guess rolls back its count: tills ask outside of transactions.
CREATE UNLOGGED TABLE coupons.guesses (
    establishment_id bigint NOT NULL,
    terminal text COLLATE "C" NOT NULL,
    period timestamptz NOT NULL,
    count int NOT NULL,
    PRIMARY KEY (establishment_id, terminal)
) WITH (fillfactor = 50);

CREATE TABLE coupons.guess_limits (
    -- Guesses in five minutes; one more is not even looked at.
    terminal int NOT NULL DEFAULT 10 CHECK (terminal >= 1),
    -- From then on typed codes are not looked at there. Scanned ones are: they have 80 bits that
    -- nobody guesses, and one terminal must not close the others.
    establishment int NOT NULL DEFAULT 100 CHECK (establishment >= 1),
    -- So many at one establishment are an alert.
    alert int NOT NULL DEFAULT 30 CHECK (alert >= 1 AND alert <= establishment),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO coupons.guess_limits DEFAULT VALUES;

-- Bursts of guesses, one row for an establishment and a period; endpoints of `operator` are told.
CREATE TABLE coupons.alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    establishment_id bigint NOT NULL,
    -- The one that guessed last.
    terminal text NOT NULL,
    guesses int NOT NULL
);
CREATE INDEX alerts_at ON coupons.alerts (at);

-- Written while the coupon's row is locked: that it is there needs no check.
CREATE TABLE coupons.redemptions (
    coupon_id bigint PRIMARY KEY,
    redeemed_at timestamptz NOT NULL,
    establishment_id bigint NOT NULL,
    terminal text NOT NULL,
    -- By which the terminal repeats a request whose answer was lost, with the same code.
    request_id text NOT NULL,
    code_hash bytea NOT NULL,
    -- What the terminal prints and the person is told.
    confirmation text NOT NULL
);

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('coupons.redeemed', 1, 'coupons', 1, 20);

-- The answer to a code. The reasons:
--   ok                 it is good, or it was redeemed by this very request
--   malformed          it is no code of ours: nothing was looked up
--   mistyped           its check symbol says that a character is wrong: read it again
--   unknown            it is no code of any coupon, now or at any time
--   too_old            it has turned: the person's phone shows the present one
--   wrong_place        the coupon is another establishment's
--   voided, expired, not_yet_valid
--   redeemed           at redeemed_at
--   too_many_guesses   nothing is looked at before ask_again_at
--   not_ready          ask again in a second: workers prepare the secrets after a crash
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
