-- Bills among room-mates: who has to bear what.

-- What each of some people has to bear of an amount.
--   split    equal; weights: parts are the weights; amounts: parts are the amounts
--   place    where in the round of the people the cents begin that cannot be divided: another
--            for each bill, so that they do not always fall to the same
CREATE OR REPLACE FUNCTION household.shares_of(
    amount bigint, split text, persons bigint[], parts bigint[], place bigint
) RETURNS TABLE (person_id bigint, share bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    people int;
BEGIN
    people := cardinality(persons);
    PERFORM errand.expect(people BETWEEN 1 AND 200
            AND people = (SELECT count(DISTINCT p) FROM unnest(persons) p),
        'persons: expected 1 to 200 room-mates, none of them twice');
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts'),
        'split: expected equal, weights or amounts');
    IF split = 'equal' THEN
        PERFORM errand.expect(parts IS NULL, 'parts: expected none where all bear the same');
        parts := array_fill(1::bigint, ARRAY[people]);
    END IF;
    PERFORM errand.expect(cardinality(parts) = people
            AND array_position(parts, NULL) IS NULL
            AND 0 <= ALL (parts) AND 10000000000 >= ALL (parts),
        'parts: expected one of 0 to 10^10 for each of the persons');
    IF split = 'amounts' THEN
        PERFORM errand.expect((SELECT sum(p) FROM unnest(parts) p) = amount,
            format('parts: expected amounts that add up to %s, found %s', amount,
                (SELECT sum(p) FROM unnest(parts) p)));
        RETURN QUERY SELECT * FROM unnest(persons, parts);
        RETURN;
    END IF;
    PERFORM errand.expect(0 < ANY (parts), 'parts: expected one weight above 0 at least');
    SELECT array_agg(u.person ORDER BY u.turn), array_agg(u.part ORDER BY u.turn)
    INTO persons, parts
    FROM (
        SELECT v.person, v.part,
            (row_number() OVER (ORDER BY v.person) + place) % people AS turn
        FROM unnest(persons, parts) AS v (person, part)
    ) u;
    RETURN QUERY SELECT * FROM unnest(persons, household.split(amount, parts));
END $$;

-- Writes down a revision of a bill whose group is locked, and posts what is owed by it.
--   split  as of shares_of()
CREATE OR REPLACE FUNCTION household.settle_bill(
    bill bigint, split text, persons bigint[], parts bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.bills;
    bearers bigint[];
    shares bigint[];
BEGIN
    SELECT * INTO STRICT of FROM household.bills b WHERE b.id = bill;
    SELECT array_agg(s.person_id), array_agg(s.share) INTO bearers, shares
    FROM household.shares_of(of.amount, split, persons, parts, bill) s;
    INSERT INTO household.shares (bill_id, person_id, amount, revision)
    SELECT bill, u.person, u.share, of.revision FROM unnest(bearers, shares) AS u (person, share);
    UPDATE household.bills b SET transaction_id = household.post_debts(of.group_id,
        'shared_bill:' || bill || ':' || of.revision, 'shared_bill', 'shared_bill:' || bill,
        of.payer_id, bearers, shares)
    WHERE b.id = bill;
END $$;

-- An error unless all of these live in the group, or bore a part of the bill before.
CREATE OR REPLACE FUNCTION household.expect_bearers(home bigint, bill bigint, persons bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    stranger CONSTANT bigint := (
        SELECT p FROM unnest(persons) p
        WHERE NOT EXISTS (SELECT FROM household.members m
                WHERE m.group_id = home AND m.person_id = p AND m.left_at IS NULL)
          AND NOT EXISTS (SELECT FROM household.shares s
                WHERE s.bill_id = bill AND s.person_id = p)
          AND NOT EXISTS (SELECT FROM household.bills b
                WHERE b.id = bill AND b.payer_id = p)
        LIMIT 1);
BEGIN
    PERFORM errand.expect(array_position(persons, NULL) IS NULL, 'persons: found a null');
    IF stranger IS NOT NULL THEN
        PERFORM household.refuse_state(format('person %s is not in your group', stranger),
            'Choose among those who live in it now.');
    END IF;
END $$;

-- The digest of a request, to distinguish a repeated one from another one.
CREATE OR REPLACE FUNCTION household.digest(VARIADIC asked text[]) RETURNS bytea
LANGUAGE sql IMMUTABLE RETURN sha256(convert_to(asked::text, 'UTF8'));

-- The bill that a request has made before; null for a new one, an error when it asked for
-- something else.
CREATE OR REPLACE FUNCTION household.requested_bill(home bigint, request_id text, request bytea)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present household.bills;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100,
        'request_id: expected 1 to 100 characters that name this request');
    SELECT * INTO present FROM household.bills b
    WHERE b.group_id = home AND b.request_id = request_id;
    IF present.request <> request THEN
        RAISE EXCEPTION 'request %: bill % was made by it, with other content', request_id,
            present.id USING ERRCODE = 'unique_violation',
                HINT = 'Use another request_id for another bill.';
    END IF;
    RETURN present.id;
END $$;

CREATE OR REPLACE FUNCTION household.expect_bill(
    amount bigint, lowest bigint, title text, spent_on date)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(amount BETWEEN lowest AND 10000000000,
        format('amount: expected minor units from %s to 10^10', lowest));
    PERFORM errand.expect(length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]',
        'title: expected 1 to 200 characters in one line');
    PERFORM errand.expect(spent_on BETWEEN '2000-01-01' AND '9999-12-31',
        'spent_on: expected a day of the years 2000 to 9999');
END $$;

-- Enters a bill that one of the group has paid for some of them, and notifies them; returns its id.
-- The same request again changes nothing, and returns the same id.
--   amount      minor units of the group's currency
--   persons     who bears it, the payer among them or not
--   split       equal; weights or amounts, of which parts gives one for each of the persons
--   payer       who has paid; null: the person
--   spent_on    by the clocks of the group
CREATE OR REPLACE FUNCTION household.add_bill(
    person bigint, title text, amount bigint, persons bigint[], request_id text, spent_on date,
    split text DEFAULT 'equal', parts bigint[] DEFAULT NULL, payer bigint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    request bytea;
    bill bigint;
BEGIN
    payer := coalesce(payer, person);
    request := household.digest('bill', title, amount::text, persons::text, spent_on::text, split,
        parts::text, payer::text);
    bill := household.requested_bill(home, request_id, request);
    IF bill IS NOT NULL THEN
        RETURN bill;
    END IF;
    PERFORM household.expect_bill(amount, 1, title, spent_on);
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts'),
        'split: expected equal, weights or amounts');
    PERFORM household.expect_bearers(home, NULL, persons || payer);
    INSERT INTO household.bills AS b (group_id, payer_id, entered_by, amount, entered_at,
        spent_on, split, title, request_id, request)
    VALUES (home, payer, person, amount, clock_timestamp(), spent_on, split, title, request_id,
        request) RETURNING b.id INTO bill;
    PERFORM household.settle_bill(bill, split, persons, parts);
    PERFORM household.happened(home, 'bill_added', person, jsonb_build_object('bill_id', bill));
    RETURN bill;
END $$;

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
        PERFORM household.refuse_state(format('%s %s was removed', what, bill),
            'Enter it again.');
    END IF;
    RETURN of;
END $$;

-- Changes a bill, and notifies all. Null leaves as it is; how it is split is given with the persons
-- and parts, or not at all. Where money changes, what was posted is reversed and what is right is
-- posted. Returns the bill's revision.
CREATE OR REPLACE FUNCTION household.edit_bill(
    person bigint, bill bigint, title text DEFAULT NULL, amount bigint DEFAULT NULL,
    persons bigint[] DEFAULT NULL, split text DEFAULT NULL, parts bigint[] DEFAULT NULL,
    payer bigint DEFAULT NULL, spent_on date DEFAULT NULL
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.bills;
    revision int;
BEGIN
    of := household.standing_bill(home, bill, false);
    PERFORM errand.expect(split IN ('equal', 'weights', 'amounts') OR split IS NULL,
        'split: expected equal, weights or amounts');
    PERFORM errand.expect((split IS NULL AND parts IS NULL)
        OR (split IS NOT NULL AND persons IS NOT NULL),
        'split: expected with the persons that it is for, and parts with it');
    PERFORM errand.expect(split IS NOT NULL OR of.split = 'equal'
        OR persons IS NULL AND coalesce(amount = of.amount, true),
        format('split: the bill is split by %s: give persons and parts again', of.split));
    PERFORM household.expect_bill(coalesce(amount, of.amount), 1, coalesce(title, of.title),
        coalesce(spent_on, of.spent_on));
    PERFORM household.expect_bearers(home, bill, persons || coalesce(payer, of.payer_id));
    revision := of.revision;
    IF amount <> of.amount OR persons IS NOT NULL OR payer <> of.payer_id THEN
        revision := revision + 1;
    END IF;
    UPDATE household.bills b SET title = coalesce(title, of.title),
        amount = coalesce(amount, of.amount), payer_id = coalesce(payer, of.payer_id),
        spent_on = coalesce(spent_on, of.spent_on), split = coalesce(split, of.split),
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

-- Removes a bill that should not have been: its posting is reversed, and all are notified. False
-- when it was removed before.
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

-- The bills and trips of the person's group, the newest first. For the next page, hand in what the
-- last line said.
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
