-- The rules of missions, and the people who are sent on them.

CREATE SCHEMA missions;

CREATE TABLE missions.rules (
    -- Who is hired: at least so many reviewed answers in such a time, the last of them recently,
    -- and a share of good ones that is at least this with 97.5 % confidence (Wilson's bound).
    hire_reviews int NOT NULL DEFAULT 10 CHECK (hire_reviews >= 1),
    reviews_within interval NOT NULL DEFAULT '365 days' CHECK (reviews_within > '0 seconds'),
    active_within interval NOT NULL DEFAULT '60 days' CHECK (active_within > '0 seconds'),
    hire_from real NOT NULL DEFAULT 0.7 CHECK (hire_from BETWEEN 0 AND 1),
    -- Below that a shopper is suspended; lower, so that nobody goes in and out.
    suspend_below real NOT NULL DEFAULT 0.55 CHECK (suspend_below <= hire_from),
    least_age smallint NOT NULL DEFAULT 16 CHECK (least_age BETWEEN 16 AND 99),
    -- Whether the rule hires; otherwise it names candidates, and an operator does.
    is_automatic boolean NOT NULL DEFAULT false,
    -- Days between two visits of one shopper to one branch, by the clocks there.
    rest_days smallint NOT NULL DEFAULT 90 CHECK (rest_days BETWEEN 0 AND 3650),
    -- How long an offer waits for its answer: at most so long, and at most a quarter of what is
    -- left until the mission ends, but not less than offer_at_least.
    offer_for interval NOT NULL DEFAULT '24 hours' CHECK (offer_for > '0 seconds'),
    offer_at_least interval NOT NULL DEFAULT '15 minutes' CHECK (offer_at_least > '0 seconds'),
    -- Answers on their way when an offer ends.
    offer_grace interval NOT NULL DEFAULT '60 seconds' CHECK (offer_grace >= '0 seconds'),
    -- Nobody is sent to a mission that ends sooner.
    lead interval NOT NULL DEFAULT '1 hour' CHECK (lead >= '0 seconds'),
    -- When who accepted is reminded, before the mission ends.
    remind_before interval[] NOT NULL DEFAULT '{24 hours,3 hours}'
        CHECK (cardinality(remind_before) <= 10),
    -- So long after a mission's end what was begun there may be finished.
    finish_within interval NOT NULL DEFAULT '24 hours' CHECK (finish_within >= '0 seconds'),
    -- How near to the branch one has arrived; of a position's own accuracy at most so much counts,
    -- and one that is vaguer than worst_accuracy_m says nothing.
    arrival_m real NOT NULL DEFAULT 100 CHECK (arrival_m > 0),
    counted_accuracy_m real NOT NULL DEFAULT 50 CHECK (counted_accuracy_m >= 0),
    worst_accuracy_m real NOT NULL DEFAULT 200 CHECK (worst_accuracy_m > 0),
    -- So many shoppers are looked at for a mission, the nearest ones.
    candidates int NOT NULL DEFAULT 50 CHECK (candidates BETWEEN 1 AND 1000),
    -- What counts in a score, in points: see Score.swift.
    quality_points int NOT NULL DEFAULT 400 CHECK (quality_points BETWEEN 0 AND 1000000),
    nearness_points int NOT NULL DEFAULT 200 CHECK (nearness_points BETWEEN 0 AND 1000000),
    pay_points int NOT NULL DEFAULT 150 CHECK (pay_points BETWEEN 0 AND 1000000),
    waiting_points int NOT NULL DEFAULT 150 CHECK (waiting_points BETWEEN 0 AND 1000000),
    reliability_points int NOT NULL DEFAULT 100 CHECK (reliability_points BETWEEN 0 AND 1000000),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO missions.rules DEFAULT VALUES;

-- What reviewers thought of answers to surveys, and of missions: the only ground of a person's
-- quality, which is computed from them anew.
CREATE TABLE missions.reviews (
    person_id bigint NOT NULL REFERENCES people.people,
    reviewed_at timestamptz NOT NULL,
    is_good boolean NOT NULL,
    -- What was reviewed, such as survey:12.
    source text COLLATE "C" NOT NULL
        CHECK (length(source) BETWEEN 3 AND 100 AND source LIKE '_%:_%'),
    PRIMARY KEY (person_id, source)
);

-- Suspicions of fraud; while one stands nobody is hired or sent.
CREATE TABLE missions.flags (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people,
    raised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cleared_at timestamptz,
    -- For operators, not for the person.
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500)
);
CREATE INDEX flags_standing ON missions.flags (person_id) WHERE cleared_at IS NULL;

CREATE TYPE missions.shopper_state AS ENUM (
    'candidate',    -- good enough: an operator decides
    'active',
    'suspended',    -- gets no offers; what they accepted they may do
    'refused',      -- by an operator
    'left');        -- by their own wish

-- People whom hiring has found good enough at some time.
CREATE TABLE missions.shoppers (
    person_id bigint PRIMARY KEY REFERENCES people.people,
    state_since timestamptz NOT NULL,
    hired_at timestamptz,
    -- Gets no offers before.
    away_until timestamptz,
    -- When the last mission was offered or, before the first, when they were hired.
    waiting_since timestamptz,
    -- What a mission should pay, in minor units; null: anything.
    expected_pay bigint CHECK (expected_pay BETWEEN 1 AND 1000000000),
    state missions.shopper_state NOT NULL,
    -- Reviews that count, those of them that are good, and Wilson's bound of the share.
    reviewed int NOT NULL,
    good int NOT NULL CHECK (good BETWEEN 0 AND reviewed),
    quality real NOT NULL CHECK (quality BETWEEN 0 AND 1),
    -- Of the missions they accepted.
    completed int NOT NULL DEFAULT 0,
    missed int NOT NULL DEFAULT 0,
    -- How far they travel.
    radius_m real NOT NULL DEFAULT 10000 CHECK (radius_m BETWEEN 100 AND 200000),
    -- Missions that they take on one day.
    daily_capacity smallint NOT NULL DEFAULT 2 CHECK (daily_capacity BETWEEN 1 AND 20),
    -- Where they set out from, WGS 84, longitude first; without it there are no offers.
    home geography(Point, 4326),
    -- Establishments they work for, or are otherwise too near to.
    works_for bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(works_for) <= 100),
    -- The operator who last decided; null: the rule did. Whom an operator suspended or refused the
    -- rule leaves alone; whom one hired it suspends like others.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    -- Why they are in this state, for them to read.
    reason text CHECK (length(reason) <= 500)
) WITH (fillfactor = 80);
CREATE INDEX shoppers_home ON missions.shoppers USING gist (home)
    WHERE state = 'active' AND home IS NOT NULL;
CREATE INDEX shoppers_state ON missions.shoppers (state, person_id);

-- Of an offer: until when it is kept, and when who has not answered is reminded.
CREATE TYPE missions.answer_term AS (answer_by timestamptz, remind_at timestamptz);

-- The app whose devices hear of missions.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;
