-- Payments between room-mates, which are made outside of this system.

-- Either of the two notes it, also after they have moved out.
CREATE OR REPLACE FUNCTION household.paid(
    person bigint, home bigint, from_id bigint, to_id bigint, amount bigint, request_id text
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    present household.payments;
    payment bigint;
BEGIN
    PERFORM errand.expect(person IN (from_id, to_id) AND from_id <> to_id,
        'from_id and to_id: expected the person and another member');
    PERFORM errand.expect(amount BETWEEN 1 AND 10000000000,
        'amount: expected minor units from 1 to 10^10');
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100,
        'request_id: expected 1 to 100 characters that name this request');
    PERFORM FROM household.groups g WHERE g.id = home FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM household.members m
        WHERE m.group_id = home AND m.person_id IN (from_id, to_id)) < 2 THEN
        PERFORM errand.refuse('never_together', format(
            'persons %s and %s never lived together in group %s', from_id, to_id,
            coalesce(home::text, 'null')));
    END IF;
    SELECT * INTO present FROM household.payments p
    WHERE p.group_id = home AND p.request_id = request_id;
    IF FOUND THEN
        IF (present.from_id, present.to_id, present.amount) <> (from_id, to_id, amount) THEN
            RAISE EXCEPTION 'request %: payment % was made by it, with other content', request_id,
                present.id USING ERRCODE = 'unique_violation',
                    HINT = 'Use another request_id for another payment.';
        END IF;
        RETURN present.id;
    END IF;
    payment := nextval('household.payments_id_seq');
    -- Who has paid is owed that much more.
    INSERT INTO household.payments (id, group_id, from_id, to_id, entered_by, amount, paid_at,
        request_id, transaction_id)
    OVERRIDING SYSTEM VALUE
    VALUES (payment, home, from_id, to_id, person, amount, at, request_id,
        household.post_debts(home, 'roommate_payment:' || payment, 'roommate_payment',
            'roommate_payment:' || payment, from_id, ARRAY[to_id], ARRAY[amount]));
    PERFORM household.happened(home, 'paid', person, jsonb_build_object('payment_id', payment));
    RETURN payment;
END $$;
COMMENT ON FUNCTION household.paid(bigint, bigint, bigint, bigint, bigint, text) IS $doc$
Records that one person has paid another, outside of this system, and notifies the other one. Either
of the two records it, also after they have left the group. Any amount may be paid, also to whom
nothing is owed: what is too much is owed back. Returns the payment's id.

Arguments:
  person: who records it, one of the two
  home: the group in which it is owed
  from_id: who has paid
  to_id: who got it
  amount: minor units of the group's currency, 1 to 10^10
  request_id: names this request, so that it can be repeated; unique in the group
Returns:
  payment: the id of the payment
Reasons:
  never_together: the two have not both lived in this group
Errors:
  22023: an argument is invalid
  23505: the request_id is known, with other content
Repeated: with the same request_id and content, returns the same id and changes nothing.
Sample:
  SELECT household.paid(person => 18, home => 1, from_id => 18, to_id => 17, amount => 1000,
      request_id => 'payment-1');
$doc$;

-- In all groups, because one of the two may have moved out.
CREATE OR REPLACE FUNCTION household.payments(
    person bigint, before_id bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 50
) RETURNS TABLE (payment_id bigint, group_id bigint, from_id bigint, to_id bigint, amount bigint,
    currency text, paid_at timestamptz, entered_by bigint, undone_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.id, p.group_id, p.from_id, p.to_id, p.amount, g.currency, p.paid_at,
        p.entered_by, p.undone_at
    FROM (SELECT * FROM ((SELECT f.* FROM household.payments f
                WHERE f.from_id = $1 AND f.id < before_id ORDER BY f.id DESC
                LIMIT least(greatest(max_rows, 0), 1000))
            UNION ALL (SELECT t.* FROM household.payments t
                WHERE t.to_id = $1 AND t.id < before_id ORDER BY t.id DESC
                LIMIT least(greatest(max_rows, 0), 1000))) b
        ORDER BY b.id DESC LIMIT least(greatest(max_rows, 0), 1000)) p
    JOIN household.groups g ON g.id = p.group_id ORDER BY p.id DESC;
END $$;
COMMENT ON FUNCTION household.payments(bigint, bigint, int) IS $doc$
Lists the payments that a person has made or got in all groups, the newest first: the ones that
stand can be undone with household.undo_payment. For the next page, pass payment_id of the last row.

Arguments:
  person: the person
  before_id: only payments with smaller ids
  max_rows: the maximum number of rows, up to 1000
Returns:
  payment_id: the id of the payment
  group_id: in which group
  from_id: who has paid
  to_id: who got it
  amount: minor units
  currency: its ISO 4217 code
  paid_at: when it was recorded
  entered_by: which of the two has recorded it
  undone_at: when it was undone; null if it stands
Repeated: Reads only.
Sample:
  SELECT payment_id, from_id, to_id, amount FROM household.payments(person => 17)
  WHERE undone_at IS NULL;
$doc$;

-- What it posted is reversed.
CREATE OR REPLACE FUNCTION household.undo_payment(person bigint, payment bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of household.payments;
BEGIN
    PERFORM FROM household.groups g WHERE g.id = (
        SELECT p.group_id FROM household.payments p WHERE p.id = payment) FOR NO KEY UPDATE;
    SELECT * INTO of FROM household.payments p
    WHERE p.id = payment AND person IN (p.from_id, p.to_id);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'person % has no payment with the id %', coalesce(person::text, 'null'),
            coalesce(payment::text, 'null') USING ERRCODE = 'no_data_found';
    END IF;
    IF of.undone_at IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM household.reverse_debts(of.transaction_id, 'taken back');
    UPDATE household.payments p SET undone_at = clock_timestamp() WHERE p.id = payment;
    PERFORM household.happened(of.group_id, 'payment_undone', person,
        jsonb_build_object('payment_id', payment));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.undo_payment(bigint, bigint) IS $doc$
Undoes a payment that was recorded by mistake, and notifies the other one.

Arguments:
  person: one of the two
  payment: the payment's id
Returns:
  undone: true; false if it was undone before
Errors:
  P0002: the person has no payment with this id
Repeated: returns false and changes nothing.
Sample:
  SELECT household.undo_payment(person => 17, payment => 1);
$doc$;
