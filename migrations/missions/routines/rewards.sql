-- Coupons as rewards of missions.

-- Raises an error unless these can be the coupons of a mission; see missions.open_mission.
CREATE OR REPLACE FUNCTION missions.expect_rewards(coupons jsonb) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    reward record;
BEGIN
    PERFORM errand.expect(CASE WHEN jsonb_typeof(coupons) = 'array'
        THEN jsonb_array_length(coupons) <= 10 END, 'coupons: expected an array of at most 10');
    PERFORM errand.expect((SELECT coalesce(bool_and((
            jsonb_typeof(c -> 'establishment') = 'number'
            AND c ->> 'establishment' ~ '^[1-9][0-9]{0,17}$'
            AND jsonb_typeof(c -> 'days') = 'number' AND c ->> 'days' ~ '^[1-9][0-9]{0,2}$'
            AND (c ->> 'days')::int <= 365 AND jsonb_typeof(c -> 'title') = 'string'
            AND length(c ->> 'title') BETWEEN 1 AND 200 AND c ->> 'title' !~ '[[:cntrl:]]'
            ) IS TRUE), true) FROM jsonb_array_elements(coupons) c),
        'coupons: expected each to have an establishment, a title of 1 to 200 characters on one '
        'line, and days, 1 to 365');
    FOR reward IN
        SELECT DISTINCT (c ->> 'establishment')::bigint AS establishment
        FROM jsonb_array_elements(coupons) c ORDER BY 1
    LOOP
        PERFORM establishments.expect_establishment(reward.establishment);
        IF EXISTS (SELECT FROM establishments.establishments e
            WHERE e.id = reward.establishment AND e.closed_at IS NOT NULL) THEN
            PERFORM errand.refuse('closed',
                format('coupons: establishment %s is closed', reward.establishment));
        END IF;
    END LOOP;
END $$;

-- Adds the coupons to a mission that is opened.
CREATE OR REPLACE FUNCTION missions.add_rewards(mission bigint, coupons jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO missions.rewards (mission_id, number, establishment_id, title, days)
    SELECT mission, c.number, (c.coupon ->> 'establishment')::bigint, c.coupon ->> 'title',
        (c.coupon ->> 'days')::int
    FROM jsonb_array_elements(coupons) WITH ORDINALITY AS c (coupon, number);
END $$;

-- Grants coupons of an approved submission. One that is refused, as its establishment has closed
-- since, is kept in refused_coupons: the work is paid all the same. So is one whose origin an app
-- has used for another coupon. Returns how many were granted.
--   numbers  of the mission's coupons; null: all of them
CREATE OR REPLACE FUNCTION missions.grant_rewards(
    held missions.assignments, numbers int[] DEFAULT NULL
) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    starts_at CONSTANT timestamptz := clock_timestamp();
    reward missions.rewards;
    why text;
    granted int := 0;
BEGIN
    FOR reward IN
        SELECT * FROM missions.rewards r
        WHERE r.mission_id = held.mission_id AND coalesce(r.number = ANY (numbers), true)
        ORDER BY r.number
    LOOP
        BEGIN
            PERFORM coupons.grant_coupon(held.person_id, reward.establishment_id, reward.title,
                starts_at + make_interval(days => reward.days),
                'mission:' || held.id || ':' || reward.number, starts_at);
            DELETE FROM missions.refused_coupons c
            WHERE c.assignment_id = held.id AND c.number = reward.number;
            granted := granted + 1;
        EXCEPTION WHEN SQLSTATE 'RU001' OR unique_violation THEN
            GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
            INSERT INTO missions.refused_coupons AS c (assignment_id, number, refused_at, reason)
            VALUES (held.id, reward.number, starts_at,
                CASE SQLSTATE WHEN 'RU001' THEN coalesce(nullif(left(why, 100), ''), 'refused')
                ELSE 'used' END)
            ON CONFLICT ON CONSTRAINT refused_coupons_pkey DO UPDATE
            SET refused_at = excluded.refused_at, reason = excluded.reason;
        END;
    END LOOP;
    RETURN granted;
END $$;

-- Grants the refused coupons of an assignment again, valid from now; returns how many were granted,
-- and how many were refused again.
CREATE OR REPLACE FUNCTION missions.grant_refused(
    assignment bigint, OUT granted int, OUT refused int
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments := missions.hold_known(assignment);
    numbers CONSTANT int[] := ARRAY(
        SELECT c.number FROM missions.refused_coupons c WHERE c.assignment_id = assignment);
BEGIN
    granted := missions.grant_rewards(held, numbers);
    refused := cardinality(numbers) - granted;
END $$;

-- Gives up the refused coupons of an assignment, such as those of an establishment that stays
-- closed; returns how many. The shopper's list says, as before, that there is none.
CREATE OR REPLACE FUNCTION missions.give_up_refused(assignment bigint) RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held missions.assignments := missions.hold_known(assignment);
    given_up int;
BEGIN
    DELETE FROM missions.refused_coupons c WHERE c.assignment_id = held.id;
    GET DIAGNOSTICS given_up = ROW_COUNT;
    RETURN given_up;
END $$;

-- The coupons of a mission, as shoppers read them.
--   assignment  adds the id of the coupon that this assignment got; null: none is granted yet
CREATE OR REPLACE FUNCTION missions.rewards_of(mission bigint, assignment bigint DEFAULT NULL)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('establishment', e.name,
            'establishment_id', r.establishment_id, 'title', r.title, 'days', r.days)
            || CASE WHEN assignment IS NULL THEN '{}' ELSE jsonb_build_object('coupon', (
                SELECT c.id FROM missions.assignments a
                JOIN coupons.coupons c ON c.person_id = a.person_id
                    AND c.origin = 'mission:' || a.id || ':' || r.number
                WHERE a.id = assignment)) END
            ORDER BY r.number), '[]')
        FROM missions.rewards r
        JOIN establishments.establishments e ON e.id = r.establishment_id
        WHERE r.mission_id = mission);
END $$;
