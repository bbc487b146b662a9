-- Triggers that protect the ledger, and their errors.

-- The ledger is append-only, also for its owner: mistakes are reversed.
CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation',
            HINT = 'Reverse the transaction with ledger.reverse(), then post the correct one.';
END $$;
CREATE OR REPLACE TRIGGER is_only_added_to
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE OR REPLACE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE OR REPLACE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.transactions ENABLE ALWAYS TRIGGER is_only_added_to;
ALTER TABLE ledger.postings ENABLE ALWAYS TRIGGER is_only_added_to;
ALTER TABLE ledger.accounts ENABLE ALWAYS TRIGGER is_only_added_to;

CREATE OR REPLACE FUNCTION ledger.refuse_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Only the trigger on postings writes balances.
    IF pg_trigger_depth() = 1 THEN
        RAISE EXCEPTION 'ledger.balances is updated by postings only: % is refused', TG_OP
            USING ERRCODE = 'restrict_violation', HINT = 'Post a transaction.';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER is_kept BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ledger.balances
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_balance();
ALTER TABLE ledger.balances ENABLE ALWAYS TRIGGER is_kept;

-- Raise errors in expressions.
CREATE OR REPLACE FUNCTION ledger.refuse_account(account bigint)
RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no account of the ledger has the id %', account
        USING ERRCODE = 'foreign_key_violation';
END $$;

CREATE OR REPLACE FUNCTION ledger.refuse_balance(account bigint, balance bigint, amount numeric)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'account %: balance % plus % exceeds the limit of 10^17',
        account, balance, amount USING ERRCODE = 'numeric_value_out_of_range';
END $$;

CREATE OR REPLACE FUNCTION ledger.refuse_late_posting() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'postings must be inserted with their transaction, at the same time'
        USING ERRCODE = 'restrict_violation', HINT = 'Post another transaction.';
END $$;

CREATE OR REPLACE FUNCTION ledger.refuse_owner(kind text, owner bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no % has the id %', kind, coalesce(owner::text, 'null')
        USING ERRCODE = 'foreign_key_violation', HINT = format('Add the %s first.', kind);
END $$;

-- Updates the balances, sorted by account to avoid deadlocks, and checks that the postings belong
-- to a transaction of the current database transaction.
CREATE OR REPLACE FUNCTION ledger.apply_postings() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE TRIGGER moves_balances AFTER INSERT ON ledger.postings
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION ledger.apply_postings();

-- Checks a transaction at commit. SECURITY DEFINER, because it otherwise runs with the privileges
-- of the committing role.
CREATE OR REPLACE FUNCTION ledger.check_transaction() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    postings bigint;
    total numeric;
    are_amounts boolean;
    first_currency text;
    last_currency text;
    fault text;
BEGIN
    -- A subquery per account, because the planner would read all accounts for a join.
    SELECT count(*), sum(s.amount), min(s.currency), max(s.currency),
        bool_and(s.amount <> 0 AND s.amount BETWEEN -1000000000000000 AND 1000000000000000)
    INTO postings, total, first_currency, last_currency, are_amounts
    FROM (
        SELECT p.amount,
            (SELECT a.currency FROM ledger.accounts a WHERE a.id = p.account_id) AS currency
        FROM ledger.postings p WHERE p.transaction_id = NEW.id OFFSET 0
    ) s;
    IF postings = 0 THEN
        fault := 'no postings';
    ELSIF total <> 0 OR first_currency <> last_currency THEN
        SELECT 'not balanced: the postings sum to '
            || string_agg(s.total || ' ' || s.currency, ', ' ORDER BY s.currency) || ', not to zero'
        INTO fault FROM (
            SELECT a.currency, sum(p.amount) AS total
            FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.account_id
            WHERE p.transaction_id = NEW.id GROUP BY a.currency HAVING sum(p.amount) <> 0
        ) s;
    ELSIF NOT are_amounts THEN
        fault := 'an amount is 0 or exceeds 10^15';
    END IF;
    IF NEW.xid <> pg_current_xact_id()
        OR NOT (NEW.at >= '1970-01-01Z' AND NEW.at < '10000-01-01Z')
        OR length(NEW.kind) NOT BETWEEN 1 AND 40 OR length(NEW.key) NOT BETWEEN 1 AND 200
        OR length(NEW.source) NOT BETWEEN 1 AND 100 OR length(NEW.note) NOT BETWEEN 1 AND 500
        OR length(NEW.actor) NOT BETWEEN 1 AND 200 THEN
        fault := 'at, kind, key, source, actor or note is out of range';
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
            fault := format('the postings do not reverse those of transaction %s', NEW.reverses);
        END IF;
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'transaction % (%): %', NEW.id, NEW.key, fault
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS balances_to_zero ON ledger.transactions;
CREATE CONSTRAINT TRIGGER balances_to_zero AFTER INSERT ON ledger.transactions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger.check_transaction();
