-- The surveys of establishments, in versions: an answer belongs to the version that was asked.

CREATE SCHEMA surveys;

CREATE TABLE surveys.surveys (
    -- The app's id.
    id bigint PRIMARY KEY CHECK (id >= 1),
    establishment_id bigint NOT NULL REFERENCES establishments.establishments,
    -- The version of new invitations.
    version int NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- Whether receipts of the establishment lead to it.
    for_receipts boolean NOT NULL DEFAULT true,
    -- Purchases before this are too old after 30 days, even if expires_days is longer: it was
    -- shorter before, and then the hashes of used receipts may be forgotten.
    long_from timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A closed survey invites nobody; invitations that people have stay open.
    closed_at timestamptz
);
CREATE INDEX surveys_establishment ON surveys.surveys (establishment_id);
CREATE UNIQUE INDEX surveys_of_receipts ON surveys.surveys (establishment_id)
    WHERE for_receipts AND closed_at IS NULL;

CREATE TABLE surveys.versions (
    survey_id bigint NOT NULL REFERENCES surveys.surveys,
    version int NOT NULL,
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- How long it takes, as people read it.
    minutes int NOT NULL CHECK (minutes BETWEEN 1 AND 60),
    -- How many days after the purchase it can be answered.
    expires_days int NOT NULL CHECK (expires_days BETWEEN 1 AND 90),
    -- What the establishment pays for a completion, and the person's share, in minor units.
    paid bigint NOT NULL,
    cut bigint NOT NULL CHECK (cut > 0 AND cut <= paid),
    currency text COLLATE "C" NOT NULL REFERENCES ledger.currencies,
    -- The coupon that a completion grants, and for how many days; null for none.
    coupon_title text CHECK (length(coupon_title) BETWEEN 1 AND 200),
    coupon_days int CHECK (coupon_days BETWEEN 1 AND 365),
    put_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (survey_id, version),
    CHECK ((coupon_title IS NULL) = (coupon_days IS NULL))
);

CREATE TYPE surveys.question_kind AS ENUM ('rating', 'choice', 'many', 'yes_no', 'text');

CREATE TABLE surveys.questions (
    survey_id bigint NOT NULL,
    version int NOT NULL,
    number smallint NOT NULL CHECK (number BETWEEN 1 AND 100),
    kind surveys.question_kind NOT NULL,
    label text NOT NULL CHECK (length(label) BETWEEN 1 AND 500),
    -- What a choice offers, in order; null for other kinds.
    options text[] CHECK (cardinality(options) BETWEEN 2 AND 50),
    is_required boolean NOT NULL,
    PRIMARY KEY (survey_id, version, number),
    FOREIGN KEY (survey_id, version) REFERENCES surveys.versions,
    CHECK ((kind IN ('choice', 'many')) = (options IS NOT NULL))
);
