-- What establishments owe, by the ledger, and what they paid.

-- The amount that an establishment owes at an instant, from transactions before it.
CREATE OR REPLACE FUNCTION reports.owed_at(account bigint, instant timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN -ledger.balance_at(account, instant);
END $$;

-- What an establishment owes for 30 days at an instant: the sum owed 30 days before, less what was
-- credited since, the oldest first.
CREATE OR REPLACE FUNCTION reports.overdue_at(account bigint, instant timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest(0, reports.owed_at(account, instant - interval '30 days') - coalesce((
        SELECT sum(p.amount) FROM ledger.postings p
        WHERE p.account_id = account AND p.amount > 0
          AND p.at >= instant - interval '30 days' AND p.at < instant), 0));
END $$;

-- The lines of an establishment's statement. The amounts between opening and closing are all
-- postings of its accounts, so that opening and lines sum to closing, to the cent.
CREATE OR REPLACE FUNCTION reports.statement_lines(report bigint) RETURNS SETOF reports.line
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    r reports.reports;
BEGIN
    SELECT * INTO STRICT r FROM reports.reports k WHERE k.id = report;
    RETURN QUERY
    WITH accounts AS (
        SELECT a.id, a.currency FROM ledger.accounts a
        WHERE a.owner = r.establishment_id AND a.kind = 'establishment'
    ), posted AS (
        SELECT a.currency, -p.amount AS amount, t.id, t.kind, t.source, t.note,
            CASE WHEN t.kind = 'reward' AND t.source ~ '^survey:[0-9]{1,18}(:[0-9]{1,18})?$'
                    THEN 'surveys'
                WHEN t.kind = 'reward' AND t.source ~ '^mission:[0-9]{1,18}:' THEN 'missions'
                WHEN t.kind = 'reversal' THEN 'reversals'
                WHEN t.kind = 'establishment_payment' THEN 'payments'
                ELSE 'other' END AS line
        FROM accounts a JOIN ledger.postings p ON p.account_id = a.id
        JOIN ledger.transactions t ON t.id = p.transaction_id
        WHERE p.at >= r.from_at AND p.at < r.until_at
    ), named AS (
        SELECT p.currency, p.line, p.amount,
            -- What follows the survey or mission names one person's completion.
            CASE WHEN p.line <> 'payments' AND p.source ~ '^(survey|mission):[0-9]{1,18}(:|$)'
                THEN split_part(p.source, ':', 1) || ':' || split_part(p.source, ':', 2)
                ELSE coalesce(p.source, p.kind) END AS source,
            CASE WHEN p.line IN ('payments', 'reversals') THEN p.id END AS alone
        FROM posted p
    ), lines AS (
        SELECT n.currency, n.line, n.source, count(*) AS count, n.amount AS each,
            sum(n.amount)::bigint AS amount
        FROM named n GROUP BY n.currency, n.line, n.source, n.amount, n.alone
        UNION ALL SELECT a.currency, 'opening', NULL, NULL, NULL,
            reports.owed_at(a.id, r.from_at) FROM accounts a
        UNION ALL SELECT a.currency, 'closing', NULL, NULL, NULL,
            reports.owed_at(a.id, r.until_at) FROM accounts a
        UNION ALL SELECT a.currency, 'overdue', NULL, NULL, NULL,
            reports.overdue_at(a.id, r.until_at) FROM accounts a
    )
    SELECT l.currency, l.line, l.source, CASE l.line
        WHEN 'surveys' THEN (SELECT v.title FROM surveys.surveys s
            JOIN surveys.versions v ON v.survey_id = s.id AND v.version = s.version
            WHERE s.id = split_part(l.source, ':', 2)::bigint)
        WHEN 'missions' THEN (SELECT m.title FROM missions.missions m
            WHERE m.id = split_part(l.source, ':', 2)::bigint) END,
        l.count, l.each, l.amount
    FROM lines l
    ORDER BY l.currency, array_position(
        '{opening,surveys,missions,reversals,other,payments,closing,overdue}', l.line),
        length(l.source), l.source, l.each, l.amount;
END $$;

-- Posts what an establishment paid, once for a reference, and returns whether it is new.
CREATE OR REPLACE FUNCTION reports.note_payment(
    establishment bigint, amount bigint, currency text, reference text, actor text,
    at timestamptz DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known reports.payments;
    posted bigint;
    paid_at CONSTANT timestamptz := coalesce(at, clock_timestamp());
BEGIN
    PERFORM errand.expect(amount BETWEEN 1 AND 1000000000000000,
        'amount: expected minor units, from 1 to 10^15');
    PERFORM errand.expect(length(reference) BETWEEN 1 AND 100 AND reference !~ '[[:cntrl:]]',
        'reference: expected 1 to 100 characters on one line');
    PERFORM errand.expect(paid_at <= clock_timestamp() + interval '1 minute',
        'at: expected a time in the past');
    -- Two notes of one payment at once: the second waits for the first.
    PERFORM FROM establishments.establishments e WHERE e.id = establishment FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
    END IF;
    SELECT * INTO known FROM reports.payments p
    WHERE p.establishment_id = establishment AND p.reference = reference;
    IF FOUND THEN
        IF known.corrected_at IS NOT NULL THEN
            PERFORM errand.refuse('corrected', format('the payment %s was corrected', reference),
                'Note the right payment with another reference, such as ' || reference || '/2.');
        END IF;
        IF known.amount <> amount OR known.currency <> currency
            OR at IS NOT NULL AND known.paid_at <> at THEN
            RAISE EXCEPTION 'the payment % is known as % % of %', reference, known.amount,
                known.currency, known.paid_at USING ERRCODE = 'unique_violation',
                HINT = 'Correct it first if it is wrong.';
        END IF;
        RETURN false;
    END IF;
    posted := ledger.post('establishment_payment:' || establishment || ':' || reference,
        'establishment_payment',
        ARRAY[ledger.account('establishment', establishment, currency),
            ledger.account('bank', 0, currency)],
        ARRAY[amount, -amount], paid_at, left('payment:' || reference, 100), NULL, actor);
    INSERT INTO reports.payments (establishment_id, reference, currency, amount, paid_at, actor,
        transaction_id)
    VALUES (establishment, reference, currency, amount, paid_at, actor, posted);
    RETURN true;
END $$;

-- Reverses a payment that was noted by mistake; false if that was done before.
CREATE OR REPLACE FUNCTION reports.correct_payment(
    establishment bigint, reference text, reason text, actor text
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known reports.payments;
    posted bigint;
    at timestamptz;
BEGIN
    PERFORM errand.expect(length(reason) BETWEEN 1 AND 500,
        'reason: expected 1 to 500 characters');
    SELECT * INTO known FROM reports.payments p
    WHERE p.establishment_id = establishment AND p.reference = reference FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'establishment % has no payment %', establishment, reference
            USING ERRCODE = 'no_data_found';
    END IF;
    IF known.corrected_at IS NOT NULL THEN
        RETURN false;
    END IF;
    at := greatest(clock_timestamp(), known.paid_at);
    posted := ledger.post('reversal:' || known.transaction_id, 'reversal',
        ARRAY[ledger.account('establishment', establishment, known.currency),
            ledger.account('bank', 0, known.currency)],
        ARRAY[-known.amount, known.amount], at, left('payment:' || reference, 100), reason, actor,
        known.transaction_id);
    UPDATE reports.payments p SET corrected_at = at, corrected_by = actor, correction = reason,
        correction_id = posted
    WHERE p.establishment_id = establishment AND p.reference = reference;
    RETURN true;
END $$;
