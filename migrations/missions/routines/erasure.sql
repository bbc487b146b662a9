-- Blocked and erased people, what is known of a person, and how long contents are kept; see
-- people.holders and people.retention_rules.

-- Ends the assignments of a person that are in some states, without payment; returns how many.
-- Nobody is notified.
CREATE OR REPLACE FUNCTION missions.end_assignments(
    person bigint, among missions.assignment_state[], reason text
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz;
    locked bigint[];
    held missions.assignments;
    ended bigint := 0;
BEGIN
    locked := ARRAY(SELECT m.id FROM missions.missions m WHERE m.id IN (
        SELECT a.mission_id FROM missions.assignments a
        WHERE a.person_id = person AND a.state IN ('offered', 'accepted', 'arrived', 'submitted'))
    ORDER BY m.id FOR NO KEY UPDATE);
    PERFORM FROM missions.shoppers s WHERE s.person_id = person FOR NO KEY UPDATE;
    at := clock_timestamp();
    -- Offers made concurrently are left to recall(): their missions are not locked here.
    FOR held IN SELECT a.* FROM missions.assignments a
        WHERE a.person_id = person AND a.state IN ('offered', 'accepted', 'arrived', 'submitted')
          AND a.state = ANY (among) AND a.mission_id = ANY (locked) ORDER BY a.id
    LOOP
        PERFORM missions.finish(held, CASE held.state WHEN 'submitted' THEN 'rejected'
            ELSE 'withdrawn' END::missions.assignment_state, at, NULL, reason, NULL);
        ended := ended + 1;
    END LOOP;
    RETURN ended;
END $$;

-- Withdraws the offers of a blocked person, and the missions that they accepted and have not begun.
-- objections() and candidates() make no others, and hiring and pay ask too.
CREATE OR REPLACE FUNCTION missions.block(person bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM missions.end_assignments(person, '{offered,accepted}', 'the account is blocked');
END $$;

-- Deletes what a person wrote, photographed and was judged by. Assignments stay by id alone, as
-- slots, rest periods and the pay in the ledger depend on them; and so does the shopper that they
-- refer to.
CREATE OR REPLACE FUNCTION missions.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    steps bigint;
    reviews bigint;
    flags bigint;
    coupons bigint;
    shoppers bigint;
    assignments bigint;
BEGIN
    PERFORM missions.end_assignments($1, '{offered,accepted,arrived,submitted}', NULL);
    DELETE FROM missions.steps s USING missions.assignments a
    WHERE a.person_id = $1 AND s.assignment_id = a.id;
    GET DIAGNOSTICS steps = ROW_COUNT;
    DELETE FROM missions.reviews r WHERE r.person_id = $1;
    GET DIAGNOSTICS reviews = ROW_COUNT;
    DELETE FROM missions.refused_coupons c USING missions.assignments a
    WHERE a.person_id = $1 AND c.assignment_id = a.id;
    GET DIAGNOSTICS coupons = ROW_COUNT;
    DELETE FROM missions.flags f WHERE f.person_id = $1;
    GET DIAGNOSTICS flags = ROW_COUNT;
    UPDATE missions.shoppers s SET state = 'left', state_since = clock_timestamp(),
        hired_at = NULL, away_until = NULL, waiting_since = NULL, expected_pay = NULL,
        reviewed = 0, good = 0, quality = 0, completed = 0, missed = 0, radius_m = 10000,
        daily_capacity = 2, home = NULL, works_for = '{}', actor = NULL, reason = NULL
    WHERE s.person_id = $1 AND (s.state <> 'left' OR s.home IS NOT NULL OR s.works_for <> '{}'
        OR s.hired_at IS NOT NULL OR s.waiting_since IS NOT NULL OR s.away_until IS NOT NULL
        OR s.expected_pay IS NOT NULL OR s.reviewed + s.completed + s.missed > 0
        OR s.radius_m <> 10000 OR s.daily_capacity <> 2 OR s.reason IS NOT NULL
        OR s.actor IS NOT NULL);
    GET DIAGNOSTICS shoppers = ROW_COUNT;
    UPDATE missions.assignments a SET reason = NULL, request_id = NULL, distance_m = NULL,
        review_code = NULL, review_tasks = '{}'
    WHERE a.person_id = $1 AND (a.reason IS NOT NULL OR a.request_id IS NOT NULL
        OR a.distance_m IS NOT NULL OR a.review_code IS NOT NULL OR a.review_tasks <> '{}');
    GET DIAGNOSTICS assignments = ROW_COUNT;
    RETURN QUERY VALUES
        ('missions.steps', 'deleted', steps, NULL),
        ('missions.reviews', 'deleted', reviews, NULL),
        ('missions.flags', 'deleted', flags, NULL),
        ('missions.refused_coupons', 'deleted', coupons, NULL),
        ('missions.shoppers', 'anonymized', shoppers, 'assignments refer to the id'),
        ('missions.assignments', 'anonymized', assignments,
            'by id alone: the visits of branches, and what was paid for them');
END $$;

-- Returns all that is known of a person. Reasons of flags are for operators alone.
CREATE OR REPLACE FUNCTION missions.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'shoppers', coalesce((SELECT jsonb_agg(to_jsonb(s) - 'person_id' - 'home' - 'actor'
                || jsonb_build_object('state_since', people.written(s.state_since),
                    'hired_at', people.written(s.hired_at),
                    'away_until', people.written(s.away_until),
                    'waiting_since', people.written(s.waiting_since),
                    'home_longitude', missions.longitude(s.home),
                    'home_latitude', missions.latitude(s.home)))
            FROM missions.shoppers s WHERE s.person_id = $1), '[]'),
        'assignments', coalesce((SELECT jsonb_agg(jsonb_build_object('id', a.id,
                'mission', m.title, 'branch', b.name, 'state', a.state,
                'offered_at', people.written(a.offered_at),
                'accepted_at', people.written(a.accepted_at),
                'arrived_at', people.written(a.arrived_at),
                'submitted_at', people.written(a.submitted_at),
                'ended_at', people.written(a.ended_at), 'pay', m.pay, 'currency', m.currency,
                'distance_m', a.distance_m, 'request_id', a.request_id, 'reason', a.reason,
                'review_code', a.review_code, 'refused_coupons', (
                    SELECT jsonb_object_agg(c.number, c.reason) FROM missions.refused_coupons c
                    WHERE c.assignment_id = a.id))
                ORDER BY a.id)
            FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
            JOIN establishments.branches b ON b.id = a.branch_id
            WHERE a.person_id = $1), '[]'),
        'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('assignment', s.assignment_id,
                'number', s.number, 'done_at', people.written(s.done_at), 'content', s.content)
                ORDER BY s.assignment_id, s.number)
            FROM missions.assignments a JOIN missions.steps s ON s.assignment_id = a.id
            WHERE a.person_id = $1), '[]'),
        'reviews', coalesce((SELECT jsonb_agg(jsonb_build_object('source', r.source,
                'is_good', r.is_good, 'reviewed_at', people.written(r.reviewed_at))
                ORDER BY r.reviewed_at, r.source)
            FROM missions.reviews r WHERE r.person_id = $1), '[]'),
        'flags', coalesce((SELECT jsonb_agg(jsonb_build_object(
                'raised_at', people.written(f.raised_at),
                'cleared_at', people.written(f.cleared_at)) ORDER BY f.id)
            FROM missions.flags f WHERE f.person_id = $1), '[]'));
END $$;

-- Deletes the results of tasks from before a time, of assignments that have ended.
CREATE OR REPLACE FUNCTION missions.forget_steps(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM missions.steps s JOIN missions.assignments a ON a.id = s.assignment_id
            WHERE s.done_at < before AND a.ended_at IS NOT NULL LIMIT max_rows) AS old);
    END IF;
    DELETE FROM missions.steps d USING (
        SELECT s.assignment_id, s.number
        FROM missions.steps s JOIN missions.assignments a ON a.id = s.assignment_id
        WHERE s.done_at < before AND a.ended_at IS NOT NULL
        ORDER BY s.done_at LIMIT max_rows FOR UPDATE OF s SKIP LOCKED
    ) AS old
    WHERE d.assignment_id = old.assignment_id AND d.number = old.number;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;
