-- Queries of the shoppers' app.

-- A person's offers and unfinished assignments, by deadline; without expired offers.
--   open_tasks  the number of tasks that are not done
--   reason      why a submission was returned
CREATE OR REPLACE FUNCTION missions.listing(person bigint)
RETURNS TABLE (assignment_id bigint, mission_id bigint, state missions.assignment_state,
    title text, branch_id bigint, branch text, establishment text, longitude double precision,
    latitude double precision, distance_m real, opens_at timestamptz, closes_at timestamptz,
    due_at timestamptz, time_zone text, pay bigint, currency text, freebies text,
    answer_by timestamptz, open_tasks int, reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT a.id, a.mission_id, a.state, m.title, a.branch_id, b.name, e.name,
        missions.longitude(m.place), missions.latitude(m.place), a.distance_m, m.opens_at,
        m.closes_at, a.due_at, m.time_zone, m.pay, m.currency, m.freebies, a.answer_by,
        (SELECT count(*)::int FROM missions.tasks t WHERE t.mission_id = m.id AND NOT EXISTS (
            SELECT FROM missions.steps s WHERE s.assignment_id = a.id AND s.number = t.number)),
        a.reason
    FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
    JOIN establishments.branches b ON b.id = a.branch_id
    JOIN establishments.establishments e ON e.id = m.establishment_id
    WHERE a.person_id = $1 AND a.state IN ('offered', 'accepted', 'arrived', 'submitted')
      AND (a.state <> 'offered' OR a.answer_by > clock_timestamp())
    ORDER BY a.due_at, a.id;
END $$;

-- The checklist of an assignment; no rows if it is not the person's.
CREATE OR REPLACE FUNCTION missions.checklist(person bigint, assignment bigint)
RETURNS TABLE (number smallint, step smallint, kind missions.task_kind, title text,
    is_required boolean, is_open boolean, is_done boolean, done_at timestamptz, content jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT t.number, t.step, t.kind, t.title, t.is_required,
        a.state = 'arrived' AND t.step <= missions.open_step(a.id), s.number IS NOT NULL,
        s.done_at, s.content
    FROM missions.assignments a JOIN missions.tasks t ON t.mission_id = a.mission_id
    LEFT JOIN missions.steps s ON s.assignment_id = a.id AND s.number = t.number
    WHERE a.id = $2 AND a.person_id = $1 ORDER BY t.number;
END $$;

-- A person's own state as a shopper; no row if they are not a shopper.
CREATE OR REPLACE FUNCTION missions.standing(person bigint)
RETURNS TABLE (state missions.shopper_state, state_since timestamptz, reason text, quality real,
    reviewed int, good int, completed int, missed int, radius_m real, daily_capacity smallint,
    expected_pay bigint, away_until timestamptz, has_home boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.state, s.state_since, s.reason, s.quality, s.reviewed, s.good,
        s.completed, s.missed, s.radius_m, s.daily_capacity, s.expected_pay, s.away_until,
        s.home IS NOT NULL
    FROM missions.shoppers s WHERE s.person_id = $1;
END $$;
