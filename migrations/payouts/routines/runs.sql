-- Previewing, closing and approving a quarter.

-- Returns the run of a quarter; creates it, with its end and pay date, if missing.
CREATE OR REPLACE FUNCTION payouts.run_of(
    quarter text, cut_off timestamptz, time_zone text, pay_date date
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    run bigint;
BEGIN
    INSERT INTO payouts.runs AS r (quarter, cut_off, time_zone, pay_date)
    VALUES (quarter, cut_off, time_zone, pay_date)
    ON CONFLICT ON CONSTRAINT runs_quarter_key DO NOTHING RETURNING r.id INTO run;
    IF run IS NULL THEN
        SELECT r.id INTO STRICT run FROM payouts.runs r WHERE r.quarter = quarter;
    END IF;
    RETURN run;
END $$;

-- Stores a preview of closing a run now; changes nothing else.
CREATE OR REPLACE FUNCTION payouts.preview(run bigint, actor text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    currency text;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR KEY SHARE;
    IF of.closing_at IS NOT NULL THEN
        RAISE EXCEPTION 'the close of run % has started: nothing to preview', of.quarter
            USING ERRCODE = 'object_not_in_prerequisite_state';
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
RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    later text;
    made int;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF of.closing_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    IF of.cut_off > now THEN
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
    UPDATE payouts.runs r SET closing_at = clock_timestamp(), closed_by = actor, chunks_left = made
    WHERE r.id = run;
    RETURN made;
END $$;

-- Ends the close of a run whose chunks are closed; false if it has already ended.
CREATE OR REPLACE FUNCTION payouts.end_close(run bigint) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    total record;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF of.state <> 'preview' THEN
        RETURN false;
    END IF;
    IF of.closing_at IS NULL OR EXISTS (
        SELECT FROM payouts.chunks c WHERE c.run_id = run AND c.done_at IS NULL) THEN
        RAISE EXCEPTION 'run % has chunks that are not closed', of.quarter
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE payouts.runs r SET state = 'closed', closed_at = clock_timestamp() WHERE r.id = run;
    SELECT coalesce(sum(c.payouts), 0)::bigint AS payouts INTO total
    FROM payouts.chunks c WHERE c.run_id = run;
    PERFORM payouts.note(run, 'close', of.closed_by, NULL, NULL, total.payouts, NULL, NULL, NULL);
    PERFORM notification.emit('payout.closed', 'operator', jsonb_build_object('quarter',
        of.quarter, 'payouts', total.payouts), 'payout.closed:' || of.quarter);
    RETURN true;
END $$;

-- The largest deviation of a run's totals from its last preview, over all currencies, in percent;
-- null without a preview.
CREATE OR REPLACE FUNCTION payouts.deviation(run bigint) RETURNS numeric LANGUAGE sql STABLE AS $$
    WITH previewed AS (
        SELECT p.currency, p.amount FROM payouts.previews p
        WHERE p.run_id = $1
          AND p.at = (SELECT max(l.at) FROM payouts.previews l
            WHERE l.run_id = $1 AND l.currency = p.currency)
    ), closed AS (
        SELECT c.currency, sum(c.amount) AS amount FROM payouts.chunks c
        WHERE c.run_id = $1 GROUP BY 1
    )
    SELECT round(max(CASE
        WHEN c.amount IS NOT DISTINCT FROM p.amount THEN 0
        WHEN p.amount IS NULL THEN NULL
        WHEN p.amount = 0 THEN 100
        ELSE abs(coalesce(c.amount, 0) - p.amount) * 100 / p.amount END), 2)
    FROM previewed p FULL JOIN closed c USING (currency)
    HAVING bool_and(p.currency IS NOT NULL)
$$;

-- Approves a closed run for issue.
CREATE OR REPLACE FUNCTION payouts.approve(
    run bigint, actor text, reason text, acknowledged boolean DEFAULT false
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    rules payouts.rules;
    deviation numeric;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    SELECT * INTO rules FROM payouts.rules;
    IF of.state <> 'closed' THEN
        RAISE EXCEPTION 'run % is %: only closed runs can be approved', of.quarter,
            CASE WHEN of.state = 'preview' AND of.closing_at IS NOT NULL THEN 'being closed'
                ELSE of.state::text END
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF of.closed_by = actor AND NOT rules.allows_same THEN
        RAISE EXCEPTION 'run % was closed by %: another person must approve it', of.quarter,
            actor USING ERRCODE = 'check_violation',
            HINT = 'errand payout rules --allow-same on allows one person to do both.';
    END IF;
    deviation := payouts.deviation(run);
    IF NOT acknowledged AND (deviation <= rules.deviation_limit) IS NOT TRUE THEN
        RAISE EXCEPTION 'run % %', of.quarter, CASE WHEN deviation IS NULL
                THEN 'was not previewed in all its currencies'
            ELSE format('differs from its preview by %s %%, more than %s %%', deviation,
                rules.deviation_limit) END
            USING ERRCODE = 'check_violation',
                HINT = 'Review the run, then approve it with --acknowledge.';
    END IF;
    UPDATE payouts.runs r SET state = 'approved', approved_at = clock_timestamp(),
        approved_by = actor WHERE r.id = run;
    PERFORM payouts.note(run, 'approve', actor, reason, NULL, NULL, NULL, NULL, NULL);
END $$;
