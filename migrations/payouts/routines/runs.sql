-- How a quarter is previewed, closed and approved.

-- Takes note of what somebody did to a run or a payout, in the operators' audit too; returns the
-- note's id.
CREATE OR REPLACE FUNCTION payouts.note(
    run bigint, action text, actor text, reason text, payout bigint, payouts bigint,
    amount bigint, currency text, ledger_transaction bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    noted bigint;
BEGIN
    INSERT INTO errand.audit (operator, action, subject, reason, change)
    VALUES (actor, 'payout ' || action, CASE WHEN payout IS NULL
            THEN (SELECT r.quarter FROM payouts.runs r WHERE r.id = run) ELSE payout::text END,
        reason, jsonb_strip_nulls(jsonb_build_object('payouts', payouts, 'amount', amount,
            'currency', currency, 'transaction', ledger_transaction)));
    INSERT INTO payouts.changes AS c (run_id, payout_id, payouts, amount, transaction_id, action,
        currency, actor, reason)
    VALUES (run, payout, payouts, amount, ledger_transaction, action, currency, actor, reason)
    RETURNING c.id INTO noted;
    RETURN noted;
END $$;

-- What is missing to pay a person in a currency; null: nothing.
CREATE OR REPLACE FUNCTION payouts.lack(
    is_payee boolean, birth_date date, age_verified_at timestamptz, currency text
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN NOT $1 THEN 'no name and address were given'
        WHEN $2 IS NULL THEN 'no birth date was given'
        WHEN $3 IS NULL THEN 'the age was not verified'
        -- In these there are files of deposits, and cheques.
        WHEN $4 NOT IN ('CAD', 'USD') THEN 'nothing is paid in ' || $4 END
$$;

-- What is owed to people for all that they earned before an instant, and why it cannot be paid,
-- if so. Of what was posted since then, what was earned is for the next quarter, unless that was
-- taken back too; whatever else was taken is not paid any more.
CREATE OR REPLACE FUNCTION payouts.due(
    cut_off timestamptz, of_currency text, first_account bigint, last_account bigint
) RETURNS TABLE (
    account_id bigint, person_id bigint, amount bigint, undecided bigint, missing text
) LANGUAGE sql STABLE AS $$
    SELECT a.id, a.owner, b.amount - later.total, before.payout,
        CASE WHEN before.payout IS NOT NULL
            THEN format('payout %s is %s, and was not decided on', before.payout, before.state)
            ELSE payouts.lack(y.person_id IS NOT NULL, p.birth_date, p.age_verified_at, $2) END
    FROM ledger.accounts a
    JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(l.amount) FILTER (
            WHERE CASE WHEN o.id IS NULL THEN l.amount > 0 AND t.kind <> 'payout_back'
                ELSE o.at >= $1 END), 0)::bigint AS total
        FROM ledger.postings l
        JOIN ledger.transactions t ON t.id = l.transaction_id
        LEFT JOIN ledger.transactions o ON o.id = t.reverses
        WHERE l.account_id = a.id AND l.at >= $1
    ) later
    LEFT JOIN LATERAL (
        SELECT o.id AS payout, o.state FROM payouts.payouts o
        WHERE o.account_id = a.id AND o.state IN ('held', 'returned')
          AND (o.is_kept_back OR o.state = 'returned')
        ORDER BY o.id LIMIT 1
    ) before ON true
    LEFT JOIN people.people p ON p.id = a.owner
    LEFT JOIN payouts.payees y ON y.person_id = a.owner
    WHERE a.id BETWEEN $3 AND $4 AND a.kind = 'person' AND a.currency = $2 AND b.amount > 0
$$;

-- The least amount that is paid, in minor units.
CREATE OR REPLACE FUNCTION payouts.minimum(of_currency text)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(ceil(r.minimum * 10 ^ c.exponent), 1)::bigint
    FROM payouts.rules r, ledger.currencies c WHERE c.code = $1
$$;

-- Makes the payouts of a chunk from what is due; payouts of earlier runs whose money they carry are
-- void. Returns the accounts that pay, with what is taken from each, and the chunk with its sums.
CREATE OR REPLACE FUNCTION payouts.make_payouts(
    of payouts.runs, INOUT part payouts.chunks, OUT accounts bigint[], OUT amounts bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    minimum CONSTANT bigint := payouts.minimum(part.currency);
BEGIN
    WITH found AS MATERIALIZED (
        SELECT * FROM payouts.due(of.cut_off, part.currency, part.first_account,
            part.last_account)
        WHERE amount > 0 ORDER BY account_id
    ), made AS (
        INSERT INTO payouts.payouts AS p (run_id, person_id, account_id, amount, chunk, state,
            was_held, is_kept_back, currency, reason)
        SELECT of.id, f.person_id, f.account_id, f.amount, part.number,
            CASE WHEN f.missing IS NULL THEN 'pending' ELSE 'held' END::payouts.payout_state,
            f.missing IS NOT NULL, f.undecided IS NOT NULL, part.currency, f.missing
        FROM found f WHERE f.amount >= minimum ORDER BY f.account_id
        RETURNING p.account_id, p.amount, p.was_held
    ), over AS (
        -- Their money is part of what was made now.
        UPDATE payouts.payouts p SET state = 'void', reason = 'part of ' || of.quarter
        WHERE p.account_id IN (SELECT m.account_id FROM made m)
          AND p.state IN ('held', 'returned') AND p.run_id <> of.id
        RETURNING p.*
    ), noted AS (
        INSERT INTO payouts.changes (run_id, payout_id, payouts, amount, action, currency, actor,
            reason)
        SELECT o.run_id, o.id, 1, o.amount, 'void', o.currency, of.closed_by, o.reason
        FROM over o
    )
    SELECT array_agg(m.account_id) FILTER (WHERE NOT m.was_held),
        array_agg(-m.amount) FILTER (WHERE NOT m.was_held),
        count(*) FILTER (WHERE NOT m.was_held),
        coalesce(sum(m.amount) FILTER (WHERE NOT m.was_held), 0),
        count(*) FILTER (WHERE m.was_held),
        coalesce(sum(m.amount) FILTER (WHERE m.was_held), 0),
        (SELECT count(*) FROM found f WHERE f.amount < minimum),
        (SELECT coalesce(sum(f.amount), 0) FROM found f WHERE f.amount < minimum)
    INTO accounts, amounts, part.payouts, part.amount, part.held, part.held_amount,
        part.carried, part.carried_amount
    FROM made m;
END $$;

-- Closes a chunk of a run, in one transaction: makes its payouts, and takes what is paid from the
-- people's accounts. Returns how many chunks of the run are left; null when this one was done.
CREATE OR REPLACE FUNCTION payouts.close_chunk(run bigint, chunk int)
RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    part payouts.chunks;
    of payouts.runs;
    made record;
    posted bigint;
    remaining int;
BEGIN
    SELECT * INTO part FROM payouts.chunks c
    WHERE c.run_id = run AND c.number = chunk FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % has no chunk %', run, chunk USING ERRCODE = 'no_data_found';
    END IF;
    IF part.done_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run;
    -- Nobody posts to them from here on; the next statement sees what was.
    PERFORM FROM ledger.balances b
    WHERE b.slice = 0 AND b.account_id IN (
        SELECT a.id FROM ledger.accounts a
        WHERE a.id BETWEEN part.first_account AND part.last_account
          AND a.kind = 'person' AND a.currency = part.currency)
    ORDER BY b.account_id FOR NO KEY UPDATE;

    SELECT * INTO made FROM payouts.make_payouts(of, part);
    part := made.part;
    IF part.payouts > 0 THEN
        posted := ledger.post('payout:' || of.quarter || ':' || chunk, 'payout',
            made.accounts || ledger.account('payouts_in_transit', 0, part.currency),
            made.amounts || part.amount, of.cut_off, 'payout:' || of.quarter, NULL, of.closed_by);
    END IF;
    UPDATE payouts.chunks c
    SET done_at = clock_timestamp(), transaction_id = posted, payouts = part.payouts,
        amount = part.amount, held = part.held, held_amount = part.held_amount,
        carried = part.carried, carried_amount = part.carried_amount
    WHERE c.run_id = run AND c.number = chunk;
    INSERT INTO payouts.changes (run_id, payouts, amount, transaction_id, action, currency, actor)
    VALUES (run, part.payouts, part.amount, posted, 'close', part.currency, of.closed_by);
    -- The one row of which all chunks have a part comes last, so that they wait shortly.
    UPDATE payouts.runs r SET chunks_left = r.chunks_left - 1 WHERE r.id = run
    RETURNING r.chunks_left INTO remaining;
    RETURN remaining;
END $$;

-- The run of a quarter, made now if it was not there: its end, and when it is paid.
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

-- Writes down what closing a run would do now. Nothing else changes.
CREATE OR REPLACE FUNCTION payouts.preview(run bigint, actor text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    currency text;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR KEY SHARE;
    IF of.closing_at IS NOT NULL THEN
        RAISE EXCEPTION 'run % is being closed, or was: there is nothing to preview', of.quarter
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

-- Begins to close a run: makes its chunks; returns how many. Null: somebody has begun before.
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
            USING ERRCODE = 'check_violation', HINT = 'Preview it until then.';
    END IF;
    SELECT r.quarter INTO later FROM payouts.runs r
    WHERE r.cut_off > of.cut_off AND r.closing_at IS NOT NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'quarter % was closed already, with all that % had left', later,
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

-- Ends the close of a run whose chunks are done; false when that was done before.
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

-- By how many percent a run's totals differ from its last preview's, at most in any currency;
-- null when it had none.
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

-- Lets a closed run be issued.
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
        RAISE EXCEPTION 'run % is %: only one that is closed is approved', of.quarter,
            CASE WHEN of.state = 'preview' AND of.closing_at IS NOT NULL THEN 'being closed'
                ELSE of.state::text END
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF of.closed_by = actor AND NOT rules.allows_same THEN
        RAISE EXCEPTION 'run % was closed by %: somebody else has to approve it', of.quarter,
            actor USING ERRCODE = 'check_violation',
            HINT = 'errand payout rules --allow-same on lets one person do both.';
    END IF;
    deviation := payouts.deviation(run);
    IF NOT acknowledged AND (deviation <= rules.deviation_limit) IS NOT TRUE THEN
        RAISE EXCEPTION 'run % %', of.quarter, CASE WHEN deviation IS NULL
                THEN 'was not previewed in all its currencies'
            ELSE format('differs from its preview by %s %%, more than %s %%', deviation,
                rules.deviation_limit) END
            USING ERRCODE = 'check_violation',
                HINT = 'Look at it, and approve it with --acknowledge.';
    END IF;
    UPDATE payouts.runs r SET state = 'approved', approved_at = clock_timestamp(),
        approved_by = actor WHERE r.id = run;
    PERFORM payouts.note(run, 'approve', actor, reason, NULL, NULL, NULL, NULL, NULL);
END $$;
