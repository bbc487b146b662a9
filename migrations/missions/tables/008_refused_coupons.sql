-- Coupons of missions that could not be granted, and indexes of listings.

-- The coupons of approved submissions that were refused, until they are granted or given up.
CREATE TABLE missions.refused_coupons (
    assignment_id bigint NOT NULL REFERENCES missions.assignments,
    -- As in missions.rewards.
    number smallint NOT NULL,
    refused_at timestamptz NOT NULL,
    -- A reason of coupons.grant_coupon, such as closed; or used: the app has used the origin for
    -- another coupon.
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 100),
    PRIMARY KEY (assignment_id, number)
);
CREATE INDEX missions_branch ON missions.missions (branch_id, id);
CREATE INDEX missions_state ON missions.missions (state, id);

-- It takes the numbers of the coupons now; see routines/rewards.sql.
DROP FUNCTION IF EXISTS missions.grant_rewards(missions.assignments);
