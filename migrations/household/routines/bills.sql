-- Bills among room-mates, as their app enters, changes and reads them.

-- Enters a bill. The bill's digest is without a receipt where it has none, as it was before bills
-- had receipts.
CREATE OR REPLACE FUNCTION household.add_bill(
    person bigint, title text, amount bigint, persons bigint[], request_id text, spent_on date,
    split text DEFAULT 'equal', parts bigint[] DEFAULT NULL, payer bigint DEFAULT NULL,
    receipt text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    request bytea;
    bill bigint;
BEGIN
    payer := coalesce(payer, person);
    request := household.digest(VARIADIC ARRAY['bill', title, amount::text, persons::text,
        to_char(spent_on, 'YYYY-MM-DD'), split, parts::text, payer::text]
        || array_remove(ARRAY[receipt], NULL));
    bill := household.requested_bill(home, request_id, request);
    IF bill IS NOT NULL THEN
        RETURN bill;
    END IF;
    PERFORM household.expect_bill(amount, 1, title, spent_on);
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts'),
        'split: expected equal, weights or amounts');
    PERFORM household.expect_picture('receipt', receipt);
    PERFORM household.expect_bearers(home, NULL, persons || payer);
    INSERT INTO household.bills AS b (group_id, payer_id, entered_by, amount, entered_at,
        spent_on, split, title, receipt, request_id, request)
    VALUES (home, payer, person, amount, clock_timestamp(), spent_on, split, title, receipt,
        request_id, request) RETURNING b.id INTO bill;
    PERFORM household.settle_bill(bill, split, persons, parts);
    PERFORM household.happened(home, 'bill_added', person, jsonb_build_object('bill_id', bill));
    RETURN bill;
END $$;
COMMENT ON FUNCTION household.add_bill(
    bigint, text, bigint, bigint[], text, date, text, bigint[], bigint, text) IS $doc$
Enters a bill that a member has paid for some members. Posts what each of them owes the payer, and
notifies those concerned. Returns the bill's id.

Arguments:
  person: the member who enters it
  title: what it is for, 1 to 200 characters
  amount: minor units of the group's currency, 1 to 10^10
  persons: who bears it, the payer among them or not
  request_id: names this request, so that it can be repeated; unique in the group
  spent_on: the day, by the clocks of the group
  split: equal, weights or amounts
  parts: for weights and amounts, one for each of the persons; null for equal
  payer: who has paid; null for the person
  receipt: where the app keeps a picture of it: an id or an address, never the picture itself
Returns:
  bill: the id of the bill
Reasons:
  no_group: the person is in no group
  not_a_member: the payer or one of the persons does not live in the group
Errors:
  22023: an argument is invalid; the text says which
  23505: the request_id is known, with other content
Repeated: with the same request_id and content, returns the same id and changes nothing.
Sample:
  SELECT household.add_bill(person => 17, title => 'Internet', amount => 9000,
      persons => '{17,18,19}', request_id => 'bill-1', spent_on => current_date,
      receipt => 'receipts/internet.jpg');
$doc$;

-- A bill of the person's group, which is locked with this; an error when it was removed.
CREATE OR REPLACE FUNCTION household.standing_bill(home bigint, bill bigint, is_trip boolean)
RETURNS household.bills LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.bills;
    what CONSTANT text := CASE WHEN is_trip THEN 'trip' ELSE 'bill' END;
BEGIN
    SELECT * INTO of FROM household.bills b
    WHERE b.id = bill AND b.group_id = home AND b.is_trip = is_trip;
    IF NOT FOUND THEN
        PERFORM household.refuse_unknown(what, bill);
    END IF;
    IF of.is_removed THEN
        PERFORM errand.refuse('removed', format('%s %s was removed', what, bill),
            'Enter it again.');
    END IF;
    RETURN of;
END $$;

-- An error unless a bill can be edited so.
CREATE OR REPLACE FUNCTION household.expect_edit(
    of household.bills, amount bigint, persons bigint[], split text, parts bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts') OR split IS NULL,
        'split: expected equal, weights or amounts');
    PERFORM errand.expect((split IS NULL AND parts IS NULL)
        OR (split IS NOT NULL AND persons IS NOT NULL),
        'split: expected with the persons that it is for, and parts with it');
    PERFORM errand.expect(split IS NOT NULL OR of.split = 'equal'
        OR persons IS NULL AND coalesce(amount = of.amount, true),
        format('split: the bill is split by %s: give persons and parts again', of.split));
END $$;

-- Where money changes, what was posted is reversed and what is right is posted.
CREATE OR REPLACE FUNCTION household.edit_bill(
    person bigint, bill bigint, title text DEFAULT NULL, amount bigint DEFAULT NULL,
    persons bigint[] DEFAULT NULL, split text DEFAULT NULL, parts bigint[] DEFAULT NULL,
    payer bigint DEFAULT NULL, spent_on date DEFAULT NULL, receipt text DEFAULT NULL
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
    revision int;
BEGIN
    of := household.standing_bill(home, bill, false);
    PERFORM household.expect_edit(of, amount, persons, split, parts);
    PERFORM household.expect_bill(coalesce(amount, of.amount), 1, coalesce(title, of.title),
        coalesce(spent_on, of.spent_on));
    PERFORM household.expect_picture('receipt', nullif(receipt, ''));
    PERFORM household.expect_bearers(home, bill, persons || coalesce(payer, of.payer_id));
    revision := of.revision;
    IF amount <> of.amount OR persons IS NOT NULL OR payer <> of.payer_id THEN
        revision := revision + 1;
    END IF;
    UPDATE household.bills b SET title = coalesce(title, of.title),
        amount = coalesce(amount, of.amount), payer_id = coalesce(payer, of.payer_id),
        spent_on = coalesce(spent_on, of.spent_on), split = coalesce(split, of.split),
        receipt = nullif(coalesce(receipt, of.receipt), ''),
        revision = revision, changed_at = clock_timestamp()
    WHERE b.id = bill;
    IF revision > of.revision THEN
        IF persons IS NULL THEN
            SELECT array_agg(s.person_id), array_agg(s.amount) INTO persons, parts
            FROM household.shares s WHERE s.bill_id = bill AND s.revision = of.revision;
            -- Without persons the others than equal ones stay as they are, to the cent.
            IF of.split = 'equal' THEN
                parts := NULL;
            ELSE
                split := 'amounts';
            END IF;
        END IF;
        PERFORM household.reverse_debts(of.transaction_id, 'edited');
        PERFORM household.settle_bill(bill, coalesce(split, of.split), persons, parts);
    END IF;
    PERFORM household.happened(home, 'bill_edited', person, jsonb_build_object('bill_id', bill,
        'revision', revision, 'payer_id', of.payer_id));
    RETURN revision;
END $$;
COMMENT ON FUNCTION household.edit_bill(
    bigint, bigint, text, bigint, bigint[], text, bigint[], bigint, date, text) IS $doc$
Changes a bill, and notifies those concerned. Null leaves a fact as it is. Where money changes, what
was posted is reversed and what is right is posted. Returns the bill's revision, which grows with
each such change.

Arguments:
  person: the member who changes it
  bill: the bill's id
  title: what it is for
  amount: minor units of the group's currency
  persons: who bears it; needed with split
  split: equal, weights or amounts
  parts: for weights and amounts, one for each of the persons
  payer: who has paid
  spent_on: the day, by the clocks of the group
  receipt: where the app keeps a picture of it; an empty text takes it away
Returns:
  revision: the bill's revision, which grows with each change of its money
Reasons:
  no_group: the person is in no group
  not_a_member: the payer or one of the persons is not in the group, and bore nothing before
  removed: the bill was removed
Errors:
  22023: an argument is invalid, or the bill needs its split again
  P0002: the group has no bill with this id
Repeated: posts nothing more if the money is the same; notifies again.
Sample:
  SELECT household.edit_bill(person => 18, bill => 1, amount => 9300);
$doc$;

-- A removed bill stays in the table, with its shares.
CREATE OR REPLACE FUNCTION household.remove_bill(person bigint, bill bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
BEGIN
    IF EXISTS (SELECT FROM household.bills b
        WHERE b.id = bill AND b.group_id = home AND NOT b.is_trip AND b.is_removed) THEN
        RETURN false;
    END IF;
    of := household.standing_bill(home, bill, false);
    PERFORM household.reverse_debts(of.transaction_id, 'removed');
    UPDATE household.bills b SET is_removed = true, transaction_id = NULL,
        changed_at = clock_timestamp()
    WHERE b.id = bill;
    PERFORM household.happened(home, 'bill_removed', person, jsonb_build_object('bill_id', bill));
    RETURN true;
END $$;
COMMENT ON FUNCTION household.remove_bill(bigint, bigint) IS $doc$
Removes a bill that should not have been: its posting is reversed, and those concerned are notified.

Arguments:
  person: the member who removes it
  bill: the bill's id
Returns:
  removed: true; false if it was removed before
Reasons:
  no_group: the person is in no group
Errors:
  P0002: the group has no bill with this id
Repeated: returns false and changes nothing.
Sample:
  SELECT household.remove_bill(person => 18, bill => household.add_bill(person => 18,
      title => 'Entered twice', amount => 100, persons => '{17,18}', request_id => 'bill-2',
      spent_on => current_date));
$doc$;

-- Of trips, household.trips() has the items, too.
CREATE OR REPLACE FUNCTION household.bills(
    person bigint, before_on date DEFAULT 'infinity',
    before_id bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 50
) RETURNS TABLE (bill_id bigint, spent_on date, title text, amount bigint, payer_id bigint,
    split text, is_trip boolean, receipt text, revision int, persons bigint[], shares bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT b.id, b.spent_on, b.title, b.amount, b.payer_id, b.split, b.is_trip,
        b.receipt, b.revision, s.persons, s.shares
    FROM household.bills b CROSS JOIN LATERAL (
        SELECT array_agg(s.person_id ORDER BY s.person_id) AS persons,
            array_agg(s.amount ORDER BY s.person_id) AS shares
        FROM household.shares s WHERE s.bill_id = b.id AND s.revision = b.revision
    ) s
    WHERE b.group_id = household.home_of($1) AND NOT b.is_removed
      AND (b.spent_on, b.id) < (before_on, before_id)
    ORDER BY b.spent_on DESC, b.id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION household.bills(bigint, date, bigint, int) IS $doc$
Lists the bills and trips of the person's group, the newest first. For the next page, pass spent_on
and bill_id of the last row.

Arguments:
  person: a member
  before_on: only bills of this day and earlier
  before_id: of that day, only bills with smaller ids
  max_rows: the maximum number of rows, up to 1000
Returns:
  bill_id: the id of the bill
  spent_on: the day
  title: what it is for
  amount: minor units
  payer_id: who has paid it
  split: equal, weights, amounts or items
  is_trip: whether it is a trip to the shop
  receipt: where the app keeps a picture; null for none
  revision: how often its money was set
  persons: who bears it
  shares: what each of the persons bears, in minor units
Reasons:
  no_group: the person is in no group
Repeated: Reads only.
Sample:
  SELECT bill_id, title, amount, persons, shares FROM household.bills(person => 17);
$doc$;
