-- The ledger: double entry. Every amount moves from some accounts to others, what was written is
-- never changed, and every transaction sums to zero in each of its currencies.
--
-- Amounts are in minor units (cents) and signed: above zero they credit an account, below zero
-- they debit it. What is owed to a person is a credit; what an establishment owes is a debit.

CREATE SCHEMA ledger;

-- ISO 4217, the currencies in use in 2026; exponent: decimals of the minor unit.
CREATE TABLE ledger.currencies (
    code text COLLATE "C" PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$'),
    exponent smallint NOT NULL CHECK (exponent BETWEEN 0 AND 4)
);
INSERT INTO ledger.currencies
SELECT code, exponent
FROM (VALUES
    (0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'),
    (2, 'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD '
        'CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD '
        'GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL '
        'MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN '
        'PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP '
        'SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG'),
    (3, 'BHD IQD JOD KWD LYD OMR TND')
) AS of (exponent, codes), unnest(string_to_array(codes, ' ')) AS code;

CREATE TABLE ledger.account_kinds (
    kind text COLLATE "C" PRIMARY KEY CHECK (kind ~ '^[a-z][a-z_]{0,39}$'),
    -- On which side its balance stands as a rule.
    side text NOT NULL CHECK (side IN ('debit', 'credit')),
    -- Whose id an account's owner is; of kinds of nobody's there is one account a currency.
    owner text NOT NULL CHECK (owner IN ('person', 'establishment', 'nobody')),
    -- Everybody posts to these: their balances are kept in slices, so that nobody waits.
    is_shared boolean NOT NULL,
    description text NOT NULL
);
INSERT INTO ledger.account_kinds VALUES
    ('person', 'credit', 'person', false, 'what is owed to a person'),
    ('establishment', 'debit', 'establishment', true,
        'what an establishment owes; a credit is what it has paid ahead'),
    ('commission', 'credit', 'nobody', true, 'the company''s share of what establishments pay'),
    ('company', 'debit', 'nobody', true, 'what the company pays for rewards by itself'),
    ('payouts_in_transit', 'credit', 'nobody', true, 'paid out, and not yet confirmed'),
    ('bank', 'debit', 'nobody', true, 'the company''s bank account');

CREATE TABLE ledger.accounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The person or establishment; 0: nobody.
    owner bigint NOT NULL DEFAULT 0,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text COLLATE "C" NOT NULL REFERENCES ledger.account_kinds,
    currency text COLLATE "C" NOT NULL REFERENCES ledger.currencies,
    is_shared boolean NOT NULL,
    CONSTRAINT accounts_owner UNIQUE (owner, kind, currency)
);

-- Transactions of these kinds are not reversed: the hint says what to do instead.
CREATE TABLE ledger.kept_kinds (kind text COLLATE "C" PRIMARY KEY, hint text NOT NULL);

-- CHECK constraints would be parsed again for every insert, which takes longer than all the rest of
-- it: check_transaction() sees to what they would.
CREATE TABLE ledger.transactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- When it counts from, such as when a reward was earned: in the years 1970 to 9999.
    at timestamptz NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The database's transaction that made it: only that one adds postings.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The transaction that this one undoes.
    reverses bigint REFERENCES ledger.transactions,
    -- 1 to 40 characters, such as reward.
    kind text COLLATE "C" NOT NULL,
    -- By which the same is not done twice: 1 to 200 characters.
    key text COLLATE "C" NOT NULL,
    -- What it is about, such as survey:12: up to 100 characters.
    source text COLLATE "C",
    -- Who made it, an operator or a role of the database: 1 to 200 characters.
    actor text NOT NULL,
    -- No personal data, because a ledger forgets nothing: up to 500 characters.
    note text,
    CONSTRAINT transactions_key UNIQUE (key)
);
CREATE UNIQUE INDEX transactions_reverses ON ledger.transactions (reverses)
    WHERE reverses IS NOT NULL;

-- That its transaction and account are there is seen to by triggers: a foreign key would lock the
-- few accounts that everybody posts to, and nothing here is ever deleted.
CREATE TABLE ledger.postings (
    transaction_id bigint NOT NULL,
    account_id bigint NOT NULL,
    -- Not 0, and up to 10^15: small enough for readers of JSON, whose numbers are exact to 2^53.
    amount bigint NOT NULL,
    -- The transaction's.
    at timestamptz NOT NULL,
    CONSTRAINT postings_one_an_account PRIMARY KEY (transaction_id, account_id)
);
CREATE INDEX postings_account ON ledger.postings (account_id, at, transaction_id) INCLUDE (amount);

-- The present balance of an account: the sum of its row, or of its 64 rows if it is shared. Each
-- backend has one of those, so that writers do not wait for each other's commits.
CREATE TABLE ledger.balances (
    account_id bigint NOT NULL,
    -- Up to 10^17, so that the sum of 64 is a bigint.
    amount bigint NOT NULL,
    slice smallint NOT NULL,
    PRIMARY KEY (account_id, slice)
) WITH (fillfactor = 50);

-- Nothing that was written is changed, by nobody: who made a mistake reverses it.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is only added to: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation',
            HINT = 'Undo a transaction with ledger.reverse(), and post what is right.';
END $$;
CREATE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.transactions ENABLE ALWAYS TRIGGER is_only_added_to;
ALTER TABLE ledger.postings ENABLE ALWAYS TRIGGER is_only_added_to;
ALTER TABLE ledger.accounts ENABLE ALWAYS TRIGGER is_only_added_to;

CREATE FUNCTION ledger.refuse_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Only the trigger of the postings writes them.
    IF pg_trigger_depth() = 1 THEN
        RAISE EXCEPTION 'ledger.balances is kept by the postings: % is refused', TG_OP
            USING ERRCODE = 'restrict_violation', HINT = 'Post a transaction.';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER is_kept BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ledger.balances
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_balance();
ALTER TABLE ledger.balances ENABLE ALWAYS TRIGGER is_kept;

-- These raise an error where an expression needs a value.
CREATE FUNCTION ledger.refuse_account(account bigint) RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no account of the ledger has the id %', account
        USING ERRCODE = 'foreign_key_violation';
END $$;
CREATE FUNCTION ledger.refuse_balance(account bigint, balance bigint, amount numeric)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'account %: its balance of % cannot take % more: balances go to 10^17',
        account, balance, amount USING ERRCODE = 'numeric_value_out_of_range';
END $$;
CREATE FUNCTION ledger.refuse_late_posting() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'postings are made with their transaction, at its time: none is added later'
        USING ERRCODE = 'restrict_violation', HINT = 'Post a transaction of its own.';
END $$;
CREATE FUNCTION ledger.refuse_owner(kind text, owner bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no % has the id %', kind, coalesce(owner::text, 'null')
        USING ERRCODE = 'foreign_key_violation', HINT = format('Add the %s first.', kind);
END $$;

-- Brings the balances along, in the order of accounts so that nobody waits in a circle, and sees
-- that postings are part of a transaction that is being made.
CREATE FUNCTION ledger.apply_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger.balances AS b (account_id, slice, amount)
    SELECT m.account_id, coalesce(
        (SELECT CASE WHEN a.is_shared THEN (pg_backend_pid() & 63)::smallint ELSE 0 END
            FROM ledger.accounts a WHERE a.id = m.account_id),
        ledger.refuse_account(m.account_id)),
        CASE WHEN EXISTS (
            SELECT FROM (SELECT DISTINCT transaction_id, at FROM made) d
            WHERE (SELECT t.xid = pg_current_xact_id() AND t.at = d.at
                FROM ledger.transactions t WHERE t.id = d.transaction_id) IS NOT TRUE)
        THEN ledger.refuse_late_posting() ELSE m.amount END
    FROM (SELECT account_id, sum(amount) AS amount FROM made GROUP BY 1 ORDER BY 1) m
    ON CONFLICT ON CONSTRAINT balances_pkey DO UPDATE
    SET amount = CASE
        WHEN abs(excluded.amount) <= 1000000000000000000
            AND abs(b.amount + excluded.amount) <= 100000000000000000
        THEN b.amount + excluded.amount
        ELSE ledger.refuse_balance(b.account_id, b.amount, excluded.amount) END;
    RETURN NULL;
END $$;
CREATE TRIGGER moves_balances AFTER INSERT ON ledger.postings
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION ledger.apply_postings();

-- Looked at when the database's transaction commits. It runs as whoever commits.
CREATE FUNCTION ledger.check_transaction() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    postings bigint;
    total numeric;
    are_amounts boolean;
    first_currency text;
    last_currency text;
    fault text;
BEGIN
    -- Each account by its id, because a join would be planned to read them all.
    SELECT count(*), sum(s.amount), min(s.currency), max(s.currency),
        bool_and(s.amount <> 0 AND s.amount BETWEEN -1000000000000000 AND 1000000000000000)
    INTO postings, total, first_currency, last_currency, are_amounts
    FROM (
        SELECT p.amount,
            (SELECT a.currency FROM ledger.accounts a WHERE a.id = p.account_id) AS currency
        FROM ledger.postings p WHERE p.transaction_id = NEW.id OFFSET 0
    ) s;
    IF postings = 0 THEN
        fault := 'it has no postings';
    ELSIF total <> 0 OR first_currency <> last_currency THEN
        SELECT 'it does not balance: its postings sum to '
            || string_agg(s.total || ' ' || s.currency, ', ' ORDER BY s.currency) || ', not to zero'
        INTO fault FROM (
            SELECT a.currency, sum(p.amount) AS total
            FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.account_id
            WHERE p.transaction_id = NEW.id GROUP BY a.currency HAVING sum(p.amount) <> 0
        ) s;
    ELSIF NOT are_amounts THEN
        fault := 'an amount is 0 or above 10^15';
    END IF;
    IF NEW.xid <> pg_current_xact_id()
        OR NOT (NEW.at >= '1970-01-01Z' AND NEW.at < '10000-01-01Z')
        OR length(NEW.kind) NOT BETWEEN 1 AND 40 OR length(NEW.key) NOT BETWEEN 1 AND 200
        OR length(NEW.source) NOT BETWEEN 1 AND 100 OR length(NEW.note) NOT BETWEEN 1 AND 500
        OR length(NEW.actor) NOT BETWEEN 1 AND 200 THEN
        fault := 'at, kind, key, source, actor or note is not as the table says';
    END IF;
    IF NEW.reverses IS NOT NULL THEN
        IF EXISTS (
            SELECT p.account_id, p.amount FROM ledger.postings p WHERE p.transaction_id = NEW.id
            EXCEPT
            SELECT p.account_id, -p.amount FROM ledger.postings p
            WHERE p.transaction_id = NEW.reverses
        ) OR postings <> (
            SELECT count(*) FROM ledger.postings p WHERE p.transaction_id = NEW.reverses
        ) THEN
            fault := format('its postings do not undo those of transaction %s', NEW.reverses);
        END IF;
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'transaction % (%): %', NEW.id, NEW.key, fault
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER balances_to_zero AFTER INSERT ON ledger.transactions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger.check_transaction();

-- The account of an owner (0 of nobody) in a currency, made now if it was not there.
CREATE FUNCTION ledger.account(kind text, owner bigint, currency text)
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
        RAISE EXCEPTION 'accounts of kind % are nobody''s: expected owner 0', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF of.owner = 'person'
            AND NOT EXISTS (SELECT FROM notification.people p WHERE p.id = owner)
        OR of.owner = 'establishment'
            AND NOT EXISTS (SELECT FROM coupons.establishments e WHERE e.id = owner) THEN
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

-- The transaction with this key, if it is the one that is asked for; an error if it is another.
CREATE FUNCTION ledger.same_transaction(
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
        RAISE EXCEPTION 'key %: transaction % has it, with other content (%)', key, present.id,
            other USING ERRCODE = 'unique_violation', CONSTRAINT = 'transactions_key',
            HINT = 'The same key means the same transaction: use another for another one.';
    END IF;
    RETURN present.id;
END $$;

-- Makes a transaction of any number of postings; returns its id. The same key with the same
-- content again changes nothing, and returns the same id.
--   accounts, amounts   one posting each; above zero credits, below zero debits; no account twice
--   at                  when it counts from; now when it is null
CREATE FUNCTION ledger.post(
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
        RAISE EXCEPTION 'expected as many accounts as amounts, found % and %',
            coalesce(cardinality(accounts), 0), coalesce(cardinality(amounts), 0)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF 0 = ANY (amounts) OR 1000000000000000 < ANY (amounts)
        OR -1000000000000000 > ANY (amounts) THEN
        RAISE EXCEPTION 'expected amounts in minor units of at most 10^15, and none of 0'
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

-- Undoes a transaction by another one with the opposite postings; returns its id. The same
-- reason again changes nothing; what was undone is not undone again.
CREATE FUNCTION ledger.reverse(
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
        RAISE EXCEPTION 'transaction % is a %, which is not reversed by itself', transaction_id,
            present.kind USING ERRCODE = 'check_violation', HINT = instead;
    END IF;
    SELECT array_agg(p.account_id ORDER BY p.account_id),
        array_agg(-p.amount ORDER BY p.account_id)
    INTO accounts, amounts
    FROM ledger.postings p WHERE p.transaction_id = transaction_id;
    RETURN ledger.post('reversal:' || transaction_id, 'reversal', accounts, amounts, at,
        present.source, reason, actor, transaction_id);
END $$;
