-- Receipts: the keys of their codes, what was scanned, and the limits.

CREATE TABLE surveys.rules (
    -- Receipts that a person may scan on a day of their calendar, and of these at one branch.
    scans_a_day int NOT NULL DEFAULT 10 CHECK (scans_a_day >= 1),
    scans_of_branch int NOT NULL DEFAULT 3 CHECK (scans_of_branch >= 1),
    -- Codes with a wrong MAC on a day, after which the person scans no more on it.
    wrong_codes int NOT NULL DEFAULT 20 CHECK (wrong_codes >= 1),
    -- How far the clock of a till may be ahead.
    clock_skew interval NOT NULL DEFAULT '10 minutes'
        CHECK (clock_skew BETWEEN '0 seconds' AND '1 day'),
    -- How long the codes of a replaced key stay valid.
    keys_kept interval NOT NULL DEFAULT '30 days' CHECK (keys_kept >= '0 seconds'),
    -- The share of answers that operators review, in percent.
    sampled int NOT NULL DEFAULT 10 CHECK (sampled BETWEEN 0 AND 100),
    -- Answers are hasty below this share of the stated minutes, in percent.
    hasty_below int NOT NULL DEFAULT 25 CHECK (hasty_below BETWEEN 0 AND 100),
    -- Ratings are compared from this number of them on.
    ratings_from int NOT NULL DEFAULT 5 CHECK (ratings_from >= 2),
    -- A required text has this many letters at least.
    letters_from int NOT NULL DEFAULT 3 CHECK (letters_from >= 1),
    -- Texts of this length are compared with those of earlier answers.
    same_text_from int NOT NULL DEFAULT 10 CHECK (same_text_from >= 1),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO surveys.rules DEFAULT VALUES;

-- The keys of the codes on receipts. An establishment has one current key; the ones before are
-- accepted until good_until, and then deleted.
CREATE TABLE surveys.receipt_keys (
    establishment_id bigint NOT NULL REFERENCES establishments.establishments,
    -- Counts the keys of the establishment.
    version int NOT NULL CHECK (version >= 1),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the next key replaced it; null for the current one.
    retired_at timestamptz,
    -- Its codes are accepted until then; null for the current one.
    good_until timestamptz,
    -- 32 bytes, sealed with a key that the database does not have, in the context
    -- surveys.receipt_keys:ESTABLISHMENT:VERSION.
    sealed bytea NOT NULL,
    PRIMARY KEY (establishment_id, version),
    CHECK ((retired_at IS NULL) = (good_until IS NULL))
);
CREATE UNIQUE INDEX receipt_keys_current ON surveys.receipt_keys (establishment_id)
    WHERE retired_at IS NULL;

-- The open keys: the key block of HMAC, combined with the inner and outer padding.
--
-- An unlogged table is in no WAL, no base backup and no replica. After a crash it is empty, and a
-- worker reopens the sealed keys. Take dumps with --no-unlogged-table-data.
CREATE UNLOGGED TABLE surveys.open_receipt_keys (
    establishment_id bigint NOT NULL,
    version int NOT NULL,
    -- As in surveys.receipt_keys; infinity for the current key.
    good_until timestamptz NOT NULL,
    inner_block bytea NOT NULL CHECK (length(inner_block) = 64),
    outer_block bytea NOT NULL CHECK (length(outer_block) = 64),
    PRIMARY KEY (establishment_id, version)
);
-- No statistics: ANALYZE would copy keys into its samples, which are logged.
ALTER TABLE surveys.open_receipt_keys
    ALTER inner_block SET STATISTICS 0, ALTER outer_block SET STATISTICS 0;
ALTER TABLE surveys.receipt_keys ALTER sealed SET STATISTICS 0;

-- The row to lock before asking for the keys.
CREATE TABLE surveys.key_requests (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only));
INSERT INTO surveys.key_requests DEFAULT VALUES;

-- Receipts that were scanned, by the hash of what names them; once for all people. Forgotten 30
-- days after the end of their invitation.
CREATE TABLE surveys.receipts (
    hash bytea PRIMARY KEY CHECK (length(hash) = 16),
    invitation_id bigint NOT NULL,
    -- As in the invitation.
    expires_at timestamptz NOT NULL
);
CREATE INDEX receipts_expiry ON surveys.receipts (expires_at);

-- What each person scanned on the last day on which they did; the row serializes their scans.
CREATE TABLE surveys.scan_days (
    person_id bigint PRIMARY KEY REFERENCES people.people,
    -- In the person's time zone.
    day date NOT NULL,
    -- The branch of each receipt that gave an invitation.
    branches bigint[] NOT NULL DEFAULT '{}',
    wrong int NOT NULL DEFAULT 0
) WITH (fillfactor = 60);
CREATE INDEX scan_days_day ON surveys.scan_days (day);

-- The key of the respondents that webhooks name. Each installation has its own.
CREATE TABLE surveys.respondent_keys (
    key bytea NOT NULL CHECK (length(key) = 32),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
ALTER TABLE surveys.respondent_keys ALTER key SET STATISTICS 0;
INSERT INTO surveys.respondent_keys (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('surveys.keys', 1, 'surveys', 0, 5);

-- The app whose devices get notices about surveys.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;

-- The answer to a scanned receipt, or to an invitation without one; see surveys.scan().
CREATE TYPE surveys.invited AS (
    reason text,
    invitation_id bigint,
    survey_id bigint,
    version int,
    establishment_id bigint,
    expires_at timestamptz
);

-- The answer to a completion; see surveys.complete().
CREATE TYPE surveys.completed AS (
    reason text,
    reward bigint,
    currency text,
    coupon_id bigint,
    completed_at timestamptz
);
