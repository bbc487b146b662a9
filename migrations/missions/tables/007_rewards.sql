-- Coupons as rewards of missions, and the codes of reviews.

-- The coupons that each shopper gets whose submission is approved.
CREATE TABLE missions.rewards (
    mission_id bigint NOT NULL REFERENCES missions.missions,
    -- From 1; part of the origin of the coupon: mission:ASSIGNMENT:NUMBER.
    number smallint NOT NULL CHECK (number BETWEEN 1 AND 10),
    establishment_id bigint NOT NULL REFERENCES establishments.establishments,
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- How long the coupon is valid, from the approval.
    days smallint NOT NULL CHECK (days BETWEEN 1 AND 365),
    PRIMARY KEY (mission_id, number)
);

ALTER TABLE missions.assignments
    -- Why the last review returned or rejected the submission, and the tasks that it is about.
    ADD review_code text COLLATE "C"
        CHECK (review_code IN ('faces', 'wrong_place', 'unclear', 'copied', 'incomplete')),
    ADD review_tasks int[] NOT NULL DEFAULT '{}' CHECK (cardinality(review_tasks) <= 50),
    -- The tasks whose pictures had to be deleted because of faces; never fewer.
    ADD faces_tasks int[] NOT NULL DEFAULT '{}' CHECK (cardinality(faces_tasks) <= 50);

-- They take or return more now; see routines.
DROP FUNCTION IF EXISTS missions.open_mission(bigint, text, timestamptz, timestamptz, bigint,
    bigint, jsonb, text, int, text, real, real, int, int, boolean, text, text);
DROP FUNCTION IF EXISTS missions.review(bigint, text, text, text, timestamptz);
DROP FUNCTION IF EXISTS missions.listing(bigint);
DROP FUNCTION IF EXISTS missions.done(bigint, bigint, int);
