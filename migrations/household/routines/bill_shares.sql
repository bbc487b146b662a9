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
        PERFORM errand.refuse('not_a_member', format('person %s is not in your group', stranger),
            'Choose among those who live in it now.');
    END IF;
END $$;

-- The digest of a request, to distinguish a repeated one from another one. Callers write days and
-- times as no setting of a session changes them.
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

-- An error unless this can be where an app keeps a picture: an id or an address, never its bytes.
CREATE OR REPLACE FUNCTION household.expect_picture(name text, picture text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(picture IS NULL OR length(picture) BETWEEN 1 AND 500
            AND picture !~ '[[:cntrl:]]' AND picture !~* '^data:',
        name || ': expected an id or address of up to 500 characters, and not the picture itself');
END $$;
