-- Previewing and closing a quarter. Workers call these functions and write none of the tables, so
-- each checks its arguments.

-- The first day after a quarter, such as 2026-Q3.
CREATE OR REPLACE FUNCTION payouts.day_after(quarter text) RETURNS date LANGUAGE sql IMMUTABLE AS $$
    SELECT (make_date(left($1, 4)::int, 3 * right($1, 1)::int - 2, 1) + interval '3 months')::date
$$;

-- Returns the run of a quarter; creates it, with its end and pay date, if missing.
CREATE OR REPLACE FUNCTION payouts.run_of(
    quarter text, cut_off timestamptz, time_zone text, pay_date date
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    after date;
    run bigint;
BEGIN
    PERFORM errand.expect(quarter ~ '^[0-9]{4}-Q[1-4]$', 'quarter: expected one such as 2026-Q3');
    after := payouts.day_after(quarter);
    PERFORM errand.expect(cut_off = after::timestamp AT TIME ZONE time_zone AND cut_off = (
            SELECT after::timestamp AT TIME ZONE r.time_zone FROM ledger.pay_rules r),
        'cut_off: expected the end of the quarter in the time zone of ledger.pay_rules');
    PERFORM errand.expect(pay_date - after BETWEEN 0 AND 40,
        'pay_date: expected a day in the month after the quarter, or the next banking day');
    -- Without a constraint: two sessions that insert at once may meet on any of them.
    INSERT INTO payouts.runs AS r (quarter, cut_off, time_zone, pay_date)
    VALUES (quarter, cut_off, time_zone, pay_date)
    ON CONFLICT DO NOTHING RETURNING r.id INTO run;
    IF run IS NULL THEN
        SELECT r.id INTO run FROM payouts.runs r WHERE r.quarter = quarter;
    END IF;
    IF run IS NULL THEN
        RAISE EXCEPTION 'another run ends at % too', cut_off
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    RETURN run;
END $$;

-- Stores a preview of closing a run now; changes nothing else.
CREATE OR REPLACE FUNCTION payouts.preview(run bigint, actor text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    currency text;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    IF of.closing_at IS NOT NULL THEN
        RAISE EXCEPTION 'the close of run % has started: nothing to preview', of.quarter
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    FOR currency IN
        SELECT DISTINCT a.currency FROM ledger.accounts a WHERE a.kind = 'person' ORDER BY 1
    LOOP
        INSERT INTO payouts.previews (run_id, payouts, amount, held, held_amount, carried,
            carried_amount, currency, actor)
        SELECT run,
            count(*) FILTER (WHERE d.amount >= m AND d.missing IS NULL),
            coalesce(sum(d.amount) FILTER (WHERE d.amount >= m AND d.missing IS NULL), 0),
            count(*) FILTER (WHERE d.amount >= m AND d.missing IS NOT NULL),
            coalesce(sum(d.amount) FILTER (WHERE d.amount >= m AND d.missing IS NOT NULL), 0),
            count(*) FILTER (WHERE d.amount < m),
            coalesce(sum(d.amount) FILTER (WHERE d.amount < m), 0),
            currency, actor
        FROM payouts.minimum(currency) m,
            payouts.due(of.cut_off, currency, 1, 9223372036854775807) d
        WHERE d.amount > 0;
    END LOOP;
    PERFORM payouts.note(run, 'preview', actor, NULL, NULL, NULL, NULL, NULL, NULL);
END $$;

-- Starts the close of a run: creates its chunks and returns their number; null if it has started.
CREATE OR REPLACE FUNCTION payouts.begin_close(
    run bigint, now timestamptz, chunk_size int, actor text)
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    later text;
    made int;
BEGIN
    PERFORM errand.expect(chunk_size BETWEEN 1 AND 100000, 'chunk_size: expected 1 to 100000');
    PERFORM errand.expect(payouts.operator_key(actor) <> '', 'actor: expected a name');
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    IF of.closing_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    -- The caller's clock may be behind, but no caller closes a quarter before its end.
    IF (of.cut_off <= least(now, clock_timestamp())) IS NOT TRUE THEN
        RAISE EXCEPTION 'quarter % is not over before %', of.quarter, of.cut_off
            USING ERRCODE = 'check_violation', HINT = 'Until then, preview it.';
    END IF;
    SELECT r.quarter INTO later FROM payouts.runs r
    WHERE r.cut_off > of.cut_off AND r.closing_at IS NOT NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'quarter % is already closed and includes the rewards of %', later,
            of.quarter USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO payouts.chunks (run_id, number, currency, first_account, last_account)
    SELECT run, row_number() OVER (ORDER BY s.currency, s.first), s.currency, s.first,
        coalesce(lead(s.first) OVER (PARTITION BY s.currency ORDER BY s.first) - 1,
            9223372036854775807)
    FROM (
        SELECT p.currency, min(p.id) AS first FROM (
            SELECT a.id, a.currency, (row_number() OVER (PARTITION BY a.currency ORDER BY a.id) - 1)
                / chunk_size AS part
            FROM ledger.accounts a WHERE a.kind = 'person'
        ) p GROUP BY p.currency, p.part
    ) s;
    GET DIAGNOSTICS made = ROW_COUNT;
    UPDATE payouts.runs r SET closing_at = clock_timestamp(), closed_by = actor,
        closed_by_login = session_user, chunks_left = made
    WHERE r.id = run;
    RETURN made;
END $$;

-- Ends the close of a run whose chunks are closed; false if it has already ended.
CREATE OR REPLACE FUNCTION payouts.end_close(run bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    total record;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    IF of.state <> 'preview' THEN
        RETURN false;
    END IF;
    IF of.closing_at IS NULL OR EXISTS (
        SELECT FROM payouts.chunks c WHERE c.run_id = run AND c.done_at IS NULL) THEN
        RAISE EXCEPTION 'run % has chunks that are not closed', of.quarter
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    UPDATE payouts.runs r SET state = 'closed', closed_at = clock_timestamp() WHERE r.id = run;
    SELECT coalesce(sum(c.payouts), 0)::bigint AS payouts INTO total
    FROM payouts.chunks c WHERE c.run_id = run;
    PERFORM payouts.note(run, 'close', of.closed_by, NULL, NULL, total.payouts, NULL, NULL, NULL);
    PERFORM notification.emit('payout.closed', 'operator', jsonb_build_object('quarter',
        of.quarter, 'payouts', total.payouts), 'payout.closed:' || of.quarter);
    RETURN true;
END $$;
