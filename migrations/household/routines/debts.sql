-- Who owes whom, as the app reads it.

-- Also those who have moved out.
CREATE OR REPLACE FUNCTION household.group_balances(person bigint)
RETURNS TABLE (debtor_id bigint, creditor_id bigint, amount bigint, currency text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT d.debtor_id, d.creditor_id, d.amount, d.currency
    FROM household.balances(ARRAY[household.home_of(person)]) d;
END $$;
COMMENT ON FUNCTION household.group_balances(bigint) IS $doc$
Lists who owes whom in the group that the person lives in, also members who have left.

Arguments:
  person: a member
Returns:
  debtor_id: who owes
  creditor_id: who is owed
  amount: minor units, above zero
  currency: its ISO 4217 code
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT debtor_id, creditor_id, amount, currency FROM household.group_balances(person => 17);
$doc$;

-- Accounts of the ledger, of all groups.
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
COMMENT ON FUNCTION household.debts(bigint) IS $doc$
Lists what others owe a person and what the person owes, in all groups that they ever lived in.

Arguments:
  person: the person
Returns:
  group_id: where it is owed; for household.paid
  other_id: the other one
  amount: minor units; above zero the other owes the person, below zero the person owes
  currency: its ISO 4217 code
Repeated: Reads only.
Sample:
  SELECT other_id, amount, currency FROM household.debts(person => 18);
$doc$;

-- The lines of one account.
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
COMMENT ON FUNCTION household.debt_lines(bigint, bigint, bigint, timestamptz, bigint, int) IS $doc$
Lists what was posted between a person and another one, the newest first. For the next page, pass at
and transaction_id of the last row.

Arguments:
  person: the person
  home: the group
  other: the other one
  before_at: only earlier lines
  before_id: of that moment, only transactions with smaller ids
  max_rows: the maximum number of rows, up to 1000
Returns:
  transaction_id: the ledger's transaction
  at: when it happened
  kind: shared_bill, roommate_payment or reversal
  source: such as shared_bill:1, with the bill's or payment's id
  amount: minor units, above zero in favor of the person
Repeated: Reads only.
Sample:
  SELECT kind, source, amount FROM household.debt_lines(person => 17, home => 1, other => 18);
$doc$;

-- It is shown, and never made.
CREATE OR REPLACE FUNCTION household.simplify(person bigint)
RETURNS TABLE (from_id bigint, to_id bigint, amount bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.from_id, s.to_id, s.amount
    FROM household.simplified(household.home_of(person)) s;
END $$;
COMMENT ON FUNCTION household.simplify(bigint) IS $doc$
Lists few payments by which nobody in the person's group would owe anybody. They need not be between
those who owe each other now, but come to the same for each of them. Nothing is changed.

Arguments:
  person: a member
Returns:
  from_id: who would pay
  to_id: whom
  amount: minor units
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT from_id, to_id, amount FROM household.simplify(person => 17);
$doc$;
