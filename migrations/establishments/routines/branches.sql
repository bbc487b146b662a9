-- Branches: added, moved and closed by the servers of apps, and read by place.

-- These are inlined into the statements that call them, so that those use the index of places.
CREATE OR REPLACE FUNCTION establishments.point(
    longitude double precision, latitude double precision)
RETURNS geography LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN st_setsrid(st_makepoint(longitude, latitude), 4326)::geography;
CREATE OR REPLACE FUNCTION establishments.longitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_x(place::geometry);
CREATE OR REPLACE FUNCTION establishments.latitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_y(place::geometry);
CREATE OR REPLACE FUNCTION establishments.is_near(
    one geography, other geography, metres double precision)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_dwithin(one, other, metres);
-- By this the index returns the nearest first.
CREATE OR REPLACE FUNCTION establishments.apart(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN one <-> other;

CREATE OR REPLACE FUNCTION establishments.expect_place(
    routine text, longitude double precision, latitude double precision
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(longitude BETWEEN -180 AND 180 AND latitude BETWEEN -90 AND 90,
        routine || ': expected longitude -180 to 180, and latitude -90 to 90');
END $$;

CREATE OR REPLACE FUNCTION establishments.put_branch(
    id bigint, establishment bigint, name text, longitude double precision,
    latitude double precision
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    known establishments.branches;
    closed_at timestamptz;
BEGIN
    PERFORM establishments.expect_name('put_branch', id, name);
    PERFORM establishments.expect_place('put_branch', longitude, latitude);
    -- Waits for a session that closes it now, so that it leaves no branch open.
    SELECT e.closed_at INTO closed_at FROM establishments.establishments e
    WHERE e.id = establishment FOR SHARE;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
    ELSIF closed_at IS NOT NULL THEN
        PERFORM errand.refuse('closed', format('establishment %s is closed', establishment),
            'Open it with establishments.put_establishment first.');
    END IF;
    INSERT INTO establishments.branches (id, establishment_id, name, place)
    VALUES (id, establishment, name, establishments.point(longitude, latitude))
    ON CONFLICT ON CONSTRAINT branches_pkey DO NOTHING;
    IF FOUND THEN
        RETURN true;
    END IF;
    SELECT * INTO known FROM establishments.branches b WHERE b.id = id FOR NO KEY UPDATE;
    IF known.establishment_id <> establishment THEN
        RAISE EXCEPTION 'branch % is known as one of establishment %', id, known.establishment_id
            USING ERRCODE = 'unique_violation', HINT = 'Close it, and add another branch.';
    END IF;
    UPDATE establishments.branches b
    SET name = name, place = establishments.point(longitude, latitude), closed_at = NULL
    WHERE b.id = id AND (b.name <> name OR b.closed_at IS NOT NULL
        OR establishments.longitude(b.place) <> longitude
        OR establishments.latitude(b.place) <> latitude);
    RETURN false;
END $$;
COMMENT ON FUNCTION establishments.put_branch(
    bigint, bigint, text, double precision, double precision) IS $doc$
Adds a branch of an establishment, or renames and moves it. The id is the app's. A closed branch is
open again; leave it out of what you repeat for all branches.

Arguments:
  id: the branch's id, from 1; unique over all establishments
  establishment: its establishment, which never changes
  name: 1 to 200 characters on one line, as notices name it
  longitude: WGS 84, degrees
  latitude: WGS 84, degrees
Returns:
  is_new: whether the branch was not known before
Reasons:
  closed: the establishment is closed: open it first
Errors:
  22023: the id, the name or the place is invalid
  23503: no such establishment
  23505: the branch is known as one of another establishment
Repeated: changes nothing, and answers false; after close_branch it opens the branch again.
Sample:
  SELECT establishments.put_branch(id => 3, establishment => 7, name => 'Rue Rachel',
      longitude => -73.57, latitude => 45.52);
$doc$;

CREATE OR REPLACE FUNCTION establishments.close_branch(id bigint) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    closed timestamptz;
BEGIN
    UPDATE establishments.branches b SET closed_at = coalesce(b.closed_at, clock_timestamp())
    WHERE b.id = id RETURNING b.closed_at INTO closed;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no branch has the id %', coalesce(id::text, 'null')
            USING ERRCODE = 'foreign_key_violation',
                HINT = 'Add the branch with establishments.put_branch.';
    END IF;
    RETURN closed;
END $$;
COMMENT ON FUNCTION establishments.close_branch(bigint) IS $doc$
Closes a branch: nobody is notified near it any more. It is not deleted, as missions refer to it;
missions that are open there go on.

Arguments:
  id: the branch
Returns:
  closed_at: when it was closed
Errors:
  23503: no such branch
Repeated: answers the time of the first call.
Sample:
  SELECT establishments.put_branch(id => 4, establishment => 7, name => 'Rue Ontario',
      longitude => -73.55, latitude => 45.53);
  SELECT establishments.close_branch(id => 4) IS NOT NULL;
$doc$;

CREATE OR REPLACE FUNCTION establishments.branches_of(
    establishment bigint, after bigint DEFAULT 0, max_rows int DEFAULT 100
) RETURNS TABLE (id bigint, name text, longitude double precision, latitude double precision,
    closed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT b.id, b.name, establishments.longitude(b.place),
        establishments.latitude(b.place), b.closed_at
    FROM establishments.branches b
    WHERE b.establishment_id = establishment AND b.id > after ORDER BY b.id LIMIT max_rows;
END $$;
COMMENT ON FUNCTION establishments.branches_of(bigint, bigint, int) IS $doc$
Lists the branches of an establishment by id, the closed ones too.

Arguments:
  establishment: the establishment
  after: only those with a higher id: the last id of the page before
  max_rows: the length of a page
Returns:
  id: the branch
  name: its name
  longitude: WGS 84, degrees
  latitude: WGS 84, degrees
  closed_at: when it was closed; null while it is open
Repeated: Reads only.
Sample:
  SELECT id, name, longitude, latitude FROM establishments.branches_of(establishment => 7);
$doc$;

CREATE OR REPLACE FUNCTION establishments.nearby(
    longitude double precision, latitude double precision, radius_m double precision DEFAULT 5000,
    establishment bigint DEFAULT NULL, max_rows int DEFAULT 50
) RETURNS TABLE (id bigint, establishment_id bigint, establishment_name text, name text,
    branch_longitude double precision, branch_latitude double precision,
    distance_m double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    here establishments.branches.place%TYPE;
BEGIN
    PERFORM establishments.expect_place('nearby', longitude, latitude);
    PERFORM errand.expect(radius_m BETWEEN 1 AND 200000, 'nearby: radius_m: expected 1 to 200000');
    here := establishments.point(longitude, latitude);
    -- Two statements, each with the index that returns the nearest first.
    IF establishment IS NULL THEN
        RETURN QUERY SELECT b.id, b.establishment_id,
            (SELECT e.name FROM establishments.establishments e WHERE e.id = b.establishment_id),
            b.name, establishments.longitude(b.place), establishments.latitude(b.place),
            establishments.apart(b.place, here)
        FROM establishments.branches b
        WHERE b.closed_at IS NULL AND establishments.is_near(b.place, here, radius_m)
        ORDER BY establishments.apart(b.place, here) LIMIT max_rows;
    ELSE
        RETURN QUERY SELECT b.id, b.establishment_id,
            (SELECT e.name FROM establishments.establishments e WHERE e.id = b.establishment_id),
            b.name, establishments.longitude(b.place), establishments.latitude(b.place),
            establishments.apart(b.place, here)
        FROM establishments.branches b
        WHERE b.closed_at IS NULL AND b.establishment_id = establishment
          AND establishments.is_near(b.place, here, radius_m)
        ORDER BY establishments.apart(b.place, here) LIMIT max_rows;
    END IF;
END $$;
COMMENT ON FUNCTION establishments.nearby(
    double precision, double precision, double precision, bigint, int) IS $doc$
Lists the open branches near a place, nearest first.

Arguments:
  longitude: WGS 84, degrees
  latitude: WGS 84, degrees
  radius_m: how far, in meters; at most 200000
  establishment: only those of one establishment; null for all
  max_rows: how many at most
Returns:
  id: the branch
  establishment_id: its establishment
  establishment_name: the establishment's name
  name: the branch's name
  branch_longitude: WGS 84, degrees
  branch_latitude: WGS 84, degrees
  distance_m: how far it is, in meters
Errors:
  22023: the place or the radius is out of range
Repeated: Reads only.
Sample:
  SELECT id, establishment_name, name, round(distance_m)
  FROM establishments.nearby(longitude => -73.567, latitude => 45.501, radius_m => 5000);
$doc$;
