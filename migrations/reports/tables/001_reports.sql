-- What establishments get: reports and statements as files, and what they paid.

CREATE SCHEMA reports;

-- Establishments that get reports.
CREATE TABLE reports.settings (
    establishment_id bigint PRIMARY KEY REFERENCES establishments.establishments,
    -- The IANA name of the time zone in which its weeks and months begin.
    time_zone text NOT NULL
        CHECK (timestamptz '2000-01-01Z' AT TIME ZONE time_zone IS NOT NULL),
    -- Its first report is that of the period in which this is.
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The addresses that are notified of an establishment's reports.
CREATE TABLE reports.contacts (
    establishment_id bigint NOT NULL REFERENCES reports.settings,
    email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    -- Lower case, so that an address is notified once.
    email_key text NOT NULL GENERATED ALWAYS AS (lower(email)) STORED,
    locale text NOT NULL CHECK (locale ~ '^[a-z]{2,3}([-_][A-Za-z]{2})?$'),
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (establishment_id, email_key)
);

-- The first characters of people's postal codes, as the app knows them; used in reports for
-- groups of at least five people only.
CREATE TABLE reports.postal_prefixes (
    person_id bigint PRIMARY KEY REFERENCES people.people,
    prefix text COLLATE "C" NOT NULL CHECK (prefix ~ '^[A-Z0-9]{1,4}$')
);

CREATE TYPE reports.report_kind AS ENUM ('weekly', 'monthly', 'statement');

CREATE TABLE reports.reports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    establishment_id bigint NOT NULL REFERENCES reports.settings,
    kind reports.report_kind NOT NULL,
    -- A week or month, such as 2026-W47 or 2026-10.
    period text COLLATE "C" NOT NULL CHECK (period ~ '^[0-9]{4}-(W[0-9]{2}|[0-9]{2})$'),
    -- Its first day and the day behind its last, from midnight to midnight in this time zone.
    first_day date NOT NULL,
    end_day date NOT NULL CHECK (end_day > first_day),
    time_zone text NOT NULL,
    from_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL CHECK (until_at > from_at),
    -- 06:00 behind its end.
    due_at timestamptz NOT NULL,
    -- The newest revision; 0: not made yet.
    revision int NOT NULL DEFAULT 0 CHECK (revision >= 0),
    made_at timestamptz,
    -- When its job was last added; null if it was opened by hand.
    queued_at timestamptz,
    -- What the newest revision says, for the trend: given, completed and expired.
    headline jsonb,
    -- The names that the newest revision shows: a name alone makes no other revision.
    names jsonb,
    -- The groups of people, and the trend, that the first revision shows; the later ones repeat
    -- them.
    groups jsonb,
    trend jsonb,
    -- Of a statement: its lines (reports.line), which never change, and the last transaction of the
    -- ledger that it saw. The next statement begins where this one ends.
    lines jsonb,
    known_id bigint,
    -- How often contacts were notified.
    sendings int NOT NULL DEFAULT 0,
    CONSTRAINT reports_period UNIQUE (establishment_id, kind, period),
    CHECK ((revision = 0) = (made_at IS NULL))
);
CREATE INDEX reports_not_made ON reports.reports (due_at) WHERE revision = 0;
CREATE INDEX reports_until ON reports.reports (until_at);

-- Each revision is a folder of files below ERRAND_REPORTS_DIR, and stays as it was made.
CREATE TABLE reports.revisions (
    report_id bigint NOT NULL REFERENCES reports.reports ON DELETE CASCADE,
    revision int NOT NULL CHECK (revision >= 1),
    -- Relative, such as 7/weekly-2026-W47-r1.
    folder text COLLATE "C" NOT NULL UNIQUE,
    made_at timestamptz NOT NULL,
    -- Of manifest.json.
    manifest_sha256 bytea NOT NULL CHECK (length(manifest_sha256) = 32),
    -- The ids of the rows that its figures count, by branch and version of a survey, without their
    -- people: to count those by whom another revision would differ.
    prints jsonb,
    PRIMARY KEY (report_id, revision)
);
CREATE TABLE reports.files (
    report_id bigint NOT NULL,
    revision int NOT NULL,
    name text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0),
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (report_id, revision, name),
    FOREIGN KEY (report_id, revision) REFERENCES reports.revisions ON DELETE CASCADE
);

-- Folders of deleted reports, until a worker has removed them.
CREATE TABLE reports.old_folders (
    folder text COLLATE "C" PRIMARY KEY,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What establishments paid, as posted in the ledger.
CREATE TABLE reports.payments (
    establishment_id bigint NOT NULL REFERENCES establishments.establishments,
    -- The bank's or the establishment's own: one payment each.
    reference text COLLATE "C" NOT NULL
        CHECK (length(reference) BETWEEN 1 AND 100 AND reference !~ '[[:cntrl:]]'),
    currency text COLLATE "C" NOT NULL REFERENCES ledger.currencies,
    amount bigint NOT NULL CHECK (amount > 0),
    paid_at timestamptz NOT NULL,
    actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
    transaction_id bigint NOT NULL UNIQUE,
    -- A correction reverses it in the ledger, and says why.
    corrected_at timestamptz,
    corrected_by text CHECK (length(corrected_by) BETWEEN 1 AND 200),
    correction text CHECK (length(correction) BETWEEN 1 AND 500),
    correction_id bigint UNIQUE,
    PRIMARY KEY (establishment_id, reference),
    CHECK (num_nulls(corrected_at, corrected_by, correction, correction_id) IN (0, 4))
);
INSERT INTO ledger.kept_kinds VALUES ('establishment_payment',
    'Correct it with: errand establishment correct ID --reference REFERENCE --reason TEXT');

-- A row of a report. What it means depends on the section:
--   branch, survey, question, option   names: item is the number of an option, measure the kind of
--                                      a question
--   summary, answer, coupons, mission  a figure: its measure, of an item if there is one
--   trend                              the same of an earlier period, whose name is in name
--   print                              in name, the rows that are counted, of measure: completion,
--                                      invitation, coupon or mission; see reports.people_of()
--   mission_answer, text               what people wrote, in name, before it is masked; of a
--                                      mission, question is the visit and item the task
-- branch_id: null for the whole establishment, 0 for receipts without a branch.
CREATE TYPE reports.figure AS (
    section text, branch_id bigint, survey_id bigint, version int, question int, item int,
    measure text, value numeric, name text);

-- A line of a statement, in minor units: a positive amount is owed by the establishment.
CREATE TYPE reports.line AS (
    currency text,
    -- opening, surveys, missions, reversals, payments, other, earlier, closing or overdue.
    line text,
    -- Such as survey:12, or the reference of a payment.
    source text,
    title text,
    -- How many, of what amount each.
    count bigint,
    each bigint,
    amount bigint);

-- By these, reports read the tables of other modules for one establishment.
CREATE INDEX coupons_reported ON coupons.coupons (establishment_id, expires_at);
CREATE INDEX missions_reported ON missions.missions (establishment_id, id);

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('reports.open', 1, 'reports', 2, 5), ('reports.make', 1, 'reports', 2, 8);

INSERT INTO people.holders VALUES ('reports', 15, false);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('reports.reports', 'reports', 'forget_reports', '24 months',
        'reports and statements of establishments, with their files');
