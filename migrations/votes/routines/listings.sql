-- What apps read of votes before their results: near a place, one vote, and a person's own.

CREATE OR REPLACE FUNCTION votes.nearby(
    longitude double precision, latitude double precision, radius_m double precision,
    max_rows int DEFAULT 50
) RETURNS TABLE (id bigint, subject text, closes_at timestamptz, place text,
    distance_m double precision, needs_password boolean, initiator bigint, initiator_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT int := least(greatest($4, 0), 500);
    -- Far distances on the map are not exact: some more are read, the nearest are returned.
    margin CONSTANT int := CASE WHEN $3 > 5000 THEN 50 ELSE 0 END;
    -- In degrees; a degree of latitude is 110,574 meters at the equator, and longer elsewhere.
    reach CONSTANT double precision := $3 / 110500;
    farthest CONSTANT double precision := abs($2) + reach;
    breadth CONSTANT double precision := CASE WHEN farthest > 89 THEN 360
        ELSE least(reach / cos(radians(farthest)), 360) END;
    center CONSTANT point := votes.map_point($1, $2);
    south CONSTANT double precision := (votes.map_point(0, $2 - reach))[1];
    north CONSTANT double precision := (votes.map_point(0, $2 + reach))[1];
BEGIN
    PERFORM errand.expect($1 BETWEEN -180 AND 180 AND $2 BETWEEN -90 AND 90 AND $3 >= 0,
        'longitude, latitude, radius_m: expected degrees within 180 and 90, and 0 or more meters');
    -- Across the antimeridian, the map is looked at again from the other side.
    RETURN QUERY
    SELECT n.id, n.subject, n.closes_at, n.place_name, n.distance, n.needs_password, n.initiator,
        n.initiator_name
    FROM unnest('{0,-360,360}'::double precision[]) AS t (turn)
    CROSS JOIN LATERAL (
        SELECT v.id, v.subject, v.closes_at, v.place_name, v.initiator, v.initiator_name,
            v.password_hash IS NOT NULL AS needs_password,
            votes.distance(v.place, votes.point($1, $2)) AS distance
        FROM votes.votes v
        WHERE v.state = 'open'
          AND v.map_point <@ box(point(center[0] + t.turn - breadth, south),
            point(center[0] + t.turn + breadth, north))
          AND votes.is_within(v.place, votes.point($1, $2), $3)
          AND v.opens_at <= clock_timestamp() AND v.closes_at > clock_timestamp()
        ORDER BY v.map_point <-> point(center[0] + t.turn, center[1])
        LIMIT most + margin
    ) n
    WHERE t.turn = 0
        OR breadth < 180 AND center[0] + t.turn BETWEEN -180 - breadth AND 180 + breadth
    ORDER BY n.distance, n.id LIMIT most;
END $$;
COMMENT ON FUNCTION votes.nearby(double precision, double precision, double precision, int)
IS $doc$
Lists the open votes near a place, nearest first. When there are more than max_rows, one may be left
out for another that is up to one percent farther; with a radius of 100 km and many votes, up to a
few percent farther.

Arguments:
  longitude, latitude: the place
  radius_m: how far away a vote may be, in meters
  max_rows: at most N votes, up to 500
Returns:
  id: the vote
  subject: what is voted on
  closes_at: the deadline
  place: the place in words
  distance_m: how far away it is, in meters
  needs_password: whether a password is needed
  initiator: the person who opened it
  initiator_name: the name of that person, as given when it was opened
Errors:
  22023: the place or the radius is invalid
Repeated: Reads only.
Sample:
  SELECT id, subject, initiator_name, round(distance_m) FROM votes.nearby(longitude => -73.57,
      latitude => 45.50, radius_m => 200);
$doc$;

CREATE OR REPLACE FUNCTION votes.show(vote bigint)
RETURNS TABLE (subject text, initiator bigint, initiator_name text, options text[],
    max_choices smallint, expected int, opens_at timestamptz, closes_at timestamptz, place text,
    needs_password boolean, asks_address boolean, state votes.vote_state,
    published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT v.subject, v.initiator, v.initiator_name,
        ARRAY(SELECT o.label FROM votes.options o WHERE o.vote_id = v.id ORDER BY o.number),
        v.max_choices, v.expected, v.opens_at, v.closes_at, v.place_name,
        v.password_hash IS NOT NULL, v.asks_address, v.state, v.published_at
    FROM votes.votes v WHERE v.id = $1;
END $$;
COMMENT ON FUNCTION votes.show(bigint) IS $doc$
Reads what everybody may see of a vote; no row if it does not exist. Never says how many ballots an
open vote has.

Arguments:
  vote: the vote
Returns:
  subject: what is voted on
  initiator: the person who opened it
  initiator_name: the name of that person, as given when it was opened
  options: the labels; the first is number 1
  max_choices: how many options a ballot may have
  expected: the number of ballots that closes it; null for none
  opens_at: from when on ballots are accepted
  closes_at: the deadline
  place: the place in words
  needs_password: whether a password is needed
  asks_address: whether joining needs an address
  state: open, closed, review, counted, published or cancelled
  published_at: when the result came out
Repeated: Reads only.
Sample:
  SELECT subject, initiator_name, options, asks_address, state FROM votes.show(vote => 1);
$doc$;

CREATE OR REPLACE FUNCTION votes.standing(vote bigint, person bigint)
RETURNS TABLE (state votes.vote_state, is_initiator boolean, has_joined boolean, has_cast boolean,
    is_rejected boolean, name text, address text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT v.state, coalesce(v.initiator = $2, false), p.vote_id IS NOT NULL,
        coalesce(p.has_cast, false),
        CASE WHEN v.state = 'published' THEN coalesce(p.is_rejected, false) END, p.name, p.address
    FROM votes.votes v
    LEFT JOIN votes.participants p
        ON p.vote_id = v.id AND p.person_id = $2 AND NOT p.is_erased
    WHERE v.id = $1;
END $$;
COMMENT ON FUNCTION votes.standing(bigint, bigint) IS $doc$
Reads how a person stands in a vote: whether the person has joined and cast, and whether the ballot
was left out of the result. Never says what was chosen. No row if the vote does not exist.

Arguments:
  vote: the vote
  person: the person who asks
Returns:
  state: open, closed, review, counted, published or cancelled
  is_initiator: whether the person opened the vote
  has_joined: whether the person has joined
  has_cast: whether the person has cast a ballot
  is_rejected: whether the initiator left the ballot out, for its name; null before the result is
    out. A ballot that is cast and not rejected counts
  name: the name under which the person joined
  address: the address; null once the vote is counted
Repeated: Reads only.
Sample:
  SELECT state, has_joined, has_cast, is_rejected FROM votes.standing(vote => 1, person => 18);
$doc$;

CREATE OR REPLACE FUNCTION votes.joined_names(
    vote bigint, person bigint, max_rows int DEFAULT 1000, skipped int DEFAULT 0)
RETURNS TABLE (name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.name FROM votes.participants p
    WHERE p.vote_id = $1 AND NOT p.is_erased AND EXISTS (
        SELECT FROM votes.votes v
        WHERE v.id = $1 AND v.state IN ('open', 'closed', 'review', 'counted')
          AND (v.initiator = $2 OR EXISTS (SELECT FROM votes.participants q
              WHERE q.vote_id = $1 AND q.person_id = $2 AND NOT q.is_erased)))
    ORDER BY p.name_key, p.name LIMIT greatest($3, 0) OFFSET greatest($4, 0);
END $$;
COMMENT ON FUNCTION votes.joined_names(bigint, bigint, int, int) IS $doc$
Lists the names of those who have joined a vote, for its participants and its initiator, until the
result is out; then names lists those whose ballots count. Having joined is not having voted: the
list does not change when a ballot is cast. Each call sorts all names of the vote: take those of a
large vote in one page or in few.

Arguments:
  vote: the vote
  person: the participant or initiator who asks; others get no row
  max_rows: at most N names
  skipped: the number of names to leave out at the beginning
Returns:
  name: a name, in the order of names
Repeated: Reads only.
Sample:
  SELECT name FROM votes.joined_names(vote => 1, person => 18);
$doc$;

CREATE OR REPLACE FUNCTION votes.history(person bigint, max_rows int DEFAULT 50)
RETURNS TABLE (id bigint, subject text, state votes.vote_state, is_initiator boolean,
    has_joined boolean, has_cast boolean, is_rejected boolean, closes_at timestamptz,
    published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT int := least(greatest($2, 0), 1000);
BEGIN
    RETURN QUERY
    SELECT v.id, v.subject, v.state, v.initiator = $1, p.vote_id IS NOT NULL,
        coalesce(p.has_cast, false),
        CASE WHEN v.state = 'published' THEN coalesce(p.is_rejected, false) END, v.closes_at,
        v.published_at
    FROM (
        (SELECT q.vote_id FROM votes.participants q
            WHERE q.person_id = $1 AND NOT q.is_erased ORDER BY q.vote_id DESC LIMIT most)
        UNION
        (SELECT w.id FROM votes.votes w WHERE w.initiator = $1 ORDER BY w.id DESC LIMIT most)
    ) own
    JOIN votes.votes v ON v.id = own.vote_id
    LEFT JOIN votes.participants p
        ON p.vote_id = v.id AND p.person_id = $1 AND NOT p.is_erased
    ORDER BY v.id DESC LIMIT most;
END $$;
COMMENT ON FUNCTION votes.history(bigint, int) IS $doc$
Lists the votes that a person has opened or joined, newest first. Never says what was chosen.

Arguments:
  person: the person
  max_rows: at most N votes, up to 1,000
Returns:
  id: the vote
  subject: what is voted on
  state: open, closed, review, counted, published or cancelled
  is_initiator: whether the person opened it
  has_joined: whether the person has joined
  has_cast: whether the person has cast a ballot
  is_rejected: whether the initiator left the ballot out, for its name; null before the result is
    out. A ballot that is cast and not rejected counts
  closes_at: the deadline
  published_at: when the result came out
Repeated: Reads only.
Sample:
  SELECT id, subject, state, is_initiator, has_cast, is_rejected FROM votes.history(person => 18);
$doc$;
