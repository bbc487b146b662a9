-- Secret shoppers, the missions that are open to them, and who holds which slot.
--
-- A row of missions.assignments is one shopper at one slot of one mission, from the offer to the
-- end; missions.guard_assignment says which way it may go. What must never be is refused by
-- indexes, whoever writes: two people at one slot, one person twice at a mission, the same person
-- again at a branch too soon. All functions lock the mission first, then the shopper, then the
-- assignment.

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
    person_id bigint NOT NULL REFERENCES notification.people,
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
    person_id bigint NOT NULL REFERENCES notification.people,
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
    person_id bigint PRIMARY KEY REFERENCES notification.people,
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

CREATE TYPE missions.mission_state AS ENUM ('open', 'cancelled', 'over');

CREATE TABLE missions.missions (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    branch_id bigint NOT NULL REFERENCES coupons.branches,
    establishment_id bigint NOT NULL REFERENCES coupons.establishments,
    opens_at timestamptz NOT NULL CHECK (isfinite(opens_at)),
    closes_at timestamptz NOT NULL CHECK (closes_at > opens_at AND isfinite(closes_at)),
    -- By the clocks of time_zone: the first day, and the one for which it counts against the
    -- shoppers' capacity, which is the last.
    first_day date NOT NULL,
    due_day date NOT NULL CHECK (due_day >= first_day),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- What the establishment pays, and the shopper's part of it, in minor units.
    paid bigint NOT NULL CHECK (paid BETWEEN 1 AND 1000000000),
    pay bigint NOT NULL CHECK (pay BETWEEN 1 AND paid),
    slots smallint NOT NULL DEFAULT 1 CHECK (slots BETWEEN 1 AND 100),
    -- 0: only not twice a day.
    rest_days smallint NOT NULL CHECK (rest_days BETWEEN 0 AND 3650),
    -- Of the shopper; null: missions.rules says.
    least_age smallint CHECK (least_age BETWEEN 16 AND 99),
    radius_m real NOT NULL DEFAULT 25000 CHECK (radius_m BETWEEN 100 AND 200000),
    least_quality real NOT NULL DEFAULT 0 CHECK (least_quality BETWEEN 0 AND 1),
    state missions.mission_state NOT NULL DEFAULT 'open',
    -- Assigned the moment that it is opened.
    is_urgent boolean NOT NULL DEFAULT false,
    -- Only operators assign it.
    is_locked boolean NOT NULL DEFAULT false,
    currency text NOT NULL DEFAULT 'CAD' CHECK (currency ~ '^[A-Z]{3}$'),
    time_zone text NOT NULL,
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- What the shopper may keep, such as a meal.
    freebies text CHECK (length(freebies) <= 500),
    -- Why it was cancelled.
    reason text CHECK (length(reason) <= 500),
    -- Why a slot stayed free, when it was last tried; null when all had a shopper.
    unfilled_reason text,
    -- Of the branch, for the shoppers near it.
    place geography(Point, 4326) NOT NULL
);
CREATE INDEX missions_open ON missions.missions (closes_at, id) WHERE state = 'open';

CREATE TYPE missions.task_kind AS ENUM ('interaction', 'photos', 'video', 'survey', 'report');

-- The checklist: interaction, photos and video come first, then the survey, then the report.
CREATE TABLE missions.tasks (
    mission_id bigint NOT NULL REFERENCES missions.missions,
    number smallint NOT NULL CHECK (number BETWEEN 1 AND 50),
    step smallint NOT NULL GENERATED ALWAYS AS (
        CASE kind WHEN 'survey' THEN 2 WHEN 'report' THEN 3 ELSE 1 END) STORED,
    kind missions.task_kind NOT NULL,
    is_required boolean NOT NULL DEFAULT true,
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    PRIMARY KEY (mission_id, number)
);

CREATE TYPE missions.assignment_state AS ENUM (
    'offered',
    'accepted',
    'arrived',
    'submitted',
    'paid',         -- approved, and paid by the transaction that approved it
    'rejected',     -- its submission is worth nothing
    'declined',
    'lapsed',       -- not answered in time
    'withdrawn',    -- by an operator, or because the mission was cancelled
    'missed');      -- accepted, and not done in time

CREATE TABLE missions.assignments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mission_id bigint NOT NULL REFERENCES missions.missions,
    person_id bigint NOT NULL REFERENCES missions.shoppers,
    branch_id bigint NOT NULL,
    offered_at timestamptz NOT NULL,
    -- When an offer ends that nobody answers.
    answer_by timestamptz NOT NULL,
    -- When it is missed: until they arrive the end of the mission, then so long after it as
    -- missions.rules says; what is given back gets at least as long again.
    due_at timestamptz NOT NULL,
    accepted_at timestamptz,
    arrived_at timestamptz,
    submitted_at timestamptz,
    ended_at timestamptz,
    -- When the person is reminded next of what they have to do; null: no more.
    remind_at timestamptz CHECK (remind_at IS NULL
        OR state IN ('offered', 'accepted', 'arrived')),
    due_day date NOT NULL,
    -- Days on which the person may not be at the branch again: from the first on which they may be
    -- there for this mission, or were; empty once it is known that they never were.
    barred daterange NOT NULL,
    -- What it was worth; null: an operator's choice.
    score bigint,
    -- The ledger's transaction.
    payment_id bigint UNIQUE,
    slot smallint NOT NULL CHECK (slot >= 1),
    distance_m real,
    -- Submissions that were given back.
    returns smallint NOT NULL DEFAULT 0,
    state missions.assignment_state NOT NULL DEFAULT 'offered',
    -- Of the app, by which it repeats a submission whose answer was lost.
    request_id text CHECK (length(request_id) BETWEEN 1 AND 100),
    -- Who last decided by hand, and why; the reason is for the person to read.
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    reason text CHECK (length(reason) <= 500),
    CHECK ((payment_id IS NOT NULL) = (state = 'paid')),
    CHECK (state NOT IN ('arrived', 'submitted', 'paid', 'rejected') OR arrived_at IS NOT NULL),
    CHECK ((ended_at IS NULL) = (state IN ('offered', 'accepted', 'arrived', 'submitted'))),
    CONSTRAINT assignments_rest EXCLUDE USING gist
        (branch_id WITH =, person_id WITH =, barred WITH &&)
) WITH (fillfactor = 80);
-- Of any number of shoppers one holds a slot; once it is paid it stays theirs.
CREATE UNIQUE INDEX assignments_slot ON missions.assignments (mission_id, slot)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE UNIQUE INDEX assignments_once ON missions.assignments (mission_id, person_id)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid');
CREATE INDEX assignments_mission ON missions.assignments (mission_id, person_id);
-- What counts against capacity: a visit does, whatever became of it.
CREATE INDEX assignments_held ON missions.assignments (person_id, due_day)
    WHERE state IN ('offered', 'accepted') OR arrived_at IS NOT NULL;
CREATE INDEX assignments_live ON missions.assignments (person_id)
    WHERE state IN ('offered', 'accepted', 'arrived', 'submitted');
CREATE INDEX assignments_due ON missions.assignments (due_at)
    WHERE state IN ('accepted', 'arrived');
CREATE INDEX assignments_unanswered ON missions.assignments (answer_by) WHERE state = 'offered';
CREATE INDEX assignments_reminders ON missions.assignments (remind_at)
    WHERE remind_at IS NOT NULL;
CREATE INDEX assignments_submitted ON missions.assignments (submitted_at)
    WHERE state = 'submitted';

-- What was done of the checklist; the app keeps pictures elsewhere, and names them here.
CREATE TABLE missions.steps (
    assignment_id bigint NOT NULL REFERENCES missions.assignments,
    done_at timestamptz NOT NULL,
    number smallint NOT NULL,
    content jsonb NOT NULL CHECK (pg_column_size(content) <= 16384),
    PRIMARY KEY (assignment_id, number)
);

-- Each time that shoppers were sought for missions.
CREATE TABLE missions.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    total_score bigint NOT NULL,
    -- No assignment of these slots can be worth more.
    bound bigint NOT NULL,
    missions int NOT NULL,
    slots int NOT NULL,
    shoppers int NOT NULL,
    candidates int NOT NULL,
    offered int NOT NULL,
    seconds real NOT NULL,
    is_optimal boolean NOT NULL
);
CREATE INDEX runs_started ON missions.runs (started_at);

-- PostGIS by names that do not depend on the search path.
CREATE FUNCTION missions.point(longitude double precision, latitude double precision)
RETURNS geography LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN st_setsrid(st_makepoint(longitude, latitude), 4326)::geography;
CREATE FUNCTION missions.longitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_x(place::geometry);
CREATE FUNCTION missions.latitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_y(place::geometry);
-- Metres on the ellipsoid, for arrivals.
CREATE FUNCTION missions.distance(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_distance(one, other);
-- Metres on the sphere, at most 0.6 % off, for ways: an index has the nearest by it.
CREATE FUNCTION missions.way(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN one <-> other;
-- Whether it is worth to measure: true for all that are at most so many metres away, and some more.
CREATE FUNCTION missions.is_near(one geography, other geography, metres double precision)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN one && _st_expand(other, metres + 1);

-- The ways from state to state, and what never changes, whoever writes.
CREATE FUNCTION missions.guard_assignment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> NEW.state AND NOT (CASE OLD.state
        WHEN 'offered' THEN NEW.state IN ('accepted', 'declined', 'lapsed', 'withdrawn')
        WHEN 'accepted' THEN NEW.state IN ('arrived', 'declined', 'withdrawn', 'missed')
        WHEN 'arrived' THEN NEW.state IN ('submitted', 'withdrawn', 'missed')
        WHEN 'submitted' THEN NEW.state IN ('arrived', 'paid', 'rejected')
        ELSE false END) THEN
        RAISE EXCEPTION 'assignment % is %: it cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF (OLD.id, OLD.mission_id, OLD.person_id, OLD.branch_id, OLD.slot, OLD.offered_at,
            OLD.due_day, OLD.score)
        IS DISTINCT FROM (NEW.id, NEW.mission_id, NEW.person_id, NEW.branch_id, NEW.slot,
            NEW.offered_at, NEW.due_day, NEW.score)
        OR OLD.arrived_at IS NOT NULL AND (OLD.arrived_at, OLD.barred)
            IS DISTINCT FROM (NEW.arrived_at, NEW.barred)
        OR OLD.ended_at IS NOT NULL
            AND to_jsonb(OLD) - 'reason' - 'actor' <> to_jsonb(NEW) - 'reason' - 'actor'
    THEN
        RAISE EXCEPTION 'assignment % keeps who was sent where, and how it ended', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guards_assignment BEFORE UPDATE ON missions.assignments
    FOR EACH ROW EXECUTE FUNCTION missions.guard_assignment();

-- What a person has not been told yet, because it waits for the morning, is not so any more.
CREATE FUNCTION missions.withdraw_notices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notification.withdraw_held(ARRAY[NEW.person_id], ARRAY[CASE TG_TABLE_NAME
        WHEN 'shoppers' THEN 'shopper:' || NEW.person_id
        ELSE 'mission:' || (to_jsonb(NEW) ->> 'id') END], 'it is not so any more');
    RETURN NULL;
END $$;
CREATE TRIGGER withdraws_notices AFTER UPDATE OF state ON missions.assignments
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION missions.withdraw_notices();
CREATE TRIGGER withdraws_notices AFTER UPDATE OF state ON missions.shoppers
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION missions.withdraw_notices();

CREATE FUNCTION missions.guard_mission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'open' AND NEW.state <> OLD.state THEN
        RAISE EXCEPTION 'mission % is %: it cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF (OLD.id, OLD.branch_id, OLD.establishment_id, OLD.paid, OLD.pay, OLD.currency, OLD.slots,
            OLD.opens_at, OLD.closes_at, OLD.first_day, OLD.due_day, OLD.rest_days, OLD.time_zone)
        IS DISTINCT FROM (NEW.id, NEW.branch_id, NEW.establishment_id, NEW.paid, NEW.pay,
            NEW.currency, NEW.slots, NEW.opens_at, NEW.closes_at, NEW.first_day, NEW.due_day,
            NEW.rest_days, NEW.time_zone) THEN
        RAISE EXCEPTION 'mission % keeps where and when it is, and what it pays', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guards_mission BEFORE UPDATE ON missions.missions
    FOR EACH ROW EXECUTE FUNCTION missions.guard_mission();

CREATE FUNCTION missions.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'missions.% is kept: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON missions.missions
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();
CREATE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON missions.assignments
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();
CREATE TRIGGER is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON missions.tasks
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();

-- Known before the first worker has said so.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('missions.assign', 1, 'missions', 1, 20), ('missions.tell', 1, 'missions', 1, 50),
    ('missions.hire', 1, 'missions', 2, 10), ('missions.sweep', 1, 'missions', 1, 5);
