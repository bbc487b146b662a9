-- The secrets of the rotating codes of coupons.

-- The two ways in which a code is given: drawn for a scanner, and to be typed, which takes longer.
CREATE TABLE coupons.code_series (
    series text COLLATE "C" PRIMARY KEY CHECK (series IN ('qr', 'typed')),
    -- How long an epoch lasts. A change holds for the epochs that are made from then on.
    period interval NOT NULL CHECK (period BETWEEN '5 seconds' AND '1 hour'
        AND extract(epoch FROM period) = trunc(extract(epoch FROM period))),
    -- Epochs that are ready before they start: so long may no worker be there.
    ahead int NOT NULL CHECK (ahead BETWEEN 2 AND 1000),
    CHECK (period * ahead >= interval '2 minutes')
);
INSERT INTO coupons.code_series VALUES ('qr', '30 seconds', 20), ('typed', '5 minutes', 4);

-- An epoch lasts until the next one starts, however late that may be: without workers codes turn
-- more slowly or not at all, and none is refused for it.
CREATE TABLE coupons.epochs (
    series text COLLATE "C" NOT NULL REFERENCES coupons.code_series,
    -- Whole seconds: as the number of those since 1970 it is part of a QR code.
    starts_at timestamptz NOT NULL CHECK (starts_at = date_trunc('second', starts_at)),
    -- Its successor's is the next of 32: part of a typed code.
    slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 31),
    -- Grace: its codes are taken until then, though the next epoch has started.
    good_until timestamptz NOT NULL,
    -- By a key that the database does not have.
    sealed bytea NOT NULL,
    PRIMARY KEY (series, starts_at)
);

-- The same secrets as HMAC takes them: the key's block, combined with the inner and outer padding;
-- and what a check needs to know of their epochs, so that it looks at one table.
--
-- An unlogged table is in no WAL, no base backup and no replica. After a crash it is empty, and a
-- worker opens the sealed ones again. Take dumps with --no-unlogged-table-data.
CREATE UNLOGGED TABLE coupons.open_secrets (
    series text COLLATE "C" NOT NULL,
    starts_at timestamptz NOT NULL,
    -- What a code says of its epoch: see coupons.mark_of.
    mark int NOT NULL,
    -- As in coupons.epochs.
    good_until timestamptz NOT NULL,
    inner_block bytea NOT NULL CHECK (length(inner_block) = 64),
    outer_block bytea NOT NULL CHECK (length(outer_block) = 64),
    PRIMARY KEY (series, starts_at),
    FOREIGN KEY (series, starts_at) REFERENCES coupons.epochs
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX open_secrets_mark ON coupons.open_secrets (series, mark);
-- ANALYZE would copy them into its samples, which are logged and kept.
ALTER TABLE coupons.open_secrets
    ALTER inner_block SET STATISTICS 0, ALTER outer_block SET STATISTICS 0;
ALTER TABLE coupons.epochs ALTER sealed SET STATISTICS 0;

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('coupons.rotate', 1, 'coupons', 0, 5);

-- What a code says of itself, before anything is looked up.
CREATE TYPE coupons.reading AS (
    -- malformed or mistyped; then nothing but plain is there.
    fault text,
    -- The code as it should have been written.
    plain text,
    series text,
    -- What stands before the MAC, and what that says.
    head bigint,
    coupon bigint,
    mark int,
    -- The part of the MAC that it has.
    mac bytea
);
