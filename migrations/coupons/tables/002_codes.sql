-- The secrets of the rotating codes of coupons.

-- The two series of codes: QR codes for scanners, and typed codes, which rotate more slowly.
CREATE TABLE coupons.code_series (
    series text COLLATE "C" PRIMARY KEY CHECK (series IN ('qr', 'typed')),
    -- The length of an epoch. A change applies to new epochs.
    period interval NOT NULL CHECK (period BETWEEN '5 seconds' AND '1 hour'
        AND extract(epoch FROM period) = trunc(extract(epoch FROM period))),
    -- The number of epochs prepared ahead: period * ahead is the longest outage of workers.
    ahead int NOT NULL CHECK (ahead BETWEEN 2 AND 1000),
    CHECK (period * ahead >= interval '2 minutes')
);
INSERT INTO coupons.code_series VALUES ('qr', '30 seconds', 20), ('typed', '5 minutes', 4);

-- An epoch lasts until the next one starts, however late: without workers codes rotate more slowly
-- or not at all, and none is refused for it.
CREATE TABLE coupons.epochs (
    series text COLLATE "C" NOT NULL REFERENCES coupons.code_series,
    -- Whole seconds; as seconds since 1970 it is part of a QR code.
    starts_at timestamptz NOT NULL CHECK (starts_at = date_trunc('second', starts_at)),
    -- One of 32 in rotation; part of a typed code.
    slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 31),
    -- The end of the grace period: its codes are accepted until then.
    good_until timestamptz NOT NULL,
    -- Sealed with a key that the database does not have.
    sealed bytea NOT NULL,
    PRIMARY KEY (series, starts_at)
);

-- The open secrets: the key block of HMAC, combined with the inner and outer padding. They repeat
-- the columns of their epochs that a check needs, so that it reads one table.
--
-- An unlogged table is in no WAL, no base backup and no replica. After a crash it is empty, and a
-- worker reopens the sealed secrets. Take dumps with --no-unlogged-table-data.
CREATE UNLOGGED TABLE coupons.open_secrets (
    series text COLLATE "C" NOT NULL,
    starts_at timestamptz NOT NULL,
    -- The mark of the epoch in a code: see coupons.mark_of.
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
-- No statistics: ANALYZE would copy secrets into its samples, which are logged.
ALTER TABLE coupons.open_secrets
    ALTER inner_block SET STATISTICS 0, ALTER outer_block SET STATISTICS 0;
ALTER TABLE coupons.epochs ALTER sealed SET STATISTICS 0;

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('coupons.rotate', 1, 'coupons', 0, 5);

-- A parsed code, before any lookup.
CREATE TYPE coupons.reading AS (
    -- malformed or mistyped; then only plain is set.
    fault text,
    -- The normalized code.
    plain text,
    series text,
    -- The head of the code and its parts.
    head bigint,
    coupon bigint,
    mark int,
    -- The truncated MAC.
    mac bytea
);
