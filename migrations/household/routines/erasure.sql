-- Erasure of a person: they leave their group, and the others see a former room-mate. What others
-- owe and are owed stays, by ids alone.

-- Takes away the texts of a group of which every member was erased; returns how many rows.
CREATE OR REPLACE FUNCTION household.erase_group(home bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    anonymized bigint := 0;
    counted bigint;
BEGIN
    UPDATE household.groups g SET name = 'Former group' WHERE g.id = home
      AND g.name <> 'Former group';
    GET DIAGNOSTICS counted = ROW_COUNT;
    anonymized := anonymized + counted;
    UPDATE household.bills b SET title = 'Erased', receipt = NULL
    WHERE b.group_id = home AND (b.title <> 'Erased' OR b.receipt IS NOT NULL);
    GET DIAGNOSTICS counted = ROW_COUNT;
    anonymized := anonymized + counted;
    UPDATE household.chores c SET title = 'Erased' WHERE c.group_id = home AND c.title <> 'Erased';
    GET DIAGNOSTICS counted = ROW_COUNT;
    anonymized := anonymized + counted;
    UPDATE household.items i SET name = 'Erased', name_key = 'erased', note = NULL
    WHERE i.group_id = home AND (i.name <> 'Erased' OR i.note IS NOT NULL);
    GET DIAGNOSTICS counted = ROW_COUNT;
    anonymized := anonymized + counted;
    DELETE FROM household.catalogue c WHERE c.group_id = home;
    GET DIAGNOSTICS counted = ROW_COUNT;
    RETURN anonymized + counted;
END $$;

-- What is theirs alone goes.
CREATE OR REPLACE FUNCTION household.erase_own(person bigint, homes bigint[])
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    action := 'deleted';
    object := 'household.notes';
    DELETE FROM household.notes n WHERE n.group_id = ANY (homes) AND n.author_id = person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.invitations';
    DELETE FROM household.invitations i WHERE i.inviter_id = person OR i.invitee_id = person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.items';
    DELETE FROM household.items i WHERE i.person_id = person AND i.state <> 'bought';
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.turns';
    DELETE FROM household.turns t WHERE t.person_id = person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.failed_sessions';
    DELETE FROM household.failed_sessions f WHERE f.person_id = person;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

-- What stays of the id of a request, which may be any text: a digest, as unique as it was.
CREATE OR REPLACE FUNCTION household.erased_request(request_id text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN request_id ~ '^#[0-9a-f]{64}$' THEN request_id
    ELSE '#' || encode(sha256(convert_to(request_id, 'UTF8')), 'hex') END;

-- Bills and payments lose the pictures of what the person paid or entered, and the ids of the
-- person's requests.
CREATE OR REPLACE FUNCTION household.erase_money_words(person bigint, homes bigint[])
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    action := 'anonymized';
    object := 'household.bills';
    UPDATE household.bills b SET receipt = NULL,
        request_id = CASE WHEN b.entered_by = person
            THEN household.erased_request(b.request_id) ELSE b.request_id END
    WHERE b.group_id = ANY (homes) AND person IN (b.payer_id, b.entered_by)
      AND (b.receipt IS NOT NULL
        OR b.entered_by = person AND household.erased_request(b.request_id) <> b.request_id);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.payments';
    UPDATE household.payments p SET request_id = household.erased_request(p.request_id)
    WHERE (p.from_id = person OR p.to_id = person) AND p.entered_by = person
      AND household.erased_request(p.request_id) <> p.request_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

-- What the others read, too, loses what the person has said.
CREATE OR REPLACE FUNCTION household.erase_words(person bigint, homes bigint[])
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    home bigint;
BEGIN
    action := 'anonymized';
    object := 'household.members';
    UPDATE household.members m SET called = NULL, is_erased = true
    WHERE m.person_id = person AND NOT m.is_erased;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.items';
    UPDATE household.items i SET note = NULL
    WHERE i.group_id = ANY (homes) AND person IN (i.person_id, i.added_by) AND i.note IS NOT NULL;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.occurrences';
    UPDATE household.occurrences o SET words = NULL, picture = NULL
    WHERE o.group_id = ANY (homes) AND o.done_by = person
      AND (o.words IS NOT NULL OR o.picture IS NOT NULL);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'household.groups';
    rows := 0;
    FOREACH home IN ARRAY homes LOOP
        IF NOT EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND NOT m.is_erased) THEN
            rows := rows + household.erase_group(home);
        END IF;
    END LOOP;
    RETURN NEXT;
END $$;

-- All of the module's data of a person: see people.holders. Idempotent.
CREATE OR REPLACE FUNCTION household.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    homes CONSTANT bigint[] := ARRAY(SELECT m.group_id FROM household.members m
        WHERE m.person_id = person ORDER BY 1);
    -- Who may have notices that name the person.
    others bigint[];
    present bigint;
BEGIN
    -- In the order of their ids, as nobody else locks more than one.
    PERFORM FROM household.groups g WHERE g.id = ANY (homes) ORDER BY g.id FOR NO KEY UPDATE;
    others := ARRAY(
        SELECT m.person_id FROM household.members m
        WHERE m.group_id = ANY (homes) AND m.person_id <> person
        UNION
        SELECT i.invitee_id FROM household.invitations i WHERE i.inviter_id = person
        ORDER BY 1);
    SELECT m.group_id INTO present FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF present IS NOT NULL THEN
        PERFORM household.move_out(present, person);
    END IF;
    RETURN QUERY SELECT * FROM household.erase_own(person, homes);
    object := 'notification.notices';
    action := 'deleted';
    rows := notification.forget_names(others, person,
        ARRAY(SELECT DISTINCT m.called FROM household.members m
            WHERE m.person_id = person AND m.called IS NOT NULL), 'household');
    RETURN NEXT;
    RETURN QUERY SELECT * FROM household.erase_words(person, homes);
    RETURN QUERY SELECT * FROM household.erase_money_words(person, homes);
    RETURN QUERY SELECT k.object, 'kept', k.rows, k.reason FROM (
        SELECT 'household.bills', count(*), 'what others owe for them: titles, ids and amounts'
        FROM household.bills b
        WHERE b.group_id = ANY (homes) AND person IN (b.payer_id, b.entered_by)
        UNION ALL
        SELECT 'household.shares', count(*), 'the sums of bills: ids and amounts'
        FROM household.bills b JOIN household.shares s ON s.bill_id = b.id
        WHERE b.group_id = ANY (homes) AND s.person_id = person
        UNION ALL
        SELECT 'household.payments', count(*), 'what others have paid and got: ids and amounts'
        FROM household.payments p WHERE p.from_id = person OR p.to_id = person
        UNION ALL
        SELECT 'household.sides', count(*), 'what others owe and are owed: ids of accounts'
        FROM household.sides s WHERE person IN (s.person_id, s.other_id)
          AND s.group_id = ANY (homes)
        UNION ALL
        SELECT 'household.items', count(*),
            'the lists and trips of the group: names of items, ids of owners and who added them'
        FROM household.items i
        WHERE i.group_id = ANY (homes) AND person IN (i.person_id, i.added_by)
        UNION ALL
        SELECT 'household.chores', count(*), 'what others take turns at: titles and ids'
        FROM household.chores c WHERE c.group_id = ANY (homes) AND c.created_by = person
        UNION ALL
        SELECT 'household.occurrences', count(*), 'the statistics of others: ids and days'
        FROM household.occurrences o WHERE o.group_id = ANY (homes)
          AND person IN (o.assignee_id, o.instead_of, o.done_by)
        UNION ALL
        SELECT 'household.events', count(*), 'the feed of others: ids, until 30 later activities'
        FROM household.events e WHERE e.group_id = ANY (homes) AND e.person_id = person
    ) AS k (object, rows, reason) WHERE k.rows > 0;
END $$;

-- Open invitations of a person who is to be erased, or is too young, are withdrawn. Locks no group:
-- its caller holds the person's row, which who accepts locks behind the group.
CREATE OR REPLACE FUNCTION household.block(person bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE household.invitations i SET state = 'withdrawn', ended_at = clock_timestamp()
    WHERE i.state = 'sent' AND (i.inviter_id = person OR i.invitee_id = person);
END $$;
