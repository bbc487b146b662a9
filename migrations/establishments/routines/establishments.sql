-- Whether there is an establishment of this id; the ledger asks it before it opens an account.
CREATE OR REPLACE FUNCTION establishments.is_known(establishment bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM establishments.establishments e WHERE e.id = establishment)
$$;
