-- Who owes whom: divided, kept in the ledger, read, simplified and paid.

-- Who owes whom in the group that the person lives in.
CREATE OR REPLACE FUNCTION household.group_balances(person bigint)
RETURNS TABLE (debtor_id bigint, creditor_id bigint, amount bigint, currency text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT d.debtor_id, d.creditor_id, d.amount, d.currency
    FROM household.balances(ARRAY[household.home_of(person)]) d;
END $$;

-- What others owe a person (above zero), and what the person owes (below zero), in all groups that
-- they ever lived in.
CREATE OR REPLACE FUNCTION household.debts(person bigint)
RETURNS TABLE (group_id bigint, other_id bigint, amount bigint, currency text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.group_id, s.other_id, b.amount, g.currency
    FROM household.sides s
    JOIN household.groups g ON g.id = s.group_id
    JOIN ledger.balances b ON b.account_id = s.account_id AND b.slice = 0
    WHERE s.person_id = $1 AND b.amount <> 0 ORDER BY 1, 2;
END $$;

-- What was posted between a person and another, the newest first: above zero in favour of the
-- person. For the next page, hand in what the last line said.
CREATE OR REPLACE FUNCTION household.debt_lines(
    person bigint, home bigint, other bigint, before_at timestamptz DEFAULT 'infinity',
    before_id bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 50
) RETURNS TABLE (transaction_id bigint, at timestamptz, kind text, source text, amount bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT t.id, p.at, t.kind, t.source, p.amount
    FROM ledger.postings p JOIN ledger.transactions t ON t.id = p.transaction_id
    WHERE p.account_id = (SELECT s.account_id FROM household.sides s
        WHERE s.group_id = home AND s.person_id = person AND s.other_id = other)
      AND (p.at, p.transaction_id) < (before_at, before_id)
    ORDER BY p.at DESC, p.transaction_id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;

-- Few payments by which nobody of a group would owe anybody: shown, and never made. It is not what
-- is owed by whom to whom, but comes to the same for each of them.
--
-- Each time who owes most pays whom most is owed. Every payment settles one of the two, so that of
-- n who are not even n - 1 payments do; the fewest are n / 2 at least, and to find those is hard.
CREATE OR REPLACE FUNCTION household.simplified(home bigint)
RETURNS TABLE (from_id bigint, to_id bigint, amount bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    people bigint[];
    nets numeric[];
    debtor int;
    creditor int;
BEGIN
    SELECT array_agg(n.id ORDER BY n.id), array_agg(n.net ORDER BY n.id) INTO people, nets
    FROM (
        SELECT u.id, sum(u.net) AS net FROM household.balances(ARRAY[home]) d CROSS JOIN LATERAL
            (VALUES (d.debtor_id, -d.amount), (d.creditor_id, d.amount)) AS u (id, net)
        GROUP BY u.id
    ) n;
    LOOP
        SELECT (array_agg(u.place::int ORDER BY u.net, u.place))[1],
            (array_agg(u.place::int ORDER BY u.net DESC, u.place))[1]
        INTO debtor, creditor FROM unnest(nets) WITH ORDINALITY AS u (net, place);
        EXIT WHEN (nets[debtor] < 0) IS NOT TRUE;
        amount := least(-nets[debtor], nets[creditor])::bigint;
        from_id := people[debtor];
        to_id := people[creditor];
        nets[debtor] := nets[debtor] + amount;
        nets[creditor] := nets[creditor] - amount;
        RETURN NEXT;
    END LOOP;
END $$;

-- Who owes whom in the group that the person lives in.
CREATE OR REPLACE FUNCTION household.simplify(person bigint)
RETURNS TABLE (from_id bigint, to_id bigint, amount bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.from_id, s.to_id, s.amount
    FROM household.simplified(household.home_of(person)) s;
END $$;

-- Divides an amount by weights; returns one part for each of them. The parts always add up: what
-- rounding down leaves goes, a unit each, to the largest remainders, of equal ones to the first.
CREATE OR REPLACE FUNCTION household.split(amount bigint, weights bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    whole CONSTANT numeric := abs(amount::numeric);
    total CONSTANT numeric := (SELECT sum(w) FROM unnest(weights) w);
BEGIN
    IF (cardinality(weights) >= 1 AND array_position(weights, NULL) IS NULL
        AND 0 <= ALL (weights) AND total > 0 AND amount IS NOT NULL) IS NOT TRUE THEN
        RAISE EXCEPTION 'expected an amount, and weights of 0 and more of which one is above 0'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN (
        SELECT array_agg((sign(amount) * (p.part + CASE WHEN p.rank <= whole - p.given
            THEN 1 ELSE 0 END))::bigint ORDER BY p.position)
        FROM (
            SELECT q.position, q.part, sum(q.part) OVER () AS given,
                row_number() OVER (ORDER BY q.rest DESC, q.position) AS rank
            FROM (
                SELECT u.position, div(whole * u.weight, total) AS part,
                    mod(whole * u.weight, total) AS rest
                FROM unnest(weights) WITH ORDINALITY AS u (weight, position)
            ) q
        ) p);
END $$;

-- The account of what a room-mate is owed by another, made now if it was not there.
CREATE OR REPLACE FUNCTION household.side(home bigint, person bigint, other bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    side bigint;
    account bigint;
BEGIN
    SELECT s.account_id INTO account FROM household.sides s
    WHERE s.group_id = home AND s.person_id = person AND s.other_id = other;
    IF FOUND THEN
        RETURN account;
    END IF;
    INSERT INTO household.sides AS s (group_id, person_id, other_id)
    VALUES (home, person, other) RETURNING s.id INTO side;
    account := ledger.account('roommate', side,
        (SELECT g.currency FROM household.groups g WHERE g.id = home));
    UPDATE household.sides s SET account_id = account WHERE s.id = side;
    RETURN account;
END $$;

-- Posts that some people owe one of them, each an amount; null when nobody owes anything.
CREATE OR REPLACE FUNCTION household.post_debts(
    home bigint, key text, kind text, source text, creditor bigint, debtors bigint[],
    amounts bigint[]
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    accounts bigint[] := '{}';
    posted bigint[] := '{}';
BEGIN
    FOR place IN 1 .. cardinality(debtors) LOOP
        CONTINUE WHEN debtors[place] = creditor OR amounts[place] = 0;
        accounts := accounts || household.side(home, creditor, debtors[place])
            || household.side(home, debtors[place], creditor);
        posted := posted || amounts[place] || -amounts[place];
    END LOOP;
    IF accounts = '{}' THEN
        RETURN NULL;
    END IF;
    RETURN ledger.post(key, kind, accounts, posted, NULL, source);
END $$;

-- Undoes what a bill or a payment has posted, which ledger.reverse() leaves to these functions;
-- null, of what posted nothing, does nothing.
CREATE OR REPLACE FUNCTION household.reverse_debts(transaction bigint, reason text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    accounts bigint[];
    amounts bigint[];
BEGIN
    IF transaction IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(p.account_id ORDER BY p.account_id),
        array_agg(-p.amount ORDER BY p.account_id)
    INTO accounts, amounts
    FROM ledger.postings p WHERE p.transaction_id = transaction;
    PERFORM ledger.post('reversal:' || transaction, 'reversal', accounts, amounts, NULL,
        (SELECT t.source FROM ledger.transactions t WHERE t.id = transaction), reason,
        reverses => transaction);
END $$;

-- Who owes whom in some groups: all pairs where somebody owes, also those who moved out.
CREATE OR REPLACE FUNCTION household.balances(groups bigint[])
RETURNS TABLE (group_id bigint, debtor_id bigint, creditor_id bigint, amount bigint, currency text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    -- Side by side: a join could be planned to read all balances.
    RETURN QUERY SELECT o.group_id, o.other_id, o.person_id, o.amount, o.currency
    FROM unnest(groups) AS u (id) CROSS JOIN LATERAL (
        SELECT s.group_id, s.person_id, s.other_id, g.currency,
            (SELECT b.amount FROM ledger.balances b
                WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
        FROM household.groups g JOIN household.sides s ON s.group_id = g.id
        WHERE g.id = u.id OFFSET 0
    ) o
    WHERE o.amount > 0 ORDER BY 1, 4 DESC, 2, 3;
END $$;

-- Notes that one person has paid another, outside of this system; the other one is notified. Either
-- of the two notes it, also after they have moved out. Any amount may be paid, also to whom nothing
-- is owed: what is too much is owed back. Returns the payment's id; the same request again changes
-- nothing, and returns the same id.
--   home      the group in which it is owed
--   from_id   who has paid; to_id is who got it
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
        PERFORM household.refuse_state(format('persons %s and %s never lived together in group %s',
            from_id, to_id, coalesce(home::text, 'null')));
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

-- Undoes a payment that was recorded by mistake; the other one is notified. False if it was undone
-- before.
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
