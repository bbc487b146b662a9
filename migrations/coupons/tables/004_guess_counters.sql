-- Counters of typed guesses that a rollback does not undo, and the keys of coupon ids.

-- The keys that hide the ids of coupons from readers of codes: a guesser must know the handle of a
-- coupon first. Each installation has its own; they never change, because issued codes depend on
-- them. A row instead of a function, whose text every login can read.
CREATE TABLE coupons.scramble (
    -- Odd, of 40 bits; see coupons.handle_of.
    keys bigint[] NOT NULL CHECK (cardinality(keys) = 4),
    -- Of the hashes that choose guess counters.
    seed bigint NOT NULL,
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
-- No statistics: they are samples of the values.
ALTER TABLE coupons.scramble ALTER keys SET STATISTICS 0, ALTER seed SET STATISTICS 0;
DO $$
DECLARE
    kept bigint[];
BEGIN
    -- Earlier versions had them in the text of a function.
    IF to_regprocedure('coupons.scramble_keys()') IS NOT NULL THEN
        EXECUTE 'SELECT coupons.scramble_keys()' INTO kept;
    ELSE
        kept := ARRAY(SELECT ('x' || encode(substr(uuid_send(gen_random_uuid()), 9, 5), 'hex'))
            ::bit(40)::bigint | 1 FROM generate_series(1, 4));
    END IF;
    INSERT INTO coupons.scramble (keys, seed) VALUES (kept,
        ('x' || encode(sha256(uuid_send(gen_random_uuid())), 'hex'))::bit(64)::bigint);
END $$;
DROP FUNCTION IF EXISTS coupons.scramble_keys();
-- Codes are parsed without the keys.
ALTER TYPE coupons.reading RENAME ATTRIBUTE coupon TO handle;

-- Sequences, because nextval() and setval() are not undone by a rollback. Unlogged: after a crash
-- they start again. Which of them count what: see coupons.count_guess().
DO $$
BEGIN
    FOR number IN 0..225 LOOP
        EXECUTE format('CREATE UNLOGGED SEQUENCE coupons.guess_counter_%s', number);
    END LOOP;
END $$;

-- Terminals that redeemed a coupon in the last 30 days. The job coupons.redeemed adds them, hence
-- no transaction that is rolled back.
CREATE TABLE coupons.terminals (
    establishment_id bigint NOT NULL,
    terminal text COLLATE "C" NOT NULL,
    -- Counts the terminals of the establishment, from 0; chooses the guess counter.
    number int NOT NULL,
    -- At most a day before the last redemption.
    redeemed_at timestamptz NOT NULL,
    PRIMARY KEY (establishment_id, terminal)
);
INSERT INTO coupons.terminals
SELECT r.establishment_id, r.terminal,
    row_number() OVER (PARTITION BY r.establishment_id ORDER BY r.terminal) - 1, max(r.redeemed_at)
FROM coupons.redemptions r
WHERE r.redeemed_at > now() - interval '30 days'
GROUP BY r.establishment_id, r.terminal;

-- Guesses of committed transactions, for alerts that name a terminal, and for terminals that are
-- not in coupons.terminals. Insert-only: a guess waits for no other transaction.
DROP FUNCTION IF EXISTS coupons.count_guess(bigint, text, timestamptz);
DROP FUNCTION IF EXISTS coupons.locked_until(text, bigint, text, timestamptz);
DROP TABLE coupons.guesses;
CREATE UNLOGGED TABLE coupons.guesses (
    establishment_id bigint NOT NULL,
    -- Empty: the code was typed at another establishment.
    terminal text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL,
    is_typed boolean NOT NULL
);
CREATE INDEX guesses_recent ON coupons.guesses (establishment_id, at);

ALTER TABLE coupons.guess_limits
    -- Typed guesses of one coupon in five minutes that lock its typed codes.
    ADD coupon int NOT NULL DEFAULT 10 CHECK (coupon >= 1),
    -- Typed guesses anywhere in five minutes that lock typed codes at terminals without a recent
    -- redemption.
    ADD everywhere int NOT NULL DEFAULT 300 CHECK (everywhere >= 1);

-- Null: the guesses were rolled back, and no known terminal reached its limit.
ALTER TABLE coupons.alerts ALTER terminal DROP NOT NULL;

-- The row to lock before asking for a rotation.
CREATE TABLE coupons.rotation_requests (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO coupons.rotation_requests DEFAULT VALUES;
