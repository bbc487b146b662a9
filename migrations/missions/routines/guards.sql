-- Wrappers of PostGIS functions that do not depend on the caller's search path.

CREATE OR REPLACE FUNCTION missions.point(longitude double precision, latitude double precision)
RETURNS geography LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN st_setsrid(st_makepoint(longitude, latitude), 4326)::geography;

CREATE OR REPLACE FUNCTION missions.longitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_x(place::geometry);

CREATE OR REPLACE FUNCTION missions.latitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_y(place::geometry);
-- Distance on the ellipsoid in metres, for arrivals.
CREATE OR REPLACE FUNCTION missions.distance(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_distance(one, other);
-- Distance on the sphere in metres, at most 0.6 % off, for travel distances. A GiST index supports
-- nearest-neighbor searches with this operator.
CREATE OR REPLACE FUNCTION missions.way(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN one <-> other;
-- A cheap prefilter by bounding box: true for all points within the distance, and some others.
CREATE OR REPLACE FUNCTION missions.is_near(one geography, other geography, metres double precision)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN one && _st_expand(other, metres + 1);

-- Enforces the state machine and the immutable columns of assignments, for every writer.
CREATE OR REPLACE FUNCTION missions.guard_assignment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> NEW.state AND NOT (CASE OLD.state
        WHEN 'offered' THEN NEW.state IN ('accepted', 'declined', 'lapsed', 'withdrawn')
        WHEN 'accepted' THEN NEW.state IN ('arrived', 'declined', 'withdrawn', 'missed')
        WHEN 'arrived' THEN NEW.state IN ('submitted', 'withdrawn', 'missed')
        WHEN 'submitted' THEN NEW.state IN ('arrived', 'paid', 'rejected')
        ELSE false END) THEN
        RAISE EXCEPTION 'assignment % is %: cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    IF (OLD.id, OLD.mission_id, OLD.person_id, OLD.branch_id, OLD.slot, OLD.offered_at,
            OLD.due_day, OLD.score)
        IS DISTINCT FROM (NEW.id, NEW.mission_id, NEW.person_id, NEW.branch_id, NEW.slot,
            NEW.offered_at, NEW.due_day, NEW.score)
        OR OLD.arrived_at IS NOT NULL AND (OLD.arrived_at, OLD.barred)
            IS DISTINCT FROM (NEW.arrived_at, NEW.barred)
        OR OLD.ended_at IS NOT NULL
            AND (to_jsonb(OLD)
                    - '{reason,actor,request_id,distance_m}'::text[]
                    - '{review_code,review_tasks,faces_tasks}'::text[]
                <> to_jsonb(NEW)
                    - '{reason,actor,request_id,distance_m}'::text[]
                    - '{review_code,review_tasks,faces_tasks}'::text[]
            -- The erasure of the person forgets these.
            OR NEW.request_id <> OLD.request_id OR NEW.distance_m <> OLD.distance_m
            OR (NEW.request_id IS NOT NULL AND OLD.request_id IS NULL)
            OR (NEW.distance_m IS NOT NULL AND OLD.distance_m IS NULL))
    THEN
        RAISE EXCEPTION 'assignment %: its shopper, mission and result cannot be changed', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_assignment BEFORE UPDATE ON missions.assignments
    FOR EACH ROW EXECUTE FUNCTION missions.guard_assignment();

-- Withdraws held notices, such as those that wait for the end of quiet hours, when the state that
-- they are about has changed.
CREATE OR REPLACE FUNCTION missions.withdraw_notices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notification.withdraw_held(ARRAY[NEW.person_id], ARRAY[CASE TG_TABLE_NAME
        WHEN 'shoppers' THEN 'shopper:' || NEW.person_id
        ELSE 'mission:' || (to_jsonb(NEW) ->> 'id') END], 'no longer true');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER withdraws_notices AFTER UPDATE OF state ON missions.assignments
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION missions.withdraw_notices();
CREATE OR REPLACE TRIGGER withdraws_notices AFTER UPDATE OF state ON missions.shoppers
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION missions.withdraw_notices();

CREATE OR REPLACE FUNCTION missions.guard_mission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'open' AND NEW.state <> OLD.state THEN
        RAISE EXCEPTION 'mission % is %: cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    IF (OLD.id, OLD.branch_id, OLD.establishment_id, OLD.paid, OLD.pay, OLD.currency, OLD.slots,
            OLD.opens_at, OLD.closes_at, OLD.first_day, OLD.due_day, OLD.rest_days, OLD.time_zone)
        IS DISTINCT FROM (NEW.id, NEW.branch_id, NEW.establishment_id, NEW.paid, NEW.pay,
            NEW.currency, NEW.slots, NEW.opens_at, NEW.closes_at, NEW.first_day, NEW.due_day,
            NEW.rest_days, NEW.time_zone) THEN
        RAISE EXCEPTION 'mission %: its place, time and pay cannot be changed', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_mission BEFORE UPDATE ON missions.missions
    FOR EACH ROW EXECUTE FUNCTION missions.guard_mission();

CREATE OR REPLACE FUNCTION missions.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on missions.% is not allowed', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON missions.missions
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON missions.assignments
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();
CREATE OR REPLACE TRIGGER is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON missions.tasks
    FOR EACH STATEMENT EXECUTE FUNCTION missions.refuse_change();
