-- Establishments: added, renamed and closed by the servers of apps.

-- Whether an establishment has this id; the ledger checks it before it opens an account.
CREATE OR REPLACE FUNCTION establishments.is_known(establishment bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM establishments.establishments e WHERE e.id = establishment);
END $$;

-- Raises an error unless the establishment exists.
CREATE OR REPLACE FUNCTION establishments.expect_establishment(establishment bigint)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT establishments.is_known(establishment) THEN
        RAISE EXCEPTION 'no establishment has the id %', coalesce(establishment::text, 'null')
            USING ERRCODE = 'foreign_key_violation',
                HINT = 'Add the establishment with establishments.put_establishment.';
    END IF;
END $$;

-- Raises an error unless the id and the name of an establishment or branch are valid.
CREATE OR REPLACE FUNCTION establishments.expect_name(routine text, id bigint, name text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(id >= 1, routine || ': id: expected a number from 1');
    PERFORM errand.expect(length(name) BETWEEN 1 AND 200 AND name !~ '[[:cntrl:]]',
        routine || ': name: expected 1 to 200 characters on one line');
END $$;

CREATE OR REPLACE FUNCTION establishments.put_establishment(id bigint, name text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM establishments.expect_name('put_establishment', id, name);
    INSERT INTO establishments.establishments (id, name) VALUES (id, name)
    ON CONFLICT ON CONSTRAINT establishments_pkey DO NOTHING;
    IF FOUND THEN
        RETURN true;
    END IF;
    UPDATE establishments.establishments e SET name = name, closed_at = NULL
    WHERE e.id = id AND (e.name <> name OR e.closed_at IS NOT NULL);
    RETURN false;
END $$;
COMMENT ON FUNCTION establishments.put_establishment(bigint, text) IS $doc$
Adds an establishment, or renames it. The id is the app's. A closed establishment is open again; its
branches stay closed. So leave closed ones out of what you repeat for all establishments.

Arguments:
  id: the establishment's id, from 1
  name: 1 to 200 characters on one line, as people read it
Returns:
  is_new: whether the establishment was not known before
Errors:
  22023: the id or the name is invalid
Repeated: changes nothing, and answers false; after close_establishment it opens the establishment
again.
Sample:
  SELECT establishments.put_establishment(id => 7, name => 'Café Rachel');
$doc$;

CREATE OR REPLACE FUNCTION establishments.close_establishment(id bigint)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    closed timestamptz;
BEGIN
    UPDATE establishments.establishments e SET closed_at = coalesce(e.closed_at, at)
    WHERE e.id = id RETURNING e.closed_at INTO closed;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(id);
    END IF;
    UPDATE establishments.branches b SET closed_at = at
    WHERE b.establishment_id = id AND b.closed_at IS NULL;
    RETURN closed;
END $$;
COMMENT ON FUNCTION establishments.close_establishment(bigint) IS $doc$
Closes an establishment and its branches: no coupon is granted for it any more, and nobody is
notified near its branches. Coupons that people have stay valid until they expire. The
establishment is not deleted, as coupons, missions and the ledger refer to it.

Arguments:
  id: the establishment
Returns:
  closed_at: when it was closed
Errors:
  23503: no such establishment
Repeated: answers the time of the first call.
Sample:
  SELECT establishments.put_establishment(id => 8, name => 'Bar Saint-Denis');
  SELECT establishments.close_establishment(id => 8) <= now() + interval '1 minute';
$doc$;

CREATE OR REPLACE FUNCTION establishments.listing(after bigint DEFAULT 0, max_rows int DEFAULT 100)
RETURNS TABLE (id bigint, name text, closed_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.id, e.name, e.closed_at FROM establishments.establishments e
    WHERE e.id > after ORDER BY e.id LIMIT max_rows
$$;
COMMENT ON FUNCTION establishments.listing(bigint, int) IS $doc$
Lists the establishments by id, the closed ones too.

Arguments:
  after: only those with a higher id: the last id of the page before
  max_rows: the length of a page
Returns:
  id: the establishment
  name: its name
  closed_at: when it was closed; null while it is open
Repeated: Reads only.
Sample:
  SELECT id, name FROM establishments.listing(after => 0, max_rows => 50);
$doc$;
