-- Sums of what was spent, for graphs.

-- Bills count on their days, so that what is entered late is in the month of the bill.
CREATE OR REPLACE FUNCTION household.spending(
    person bigint, from_on date, until_on date, period text DEFAULT 'month'
) RETURNS TABLE (begins_on date, person_id bigint, paid bigint, borne bigint, bills bigint,
    trips bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    home CONSTANT bigint := household.home_of(person);
BEGIN
    PERFORM errand.expect(period IN ('day', 'week', 'month', 'year'),
        'period: expected day, week, month or year');
    RETURN QUERY SELECT l.begins_on, l.person_id, sum(l.paid)::bigint, sum(l.borne)::bigint,
        count(*) FILTER (WHERE l.is_payer AND NOT l.is_trip),
        count(*) FILTER (WHERE l.is_payer AND l.is_trip)
    FROM (SELECT * FROM household.bills b
        WHERE b.group_id = home AND b.spent_on >= from_on AND b.spent_on < until_on
          AND NOT b.is_removed) b
    CROSS JOIN LATERAL (
        SELECT date_trunc($4, b.spent_on::timestamp)::date AS begins_on, b.payer_id AS person_id,
            b.amount AS paid, 0 AS borne, true AS is_payer, b.is_trip
        UNION ALL
        SELECT date_trunc($4, b.spent_on::timestamp)::date, s.person_id, 0, s.amount, false,
            b.is_trip
        FROM household.shares s WHERE s.bill_id = b.id AND s.revision = b.revision) l
    GROUP BY 1, 2 ORDER BY 1, 2;
END $$;
COMMENT ON FUNCTION household.spending(bigint, date, date, text) IS $doc$
Sums up the bills and trips of the person's group by payer and month, or another period.

Arguments:
  person: a member
  from_on: the first day
  until_on: the day after the last one
  period: day, week (from Monday), month or year
Returns:
  begins_on: the first day of the period
  person_id: the member
  paid: what the person has paid for the group, in minor units
  borne: what falls to them, in minor units
  bills: how many bills they have paid
  trips: how many trips they have paid
Reasons:
  no_group: the person is in no group
Errors:
  22023: the period is none of these
Repeated: Reads only.
Sample:
  SELECT begins_on, person_id, paid, borne FROM household.spending(person => 17,
      from_on => current_date - 365, until_on => current_date + 1);
$doc$;
