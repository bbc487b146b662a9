-- Closing a quarter, chunk by chunk.

-- Records a change of a run or a payout, with the login, in its history and in the audit log;
-- returns the id of the change.
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
            'currency', currency, 'transaction', ledger_transaction, 'login', session_user)));
    INSERT INTO payouts.changes AS c (run_id, payout_id, payouts, amount, transaction_id, action,
        currency, actor, reason)
    VALUES (run, payout, payouts, amount, ledger_transaction, action, currency, actor, reason)
    RETURNING c.id INTO noted;
    RETURN noted;
END $$;

-- The reason why a person cannot be paid in a currency at a time; null if there is none.
CREATE OR REPLACE FUNCTION payouts.lack(
    is_payee boolean, birth_date date, age_verified_at timestamptz, blocked_at timestamptz,
    time_zone text, currency text, at timestamptz
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        -- Who was born more than 17 years ago needs no calendar.
        WHEN $2 > ($7 - interval '17 years')::date
            AND people.birthday($2, 16) > ($7 AT TIME ZONE $5)::date THEN 'is under 16'
        WHEN $4 IS NOT NULL THEN 'the account is blocked'
        WHEN NOT $1 THEN 'name and address are missing'
        WHEN $2 IS NULL THEN 'birth date is missing'
        WHEN $3 IS NULL THEN 'age is not verified'
        -- The currencies of deposit files and cheques.
        WHEN $6 NOT IN ('CAD', 'USD') THEN 'payouts in ' || $6 || ' are not supported' END
$$;

-- The amounts owed to people from postings before an instant, and the reasons why they cannot be
-- paid. Later rewards, and their reversals, belong to the next quarter; other later debits reduce
-- the amount. Erased people are left out: nobody can pay them.
CREATE OR REPLACE FUNCTION payouts.due(
    cut_off timestamptz, of_currency text, first_account bigint, last_account bigint
) RETURNS TABLE (
    account_id bigint, person_id bigint, amount bigint, undecided bigint, missing text
) LANGUAGE sql STABLE AS $$
    SELECT a.id, a.owner, b.amount - later.total, before.payout,
        CASE WHEN before.payout IS NOT NULL
            THEN format('payout %s is %s and needs a decision', before.payout, before.state)
            ELSE payouts.lack(y.person_id IS NOT NULL, p.birth_date, p.age_verified_at,
                p.blocked_at, p.time_zone, $2, now()) END
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
      AND p.erased_at IS NULL
$$;

-- The minimum payout in minor units.
CREATE OR REPLACE FUNCTION payouts.minimum(of_currency text)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(ceil(r.minimum * 10 ^ c.exponent), 1)::bigint
    FROM payouts.rules r, ledger.currencies c WHERE c.code = $1
$$;

-- Creates the payouts of a chunk, and voids payouts of earlier runs whose money they include.
-- Returns the accounts and amounts to debit, and the chunk with its totals.
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
        -- The new payouts include their money.
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

-- Closes a chunk of a run in one transaction: creates its payouts and debits the people's accounts.
-- Returns the number of chunks left; null if this one was already closed.
CREATE OR REPLACE FUNCTION payouts.close_chunk(run bigint, chunk int)
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    -- Lock the balances against new postings; the next statement sees all earlier ones.
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
    -- Update the row that all chunks share last, to keep its lock short.
    UPDATE payouts.runs r SET chunks_left = r.chunks_left - 1 WHERE r.id = run
    RETURNING r.chunks_left INTO remaining;
    RETURN remaining;
END $$;
