-- What the ledger knows of a person; see people.holders.

-- The rewards of a person that are earned but not credited, one row per currency.
CREATE OR REPLACE FUNCTION ledger.pending(person bigint)
RETURNS TABLE (currency text, amount bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    known record;
    part record;
    sums jsonb := '{}';
BEGIN
    FOR known IN SELECT s.module, s.routine FROM ledger.pending_sources s ORDER BY s.module LOOP
        FOR part IN EXECUTE format('SELECT x.currency, x.amount FROM %I.%I($1) AS x',
            known.module, known.routine) USING $1 LOOP
            sums := sums || jsonb_build_object(part.currency,
                coalesce((sums ->> part.currency)::bigint, 0) + part.amount);
        END LOOP;
    END LOOP;
    RETURN QUERY SELECT e.key, e.value::bigint FROM jsonb_each_text(sums) e ORDER BY e.key;
END $$;

-- Deletes nothing: the ledger is append-only, and holds people by their id alone. A balance that is
-- left stays owed; who pays out or gives up a balance does it before the erasure.
CREATE OR REPLACE FUNCTION ledger.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    owned CONSTANT bigint[] := ARRAY(SELECT a.id FROM ledger.accounts a
        JOIN ledger.account_kinds k ON k.kind = a.kind AND k.owner = 'person'
        WHERE a.owner = $1 ORDER BY a.id);
    balance CONSTANT text := (
        SELECT string_agg(b.amount || ' ' || a.currency, ', ' ORDER BY a.currency)
        FROM ledger.accounts a JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
        WHERE a.id = ANY (owned) AND b.amount <> 0);
BEGIN
    RETURN QUERY VALUES
        ('ledger.accounts', 'kept', cardinality(owned)::bigint,
            'by id alone, for the books' || coalesce('; the balance left: ' || balance
                || ' in minor units', '')),
        ('ledger.postings', 'kept', (SELECT count(*) FROM ledger.postings p
                WHERE p.account_id = ANY (owned)),
            'by id alone, for the books: both sides of each transaction sum to zero');
END $$;

-- Returns all that is known of a person.
CREATE OR REPLACE FUNCTION ledger.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    WITH owned AS MATERIALIZED (
        SELECT a.id, a.kind, a.currency FROM ledger.accounts a
        JOIN ledger.account_kinds k ON k.kind = a.kind AND k.owner = 'person'
        WHERE a.owner = $1
    )
    SELECT jsonb_build_object(
        'accounts', coalesce((SELECT jsonb_agg(jsonb_build_object('kind', o.kind,
                'currency', o.currency, 'balance', coalesce((SELECT b.amount
                    FROM ledger.balances b WHERE b.account_id = o.id AND b.slice = 0), 0))
                ORDER BY o.id)
            FROM owned o), '[]'),
        'postings', coalesce((SELECT jsonb_agg(jsonb_build_object('transaction', t.id,
                'at', people.written(p.at), 'kind', t.kind, 'source', t.source,
                'currency', o.currency, 'amount', p.amount) ORDER BY p.at, t.id)
            FROM owned o JOIN ledger.postings p ON p.account_id = o.id
            JOIN ledger.transactions t ON t.id = p.transaction_id), '[]'))
$$;
