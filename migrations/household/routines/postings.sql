-- Debts as postings of the ledger: divided, kept, undone and summed up.

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
