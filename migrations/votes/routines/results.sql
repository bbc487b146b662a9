-- Queries of apps on votes and results.

-- Returns open votes near a place, nearest first; distances in meters.
CREATE OR REPLACE FUNCTION votes.nearby(
    longitude double precision, latitude double precision, radius_m double precision,
    max_rows int DEFAULT 50
) RETURNS TABLE (id bigint, subject text, closes_at timestamptz, place text,
    distance_m double precision, needs_password boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT v.id, v.subject, v.closes_at, v.place_name,
        votes.distance(v.place, votes.point($1, $2)), v.password_hash IS NOT NULL
    FROM votes.votes v
    WHERE v.state = 'open' AND votes.is_within(v.place, votes.point($1, $2), $3)
      AND v.opens_at <= clock_timestamp() AND v.closes_at > clock_timestamp()
    ORDER BY 5, 1 LIMIT least(greatest($4, 0), 500);
END $$;

-- Returns the public facts of a vote; no row if it does not exist. Never reveals the number of
-- ballots of an open vote.
CREATE OR REPLACE FUNCTION votes.show(vote bigint)
RETURNS TABLE (subject text, initiator bigint, options text[], max_choices smallint, expected int,
    opens_at timestamptz, closes_at timestamptz, place text, needs_password boolean,
    state votes.vote_state, published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT v.subject, v.initiator,
        ARRAY(SELECT o.label FROM votes.options o WHERE o.vote_id = v.id ORDER BY o.number),
        v.max_choices, v.expected, v.opens_at, v.closes_at, v.place_name,
        v.password_hash IS NOT NULL, v.state, v.published_at
    FROM votes.votes v WHERE v.id = $1;
END $$;

-- Returns the votes that a person has joined, newest first.
CREATE OR REPLACE FUNCTION votes.history(person bigint, max_rows int DEFAULT 50)
RETURNS TABLE (id bigint, subject text, state votes.vote_state, has_cast boolean,
    closes_at timestamptz, published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT v.id, v.subject, v.state, p.has_cast, v.closes_at, v.published_at
    FROM votes.participants p JOIN votes.votes v ON v.id = p.vote_id
    WHERE p.person_id = $1 AND NOT p.is_erased
    ORDER BY p.vote_id DESC LIMIT least(greatest($2, 0), 1000);
END $$;

-- Returns the result of a published vote, a row for each option; no row before the publication.
--   voters          the number of participants whose ballots count
--   rejected        the number of participants whose ballots were rejected for their names
--   has_unresolved  whether equal names were left unresolved
CREATE OR REPLACE FUNCTION votes.result(vote bigint)
RETURNS TABLE (number smallint, label text, ballots int, voters int, rejected int, root bytea,
    has_unresolved boolean, closed_for votes.close_reason, published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.number, o.label, o.ballots, v.ballots, v.voters - v.ballots, v.root,
        v.has_unresolved, v.closed_for, v.published_at
    FROM votes.votes v JOIN votes.options o ON o.vote_id = v.id
    WHERE v.id = $1 AND v.state = 'published' ORDER BY o.number;
END $$;

-- Returns the names of voters whose ballots count, ordered by name; no row before the publication.
-- Excludes erased people.
CREATE OR REPLACE FUNCTION votes.names(
    vote bigint, max_rows int DEFAULT 1000, skipped int DEFAULT 0)
RETURNS TABLE (name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.name FROM votes.participants p JOIN votes.votes v ON v.id = p.vote_id
    WHERE p.vote_id = $1 AND v.state = 'published' AND p.has_cast AND NOT p.is_rejected
      AND NOT p.is_erased
    ORDER BY p.name_key, p.name LIMIT greatest($2, 0) OFFSET greatest($3, 0);
END $$;

-- Returns the position of the first ballot with a commitment, by binary search; null if there is
-- none.
CREATE OR REPLACE FUNCTION votes.place_of(commitment bytea, vote bigint, size int)
RETURNS int LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    first int := 0;
    behind int := size;
    middle int;
BEGIN
    WHILE first < behind LOOP
        middle := (first + behind) / 2;
        IF (SELECT b.commitment < commitment FROM votes.ballots b
            WHERE b.vote_id = vote AND b.position = middle) THEN
            first := middle + 1;
        ELSE
            behind := middle;
        END IF;
    END LOOP;
    RETURN (SELECT b.position FROM votes.ballots b
        WHERE b.vote_id = vote AND b.position = first AND b.commitment = commitment);
END $$;

-- Returns the proof that a ballot is in the tree of a published vote: its position, the number of
-- ballots, the path (lowest hash first), and the root. No row if it is not in the tree.
CREATE OR REPLACE FUNCTION votes.proof(
    vote bigint, commitment bytea, OUT "position" int, OUT size int, OUT path bytea[],
    OUT root bytea
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    place int;
    width int;
    level smallint := 0;
    beside bytea;
BEGIN
    SELECT votes.place_of(commitment, v.id, v.ballots), v.ballots, v.root
    INTO "position", size, root
    FROM votes.votes v WHERE v.id = vote AND v.state = 'published';
    IF "position" IS NULL THEN
        RETURN;
    END IF;
    path := '{}';
    place := "position";
    width := size;
    WHILE width > 1 LOOP
        IF (place # 1) < width THEN
            IF level = 0 THEN
                SELECT votes.leaf_hash(b.commitment) INTO beside FROM votes.ballots b
                WHERE b.vote_id = vote AND b.position = (place # 1);
            ELSE
                SELECT n.hash INTO beside FROM votes.nodes n
                WHERE n.vote_id = vote AND n.level = level AND n.position = (place # 1);
            END IF;
            path := path || beside;
        END IF;
        place := place / 2;
        width := (width + 1) / 2;
        level := level + 1;
    END LOOP;
    RETURN NEXT;
END $$;

-- Returns whether a path leads from an entry to a root (RFC 9162, section 2.1.3.2).
CREATE OR REPLACE FUNCTION votes.verify_path(
    entry bytea, "position" int, size int, path bytea[], root bytea
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    place int := "position";
    last int := size - 1;
    hash bytea := votes.leaf_hash(entry);
    beside bytea;
BEGIN
    IF ("position" >= 0 AND "position" < size) IS NOT TRUE THEN
        RETURN false;
    END IF;
    FOREACH beside IN ARRAY path LOOP
        IF last = 0 THEN
            RETURN false;
        END IF;
        IF place % 2 = 1 OR place = last THEN
            hash := votes.node_hash(beside, hash);
            WHILE place % 2 = 0 AND place <> 0 LOOP
                place := place / 2;
                last := last / 2;
            END LOOP;
        ELSE
            hash := votes.node_hash(hash, beside);
        END IF;
        place := place / 2;
        last := last / 2;
    END LOOP;
    RETURN last = 0 AND hash = root;
END $$;

-- Parses a receipt; nulls if it is invalid.
CREATE OR REPLACE FUNCTION votes.read_receipt(
    receipt text, OUT vote bigint, OUT choice int[], OUT nonce bytea
) LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    parts CONSTANT text[] := regexp_match(receipt,
        '^v1\.([1-9][0-9]{0,17})\.([1-9][0-9]{0,2}(?:-[1-9][0-9]{0,2})*)\.([A-Za-z0-9_-]{43})$');
BEGIN
    IF parts IS NOT NULL THEN
        vote := parts[1]::bigint;
        choice := string_to_array(parts[2], '-')::int[];
        nonce := decode(translate(parts[3], '-_', '+/') || '=', 'base64');
        -- The last letter has two unused bits: accept only one text for each receipt.
        IF votes.receipt(vote, choice, nonce) <> receipt THEN
            vote := NULL;
        END IF;
    END IF;
END $$;

-- Returns whether the ballot of a receipt was counted. The reasons:
--   ok               it is in the tree, and the path leads to the root
--   malformed        the receipt is invalid
--   not_published    the vote does not exist, or its result is not published
--   not_included     the result does not include it: rejected for its name, or never cast so
CREATE OR REPLACE FUNCTION votes.verify_receipt(
    receipt text, OUT is_included boolean, OUT reason text, OUT vote bigint,
    OUT choice int[], OUT "position" int, OUT size int, OUT path bytea[], OUT root bytea
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    nonce bytea;
    commitment bytea;
BEGIN
    SELECT r.vote, r.choice, r.nonce INTO vote, choice, nonce
    FROM votes.read_receipt(receipt) r;
    is_included := false;
    IF vote IS NULL THEN
        choice := NULL;
        reason := 'malformed';
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM votes.votes v WHERE v.id = vote AND v.state = 'published') THEN
        reason := 'not_published';
        RETURN;
    END IF;
    commitment := votes.commitment(vote, choice, nonce);
    SELECT p.position, p.size, p.path, p.root INTO "position", size, path, root
    FROM votes.proof(vote, commitment) p;
    is_included := coalesce(
        votes.verify_path(commitment, "position", size, path, root), false);
    reason := CASE WHEN is_included THEN 'ok' ELSE 'not_included' END;
END $$;

-- Erases a person's name, address and id from one vote or all. Keeps totals, ballots, root and the
-- number of participants. In unpublished votes, the publication erases the person. Returns the
-- number of votes.
CREATE OR REPLACE FUNCTION votes.erase(person bigint, vote bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    asked bigint := 0;
    of record;
BEGIN
    FOR of IN
        SELECT p.vote_id FROM votes.participants p
        WHERE p.person_id = person AND NOT p.is_erased AND p.vote_id = coalesce(vote, p.vote_id)
        ORDER BY p.vote_id
    LOOP
        -- Waits for a concurrent publication or erasure, and sees its result.
        PERFORM FROM votes.votes v WHERE v.id = of.vote_id FOR NO KEY UPDATE;
        UPDATE votes.participants p SET is_to_be_erased = true
        WHERE p.vote_id = of.vote_id AND p.person_id = person;
        IF FOUND THEN
            asked := asked + 1;
        END IF;
        IF EXISTS (SELECT FROM votes.votes v
            WHERE v.id = of.vote_id AND v.state IN ('published', 'cancelled')) THEN
            PERFORM votes.erase_requested(of.vote_id);
        END IF;
    END LOOP;
    RETURN asked;
END $$;

-- Returns whether a vote requires a password; for listings, as inspectors may not read the column.
CREATE OR REPLACE FUNCTION votes.has_password(vote bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT v.password_hash IS NOT NULL FROM votes.votes v WHERE v.id = vote
$$;
