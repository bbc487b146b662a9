-- People who give up what they are owed.

-- Posts what a person is owed to the account forfeited, with the payouts that are not issued, and
-- returns the amounts, one row per currency.
CREATE OR REPLACE FUNCTION payouts.give_up(person bigint, actor text, reason text)
RETURNS TABLE (currency text, amount bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    payout bigint;
    account record;
BEGIN
    PERFORM people.expect_person(person);
    PERFORM payouts.lock_balances(person);
    -- Pending ones first, as their money is not in the balance yet.
    FOR payout IN SELECT p.id FROM payouts.known_of(person) p
        WHERE p.state IN ('pending', 'held', 'returned') ORDER BY p.account_id, p.id
    LOOP
        -- An issue may have taken it meanwhile: then it is paid.
        BEGIN
            PERFORM payouts.expect(payout, 'given up', 'pending', 'held', 'returned');
            PERFORM payouts.change(payout, 'void', 'forfeit', actor, reason);
        EXCEPTION WHEN SQLSTATE 'RU001' THEN
        END;
    END LOOP;
    FOR account IN
        SELECT a.id, a.currency, b.amount
        FROM ledger.accounts a JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
        WHERE a.owner = person AND a.kind = 'person' ORDER BY a.id FOR NO KEY UPDATE OF b
    LOOP
        CONTINUE WHEN account.amount <= 0;
        currency := account.currency;
        amount := account.amount;
        PERFORM ledger.post('forfeit:' || gen_random_uuid(), 'forfeit',
            ARRAY[account.id, ledger.account('forfeited', 0, currency)],
            ARRAY[-amount, amount], NULL, NULL, NULL, actor);
        INSERT INTO errand.audit (operator, action, subject, reason, change)
        VALUES (actor, 'payout forfeit', 'person ' || person, reason, jsonb_build_object(
            'amount', amount, 'currency', currency, 'login', session_user));
        RETURN NEXT;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION payouts.forfeit(person bigint, request_id text)
RETURNS TABLE (currency text, amount bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    hash bytea;
    known payouts.forfeits;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 200,
        'forfeit: request_id: expected 1 to 200 characters');
    hash := sha256(convert_to(request_id, 'UTF8'));
    PERFORM people.expect_person(person);
    -- The same request at once waits here for the first.
    INSERT INTO payouts.forfeits AS f (person_id, request_hash, amounts)
    VALUES (person, hash, '[]') ON CONFLICT ON CONSTRAINT forfeits_pkey DO NOTHING
    RETURNING * INTO known;
    IF known.at IS NOT NULL THEN
        UPDATE payouts.forfeits f
        SET amounts = coalesce((
            SELECT jsonb_agg(jsonb_build_object('currency', g.currency, 'amount', g.amount))
            FROM payouts.give_up(person, session_user, 'given up') g), '[]')
        WHERE f.request_hash = hash RETURNING * INTO known;
    ELSE
        SELECT * INTO STRICT known FROM payouts.forfeits f WHERE f.request_hash = hash;
        IF known.person_id <> person THEN
            RAISE EXCEPTION 'the request % is known for another person', request_id
                USING ERRCODE = 'unique_violation';
        END IF;
    END IF;
    RETURN QUERY SELECT x.currency, x.amount
    FROM jsonb_to_recordset(known.amounts) AS x (currency text, amount bigint) ORDER BY 1;
END $$;
COMMENT ON FUNCTION payouts.forfeit(bigint, text) IS $doc$
Gives up what a person is owed, as they say when they ask for their erasure: the balance, and
payouts that are pending, held or returned. Issued payouts are paid. Who wants to be paid instead
asks for the erasure after the pay date that payouts.standing names: names and bank details are
deleted with it. What waits for a review, pending in payouts.standing, is not given up here; the
erasure rejects it unpaid.

Arguments:
  person: the person; they may be blocked or erased
  request_id: the request, 1 to 200 characters, unique over all people
Returns:
  currency: the currency of the amount; one row for each, none if nothing was owed
  amount: what was given up, in minor units
Errors:
  22023: request_id is empty or too long
  23503: no such person
  23505: the request_id is known for another person
Repeated: answers the same amounts and gives up nothing more, also if more was earned since.
Sample:
  SELECT currency, amount FROM payouts.forfeit(person => 19, request_id => 'forfeit-19');
$doc$;
