-- The rules of missions, reviews and shoppers.

CREATE SCHEMA missions;

CREATE TABLE missions.rules (
    -- Hiring: at least hire_reviews reviewed answers within reviews_within, the last of them within
    -- active_within, and a lower Wilson bound (97.5 %) of the share of good ones of hire_from.
    hire_reviews int NOT NULL DEFAULT 10 CHECK (hire_reviews >= 1),
    reviews_within interval NOT NULL DEFAULT '365 days' CHECK (reviews_within > '0 seconds'),
    active_within interval NOT NULL DEFAULT '60 days' CHECK (active_within > '0 seconds'),
    hire_from real NOT NULL DEFAULT 0.7 CHECK (hire_from BETWEEN 0 AND 1),
    -- A shopper below this is suspended. Lower than hire_from to avoid flapping.
    suspend_below real NOT NULL DEFAULT 0.55 CHECK (suspend_below <= hire_from),
    min_age smallint NOT NULL DEFAULT 16 CHECK (min_age BETWEEN 16 AND 99),
    -- True: the rules hire. False: they make candidates, whom an operator hires.
    is_automatic boolean NOT NULL DEFAULT false,
    -- Minimum days between two visits of a shopper to a branch, in the mission's time zone.
    rest_days smallint NOT NULL DEFAULT 90 CHECK (rest_days BETWEEN 0 AND 3650),
    -- The term of an offer: a quarter of the time until the mission closes, at most offer_for and
    -- at least offer_at_least.
    offer_for interval NOT NULL DEFAULT '24 hours' CHECK (offer_for > '0 seconds'),
    offer_at_least interval NOT NULL DEFAULT '15 minutes' CHECK (offer_at_least > '0 seconds'),
    -- Answers are accepted for this long after an offer expires, to allow for latency.
    offer_grace interval NOT NULL DEFAULT '60 seconds' CHECK (offer_grace >= '0 seconds'),
    -- Missions that close within this time are not offered.
    lead interval NOT NULL DEFAULT '1 hour' CHECK (lead >= '0 seconds'),
    -- Reminders of an accepted mission: this long before its deadline.
    remind_before interval[] NOT NULL DEFAULT '{24 hours,3 hours}'
        CHECK (cardinality(remind_before) <= 10),
    -- How long after a mission's end a shopper who arrived may submit.
    finish_within interval NOT NULL DEFAULT '24 hours' CHECK (finish_within >= '0 seconds'),
    -- Arrival: within arrival_m of the branch, after subtracting the accuracy of the position, up
    -- to counted_accuracy_m. Positions less accurate than worst_accuracy_m are refused.
    arrival_m real NOT NULL DEFAULT 100 CHECK (arrival_m > 0),
    counted_accuracy_m real NOT NULL DEFAULT 50 CHECK (counted_accuracy_m >= 0),
    worst_accuracy_m real NOT NULL DEFAULT 200 CHECK (worst_accuracy_m > 0),
    -- The maximum number of candidates per mission, nearest first.
    candidates int NOT NULL DEFAULT 50 CHECK (candidates BETWEEN 1 AND 1000),
    -- Weights of the parts of a score, in points: see Score.swift.
    quality_points int NOT NULL DEFAULT 400 CHECK (quality_points BETWEEN 0 AND 1000000),
    nearness_points int NOT NULL DEFAULT 200 CHECK (nearness_points BETWEEN 0 AND 1000000),
    pay_points int NOT NULL DEFAULT 150 CHECK (pay_points BETWEEN 0 AND 1000000),
    waiting_points int NOT NULL DEFAULT 150 CHECK (waiting_points BETWEEN 0 AND 1000000),
    reliability_points int NOT NULL DEFAULT 100 CHECK (reliability_points BETWEEN 0 AND 1000000),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO missions.rules DEFAULT VALUES;

-- Verdicts of reviewers on survey answers and missions: the only source of a person's quality,
-- which is recomputed from them.
CREATE TABLE missions.reviews (
    person_id bigint NOT NULL REFERENCES people.people,
    reviewed_at timestamptz NOT NULL,
    is_good boolean NOT NULL,
    -- The thing reviewed, such as survey:12.
    source text COLLATE "C" NOT NULL
        CHECK (length(source) BETWEEN 3 AND 100 AND source LIKE '_%:_%'),
    PRIMARY KEY (person_id, source)
);

-- Fraud flags; a person with an open flag is not hired and gets no offers.
CREATE TABLE missions.flags (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people,
    raised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cleared_at timestamptz,
    -- For operators; never shown to the person.
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500)
);
CREATE INDEX flags_standing ON missions.flags (person_id) WHERE cleared_at IS NULL;

CREATE TYPE missions.shopper_state AS ENUM (
    'candidate',    -- meets the rules: an operator decides
    'active',
    'suspended',    -- gets no offers; may do accepted missions
    'refused',      -- by an operator
    'left');        -- at their own request

-- People who are or were shoppers or candidates.
CREATE TABLE missions.shoppers (
    person_id bigint PRIMARY KEY REFERENCES people.people,
    state_since timestamptz NOT NULL,
    hired_at timestamptz,
    -- Gets no offers before this time.
    away_until timestamptz,
    -- When the last mission was offered; before the first offer, when they were hired.
    waiting_since timestamptz,
    -- The pay that they expect of a mission, in minor units; null: any.
    expected_pay bigint CHECK (expected_pay BETWEEN 1 AND 1000000000),
    state missions.shopper_state NOT NULL,
    -- The number of reviews that count and of good ones, and the lower Wilson bound of the share.
    reviewed int NOT NULL,
    good int NOT NULL CHECK (good BETWEEN 0 AND reviewed),
    quality real NOT NULL CHECK (quality BETWEEN 0 AND 1),
    -- The number of accepted missions that they completed and missed.
    completed int NOT NULL DEFAULT 0,
    missed int NOT NULL DEFAULT 0,
    -- The maximum travel distance.
    radius_m real NOT NULL DEFAULT 10000 CHECK (radius_m BETWEEN 100 AND 200000),
    -- The maximum number of missions on one day.
    daily_capacity smallint NOT NULL DEFAULT 2 CHECK (daily_capacity BETWEEN 1 AND 20),
    -- WGS 84, longitude first; without a home, a shopper gets no offers.
    home geography(Point, 4326),
    -- Establishments that they work for or have another conflict of interest with.
    works_for bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(works_for) <= 100),
    -- The operator who decided last; null: the rules did. The rules never lift a suspension or
    -- refusal by an operator, but they suspend shoppers whom an operator hired.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    -- Why they are in this state; shown to them.
    reason text CHECK (length(reason) <= 500)
) WITH (fillfactor = 80);
CREATE INDEX shoppers_home ON missions.shoppers USING gist (home)
    WHERE state = 'active' AND home IS NOT NULL;
CREATE INDEX shoppers_state ON missions.shoppers (state, person_id);

-- The deadline of an offer, and when the shopper is reminded of it.
CREATE TYPE missions.answer_term AS (answer_by timestamptz, remind_at timestamptz);

-- The app that receives the notices of missions.
INSERT INTO notification.apps VALUES ('survey') ON CONFLICT DO NOTHING;
