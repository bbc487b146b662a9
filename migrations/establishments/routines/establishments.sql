-- Whether an establishment has this id; the ledger checks it before it opens an account.
CREATE OR REPLACE FUNCTION establishments.is_known(establishment bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM establishments.establishments e WHERE e.id = establishment)
$$;
