-- Functions that create accounts and transactions.

-- Returns the account of an owner (0: no owner) in a currency; creates it if missing.
CREATE OR REPLACE FUNCTION ledger.account(kind text, owner bigint, currency text)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    account bigint;
    of ledger.account_kinds;
BEGIN
    SELECT a.id INTO account FROM ledger.accounts a
    WHERE a.owner = owner AND a.kind = kind AND a.currency = currency;
    IF FOUND THEN
        RETURN account;
    END IF;
    SELECT * INTO of FROM ledger.account_kinds k WHERE k.kind = kind;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'kind of account %: expected one of %', coalesce(kind, 'null'),
            (SELECT string_agg(k.kind, ', ' ORDER BY k.kind) FROM ledger.account_kinds k)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT FROM ledger.currencies c WHERE c.code = currency) THEN
        RAISE EXCEPTION 'currency %: expected a code of ISO 4217 in capital letters, such as CAD',
            coalesce(currency, 'null') USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF of.owner = 'nobody' AND owner <> 0 THEN
        RAISE EXCEPTION 'accounts of kind % have no owner: expected owner 0', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT ledger.has_owner(of.owner, owner) THEN
        PERFORM ledger.refuse_owner(of.owner, owner);
    END IF;
    INSERT INTO ledger.accounts AS a (kind, owner, currency, is_shared)
    VALUES (kind, owner, currency, of.is_shared)
    ON CONFLICT ON CONSTRAINT accounts_owner DO NOTHING RETURNING a.id INTO account;
    IF account IS NULL THEN
        SELECT a.id INTO STRICT account FROM ledger.accounts a
        WHERE a.owner = owner AND a.kind = kind AND a.currency = currency;
    END IF;
    RETURN account;
END $$;

-- Whether an owner exists; calls the check function that the owner's module registered.
CREATE OR REPLACE FUNCTION ledger.has_owner(kind text, owner bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    of ledger.owner_kinds;
    is_there boolean;
BEGIN
    SELECT * INTO STRICT of FROM ledger.owner_kinds o WHERE o.owner = kind;
    IF of.check_function IS NULL THEN
        RETURN true;
    END IF;
    EXECUTE format('SELECT %I.%I($1)', of.check_schema, of.check_function)
    INTO is_there USING owner;
    RETURN coalesce(is_there, false);
END $$;

-- Returns the transaction with this key if it has the same content; otherwise raises an error.
CREATE OR REPLACE FUNCTION ledger.same_transaction(
    key text, kind text, accounts bigint[], amounts bigint[], at timestamptz, source text,
    note text, reverses bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present ledger.transactions;
    other text;
BEGIN
    SELECT * INTO STRICT present FROM ledger.transactions t WHERE t.key = key;
    other := CASE
        WHEN present.kind <> kind THEN 'kind'
        WHEN present.at <> at THEN 'at'
        WHEN present.source IS DISTINCT FROM source THEN 'source'
        WHEN present.note IS DISTINCT FROM note THEN 'note'
        WHEN present.reverses IS DISTINCT FROM reverses THEN 'reverses' END;
    IF other IS NULL AND (
        EXISTS (
            SELECT u.account, u.amount FROM unnest(accounts, amounts) AS u (account, amount)
            EXCEPT ALL
            SELECT p.account_id, p.amount FROM ledger.postings p
            WHERE p.transaction_id = present.id)
        OR cardinality(accounts) <> (
            SELECT count(*) FROM ledger.postings p WHERE p.transaction_id = present.id)
    ) THEN
        other := 'accounts and amounts';
    END IF;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION 'the key % is known with other content (%): transaction %', key, other,
            present.id USING ERRCODE = 'unique_violation', CONSTRAINT = 'transactions_key',
            HINT = 'Use another key for another transaction.';
    END IF;
    RETURN present.id;
END $$;

-- Posts a transaction and returns its id. Idempotent: a call with the same key and content returns
-- the same id.
--   accounts, amounts   one posting each: positive credits, negative debits; no account twice
--   at                  effective time; default: now
CREATE OR REPLACE FUNCTION ledger.post(
    key text, kind text, accounts bigint[], amounts bigint[], at timestamptz DEFAULT NULL,
    source text DEFAULT NULL, note text DEFAULT NULL, actor text DEFAULT session_user,
    reverses bigint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    made bigint;
    counted_at CONSTANT timestamptz := coalesce(at, clock_timestamp());
BEGIN
    IF (cardinality(accounts) = cardinality(amounts)) IS NOT TRUE THEN
        RAISE EXCEPTION 'accounts and amounts must have the same length, found % and %',
            coalesce(cardinality(accounts), 0), coalesce(cardinality(amounts), 0)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF 0 = ANY (amounts) OR 1000000000000000 < ANY (amounts)
        OR -1000000000000000 > ANY (amounts) THEN
        RAISE EXCEPTION 'expected nonzero amounts in minor units of at most 10^15'
            USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    WITH new AS (
        INSERT INTO ledger.transactions AS t (key, kind, at, source, note, actor, reverses)
        VALUES (key, kind, counted_at, source, note, actor, reverses)
        ON CONFLICT ON CONSTRAINT transactions_key DO NOTHING RETURNING t.id
    ), lines AS (
        INSERT INTO ledger.postings (transaction_id, account_id, amount, at)
        SELECT new.id, u.account, u.amount, counted_at
        FROM new, unnest(accounts, amounts) AS u (account, amount)
    )
    SELECT new.id INTO made FROM new;
    IF made IS NULL THEN
        RETURN ledger.same_transaction(key, kind, accounts, amounts, at, source, note, reverses);
    END IF;
    RETURN made;
END $$;

-- Reverses a transaction with the opposite postings and returns the id of the reversal. Idempotent
-- for the same reason; a transaction is reversed at most once.
CREATE OR REPLACE FUNCTION ledger.reverse(
    transaction_id bigint, reason text, actor text DEFAULT session_user,
    at timestamptz DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present ledger.transactions;
    accounts bigint[];
    amounts bigint[];
    instead text;
BEGIN
    IF reason IS NULL OR length(reason) NOT BETWEEN 1 AND 500 THEN
        RAISE EXCEPTION 'reverse needs a reason of 1 to 500 characters' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO present FROM ledger.transactions t WHERE t.id = transaction_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no transaction has the id %', coalesce(transaction_id::text, 'null')
            USING ERRCODE = 'no_data_found';
    END IF;
    instead := (SELECT k.hint FROM ledger.kept_kinds k WHERE k.kind = present.kind);
    IF instead IS NOT NULL THEN
        RAISE EXCEPTION 'transaction % is a % and cannot be reversed directly', transaction_id,
            present.kind USING ERRCODE = 'check_violation', HINT = instead;
    END IF;
    SELECT array_agg(p.account_id ORDER BY p.account_id),
        array_agg(-p.amount ORDER BY p.account_id)
    INTO accounts, amounts
    FROM ledger.postings p WHERE p.transaction_id = transaction_id;
    RETURN ledger.post('reversal:' || transaction_id, 'reversal', accounts, amounts, at,
        present.source, reason, actor, transaction_id);
END $$;
