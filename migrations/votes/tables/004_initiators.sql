-- What the initiator of a vote says of it and of who may join, votes near a place, and how many
-- joined.

ALTER TABLE votes.votes
    -- The name under which the initiator is shown; null for none.
    ADD initiator_name text CHECK (
        length(initiator_name) BETWEEN 1 AND 100 AND initiator_name !~ '[[:cntrl:]]'),
    -- Whether joining needs an address, which distinguishes people of one name.
    ADD asks_address boolean NOT NULL DEFAULT false,
    -- The id that the app gave the request to open it.
    ADD request_id text CHECK (length(request_id) BETWEEN 1 AND 100),
    -- How many had joined when it was counted.
    ADD joined int,
    -- The place on a Mercator map, in degrees. In contrast to a geography's, an index of points
    -- gives exact distances, so that of many votes at one place only the first are read. The same
    -- map as in votes.map_point.
    ADD map_point point GENERATED ALWAYS AS (point(st_x(place::geometry), degrees(ln(tan(radians(
        45 + least(greatest(st_y(place::geometry), -89.9), 89.9) / 2)))))) STORED;

UPDATE votes.votes v
SET joined = (SELECT count(*) FROM votes.participants p WHERE p.vote_id = v.id)
WHERE v.root IS NOT NULL;

CREATE UNIQUE INDEX votes_request ON votes.votes (initiator, request_id)
    WHERE request_id IS NOT NULL;
DROP INDEX votes.votes_place;
CREATE INDEX votes_map_point ON votes.votes USING gist (map_point) WHERE state = 'open';

-- Their arguments or results change.
DROP FUNCTION IF EXISTS votes.open(text, text[], bigint, timestamptz, timestamptz, int, text,
    double precision, double precision, text, int);
DROP FUNCTION IF EXISTS votes.nearby(double precision, double precision, double precision, int);
DROP FUNCTION IF EXISTS votes.show(bigint);
DROP FUNCTION IF EXISTS votes.history(bigint, int);
DROP FUNCTION IF EXISTS votes.result(bigint);
DROP FUNCTION IF EXISTS votes.enter(bigint, int, boolean);
