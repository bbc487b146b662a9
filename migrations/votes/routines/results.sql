-- Results of votes, and the proofs that ballots are in them.

CREATE OR REPLACE FUNCTION votes.result(vote bigint)
RETURNS TABLE (number smallint, label text, ballots int, joined int, "cast" int, counted int,
    rejected int, root bytea, has_unresolved boolean, closed_for votes.close_reason,
    published_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.number, o.label, o.ballots, v.joined, v.voters, v.ballots,
        v.voters - v.ballots, v.root, v.has_unresolved, v.closed_for, v.published_at
    FROM votes.votes v JOIN votes.options o ON o.vote_id = v.id
    WHERE v.id = $1 AND v.state = 'published' ORDER BY o.number;
END $$;
COMMENT ON FUNCTION votes.result(bigint) IS $doc$
Reads the result of a published vote, a row for each option; no row before.

Arguments:
  vote: the vote
Returns:
  number: the number of the option
  label: the label of the option
  ballots: the ballots with this option
  joined: how many people had joined the vote
  cast: how many of them had cast a ballot
  counted: how many ballots count
  rejected: how many ballots the initiator left out, for their names
  root: the root of the Merkle tree over the ballots (RFC 6962)
  has_unresolved: whether equal names were left undecided, and count
  closed_for: what closed the vote: complete, deadline or by_hand
  published_at: when the result came out
Repeated: Reads only.
Sample:
  SELECT label, ballots, joined, r.cast, counted FROM votes.result(vote => 1) AS r;
$doc$;

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
COMMENT ON FUNCTION votes.names(bigint, int, int) IS $doc$
Lists the names of those whose ballots count in a published vote; no row before. Erased people are
counted, but not named. Each call sorts all names of the vote: take those of a large vote in one
page or in few.

Arguments:
  vote: the vote
  max_rows: at most N names
  skipped: the number of names to leave out at the beginning
Returns:
  name: a name, in the order of names
Repeated: Reads only.
Sample:
  SELECT name FROM votes.names(vote => 1);
$doc$;

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
COMMENT ON FUNCTION votes.proof(bigint, bytea) IS $doc$
Returns the proof that a ballot is in the tree of a published vote, for an app that checks it by
itself; no row if it is not in the tree.

Arguments:
  vote: the vote
  commitment: the hash of the ballot, which the app computes of its receipt: SHA-256 over
    errand-ballot-v1, the vote, the choice and the nonce, each after its length in 4 bytes
Returns:
  position: the position of the ballot, from 0
  size: the number of ballots
  path: the hashes from the ballot to the root, lowest first (RFC 9162, section 2.1.3)
  root: the root of the tree
Repeated: Reads only.
Sample:
  SELECT * FROM votes.proof(vote => 1, commitment => decode(repeat('00', 32), 'hex'));
$doc$;

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
COMMENT ON FUNCTION votes.verify_receipt(text) IS $doc$
Checks whether the ballot of a receipt is in the result.

Arguments:
  receipt: what cast returned to the voter
Returns:
  is_included: whether the ballot counts
  reason: ok, or why not
  vote: the vote; null if the receipt is malformed
  choice: the numbers of the chosen options
  position: the position of the ballot in the tree, from 0
  size: the number of ballots
  path: the hashes from the ballot to the root, lowest first
  root: the root of the tree
Reasons:
  ok: the ballot is in the tree, and the path leads to the root
  malformed: this is no receipt
  not_published: there is no such vote, or its result is not out
  not_included: the ballot was left out for its name, or never cast so
Repeated: Reads only.
Sample:
  SELECT is_included, reason FROM votes.verify_receipt(
      receipt => 'v1.1.1.Xl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl4');
$doc$;

-- Returns whether a vote requires a password; for listings, as inspectors may not read the column.
CREATE OR REPLACE FUNCTION votes.has_password(vote bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT v.password_hash IS NOT NULL FROM votes.votes v WHERE v.id = vote
$$;
