-- What apps show of money that is to come.

CREATE OR REPLACE FUNCTION payouts.next_pay_date() RETURNS date
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ledger.next_pay_date((now() AT TIME ZONE r.time_zone)::date, r.pay_day)
    FROM ledger.pay_rules r
$$;
COMMENT ON FUNCTION payouts.next_pay_date() IS $doc$
Returns the next day on which rewards are paid: the pay day in the month after a quarter, or the
next Canadian banking day. Today counts.

Returns:
  next_pay_date: the day, in the company's time zone
Repeated: Reads only.
Sample:
  SELECT payouts.next_pay_date() >= current_date - 1;
$doc$;

CREATE OR REPLACE FUNCTION payouts.standing(person bigint)
RETURNS TABLE (currency text, balance bigint, pending bigint, in_payment bigint,
    held_payout bigint, held_amount bigint, held_reason text, missing text, next_pay_date date)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH pending AS MATERIALIZED (SELECT e.currency, e.amount FROM ledger.pending($1) e),
    accounts AS MATERIALIZED (
        SELECT a.id, a.currency, coalesce(b.amount, 0) AS amount
        FROM ledger.accounts a
        LEFT JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
        WHERE a.owner = $1 AND a.kind = 'person'
    ), currencies AS (
        SELECT a.currency FROM accounts a UNION SELECT e.currency FROM pending e
    )
    SELECT c.currency, coalesce(a.amount, 0), coalesce(e.amount, 0), coalesce((
            SELECT sum(p.amount)::bigint FROM payouts.payouts p
            WHERE p.account_id = a.id AND p.state IN ('pending', 'issued')), 0),
        h.id, h.amount, h.reason,
        (SELECT payouts.lack(y.person_id IS NOT NULL, p.birth_date, p.age_verified_at,
                p.blocked_at, p.time_zone, c.currency, now())
            FROM people.people p LEFT JOIN payouts.payees y ON y.person_id = p.id
            WHERE p.id = $1),
        payouts.next_pay_date()
    FROM currencies c LEFT JOIN accounts a USING (currency) LEFT JOIN pending e USING (currency)
    LEFT JOIN LATERAL (
        SELECT p.id, p.amount, p.reason FROM payouts.payouts p
        WHERE p.account_id = a.id AND p.state IN ('held', 'returned')
        ORDER BY p.id DESC LIMIT 1
    ) h ON true
    ORDER BY c.currency;
END $$;
COMMENT ON FUNCTION payouts.standing(bigint) IS $doc$
Reads what a person has earned and what becomes of it, one row per currency; no row before the
first reward. balance, pending and in_payment add up to what the person earned and has not got: a
held or returned payout is part of the balance, and not counted again.

Arguments:
  person: the person
Returns:
  currency: the currency of the amounts, which are in minor units
  balance: what the next run pays, less what is below the minimum; with the held payout
  pending: rewards that wait for a review, such as submitted missions; not in the balance
  in_payment: payouts that wait for the issue, or were issued and are not settled; not in the
    balance
  held_payout: the id of the last payout that is held or returned; null if there is none
  held_amount: its amount
  held_reason: why it is held or returned
  missing: why nothing can be paid now, such as a missing address; null if nothing is missing
  next_pay_date: the next day on which rewards are paid
Repeated: Reads only.
Sample:
  SELECT currency, balance, pending, in_payment, held_reason, missing
  FROM payouts.standing(person => 18);
$doc$;
