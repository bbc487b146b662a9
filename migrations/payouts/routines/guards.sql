-- Triggers that refuse invalid changes of series, history, payouts and the states of runs.

CREATE OR REPLACE FUNCTION payouts.keep_series() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payouts.series only increases: numbers are never reused'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER goes_up BEFORE UPDATE ON payouts.series FOR EACH ROW
    WHEN (NEW.last < OLD.last OR NEW.name <> OLD.name) EXECUTE FUNCTION payouts.keep_series();
CREATE OR REPLACE TRIGGER is_kept BEFORE DELETE OR TRUNCATE ON payouts.series
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.keep_series();

CREATE OR REPLACE FUNCTION payouts.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payouts.% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER is_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON payouts.changes
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.refuse_change();
ALTER TABLE payouts.changes ENABLE ALWAYS TRIGGER is_only_added_to;

-- The transitions between states, enforced for every role.
CREATE OR REPLACE FUNCTION payouts.guard_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('issued', 'held', 'void')
        WHEN 'issued' THEN NEW.state IN ('settled', 'returned', 'void')
        WHEN 'settled' THEN NEW.state = 'returned'
        WHEN 'returned' THEN NEW.state IN ('reissued', 'void')
        WHEN 'held' THEN NEW.state IN ('pending', 'void')
        WHEN 'void' THEN NEW.state = 'reissued'
        ELSE false END) THEN
        RAISE EXCEPTION 'payout % is %: it cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_state BEFORE UPDATE OF state ON payouts.payouts
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION payouts.guard_payout();

CREATE OR REPLACE FUNCTION payouts.keep_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'run, person, amount and currency of a payout cannot change, nor can it be '
        'deleted'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER keeps_amount
    BEFORE UPDATE OF run_id, person_id, account_id, amount, replaces, chunk, was_held, currency
    ON payouts.payouts FOR EACH ROW
    WHEN ((OLD.run_id, OLD.person_id, OLD.account_id, OLD.amount, OLD.replaces, OLD.chunk,
            OLD.was_held, OLD.currency)
        IS DISTINCT FROM (NEW.run_id, NEW.person_id, NEW.account_id, NEW.amount, NEW.replaces,
            NEW.chunk, NEW.was_held, NEW.currency))
    EXECUTE FUNCTION payouts.keep_payout();
CREATE OR REPLACE TRIGGER keeps_payouts BEFORE DELETE OR TRUNCATE ON payouts.payouts
    FOR EACH STATEMENT EXECUTE FUNCTION payouts.keep_payout();

CREATE OR REPLACE FUNCTION payouts.guard_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Returns after the settlement can be issued again.
    IF NOT (CASE OLD.state
        WHEN 'preview' THEN NEW.state = 'closed'
        WHEN 'closed' THEN NEW.state = 'approved'
        WHEN 'approved' THEN NEW.state = 'issued'
        WHEN 'issued' THEN NEW.state = 'settled'
        WHEN 'settled' THEN NEW.state = 'issued' END) THEN
        RAISE EXCEPTION 'run % is %: it cannot become %', OLD.quarter, OLD.state, NEW.state
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guards_state BEFORE UPDATE OF state ON payouts.runs
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION payouts.guard_run();
