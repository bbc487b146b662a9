-- What establishments paid, posted in the ledger.

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
