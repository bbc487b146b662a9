-- Badges of people: earned by deeds, such as coupons used and surveys done, and kept for good.

CREATE SCHEMA badges;

-- The kinds of badges, and the deed that each counts.
CREATE TABLE badges.kinds (
    kind text COLLATE "C" PRIMARY KEY CHECK (kind ~ '^[a-z][a-z_]{0,39}$'),
    -- What the app calls it; one line.
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 100 AND title !~ '[[:cntrl:]]'),
    -- The deed that counts: coupon_used or survey_done.
    deed text COLLATE "C" NOT NULL,
    -- Whether the deeds of each establishment are counted apart.
    by_establishment boolean NOT NULL,
    -- The counts that earn a level each, ascending.
    levels int[] NOT NULL CHECK (cardinality(levels) BETWEEN 1 AND 50 AND 1 <= ALL (levels))
);
INSERT INTO badges.kinds VALUES
    ('coupons_used', 'Coupons used', 'coupon_used', false, '{1,10,25,50,100}'),
    ('surveys_done', 'Surveys done', 'survey_done', false, '{1,10,25,50,100}'),
    ('regular', 'Regular', 'survey_done', true, '{3,5,10,25}');

-- How often each person did what a kind counts; of establishment 0 where establishments are not
-- counted apart. Kinds are no foreign key: all deeds would lock the same row.
CREATE TABLE badges.counts (
    person_id bigint NOT NULL REFERENCES people.people,
    kind text COLLATE "C" NOT NULL,
    establishment_id bigint NOT NULL DEFAULT 0,
    -- Never below 0; without a CHECK constraint, which PostgreSQL parses again for every deed.
    deeds int NOT NULL,
    PRIMARY KEY (person_id, kind, establishment_id)
) WITH (fillfactor = 80);

-- The badges that people have. A deed that is reversed takes none away.
CREATE TABLE badges.badges (
    person_id bigint NOT NULL REFERENCES people.people,
    kind text COLLATE "C" NOT NULL,
    establishment_id bigint NOT NULL DEFAULT 0,
    -- The count that earned it, one of the kind's levels.
    level int NOT NULL CHECK (level > 0),
    earned_at timestamptz NOT NULL,
    -- Whether the person is yet to be notified. Those that a recount awards notify nobody.
    notice_due boolean NOT NULL,
    PRIMARY KEY (person_id, kind, establishment_id, level)
);
CREATE INDEX badges_notice_due ON badges.badges (earned_at) WHERE notice_due;

-- The modules that know deeds, for the nightly recount. Each has a function in its schema, which
-- runs with the rights of the owner:
--   (deed text, after bigint, until bigint)
--       RETURNS TABLE (person_id bigint, establishment_id bigint, deeds bigint)
--     the deeds of the people with an id above after, up to until
CREATE TABLE badges.sources (
    module text COLLATE "C" NOT NULL CHECK (module ~ '^[a-z][a-z_]{0,39}$'),
    deed text COLLATE "C" NOT NULL,
    routine name NOT NULL,
    PRIMARY KEY (module, deed)
);

-- The recounts, the newest 30 of them. One may be under way.
CREATE TABLE badges.recounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- The last person that it has reached.
    after bigint NOT NULL DEFAULT 0,
    people bigint NOT NULL DEFAULT 0,
    -- How many counts were too low, and how many badges were missing.
    corrected bigint NOT NULL DEFAULT 0,
    awarded bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX recounts_under_way ON badges.recounts ((true)) WHERE ended_at IS NULL;

-- Registered before the first worker starts, so that no job is enqueued in another queue.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('badges.notify', 1, 'notices', 2, 20), ('badges.recount', 1, 'people', 3, 6);

-- The app whose devices get notices about badges.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;

-- Behind the modules that know deeds.
INSERT INTO people.holders VALUES ('badges', 45, false);
