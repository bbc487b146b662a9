-- Members, the feed of events, and moving out.

-- For what a function looked for and did not find in the person's group.
CREATE OR REPLACE FUNCTION household.refuse_unknown(what text, id bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no % of your group has the id %', what, coalesce(id::text, 'null')
        USING ERRCODE = 'no_data_found';
END $$;

CREATE OR REPLACE FUNCTION household.refuse_state(what text, hint text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RAISE EXCEPTION '%', what
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = hint;
END $$;

-- The group that a person lives in; an error when they live in none.
CREATE OR REPLACE FUNCTION household.home_of(person bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    home bigint;
BEGIN
    SELECT m.group_id INTO home FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF home IS NULL THEN
        RAISE EXCEPTION 'person % is in no group', coalesce(person::text, 'null')
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Create a group, or accept an invitation.';
    END IF;
    RETURN home;
END $$;

-- The same, locked until the end of the transaction: with this every function begins that writes.
CREATE OR REPLACE FUNCTION household.enter(person bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    home bigint;
BEGIN
    LOOP
        home := household.home_of(person);
        PERFORM FROM household.groups g WHERE g.id = home FOR NO KEY UPDATE;
        -- They may have moved while this waited.
        IF EXISTS (SELECT FROM household.members m
            WHERE m.group_id = home AND m.person_id = person AND m.left_at IS NULL) THEN
            RETURN home;
        END IF;
    END LOOP;
END $$;

-- Records an event in a group that is locked, and enqueues its notices. The job reads the
-- recipients; it gets ids only, and the event's number, by which it notifies once.
CREATE OR REPLACE FUNCTION household.happened(
    home bigint, event text, person bigint, data jsonb DEFAULT '{}',
    is_notified boolean DEFAULT true
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    UPDATE household.groups g SET events = g.events + 1 WHERE g.id = home
    RETURNING g.events INTO counted;
    INSERT INTO household.events (group_id, number, at, person_id, slot, kind, data)
    VALUES (home, counted, clock_timestamp(), person, (counted % 30)::smallint, event, data)
    ON CONFLICT ON CONSTRAINT events_pkey DO UPDATE SET number = excluded.number,
        at = excluded.at, person_id = excluded.person_id, kind = excluded.kind,
        data = excluded.data;
    IF is_notified THEN
        PERFORM errand.enqueue_own('household.notify', data || jsonb_build_object(
            'group_id', home, 'event', event, 'number', counted, 'person_id', person,
            'at', clock_timestamp()));
    END IF;
END $$;

-- What happened lately in a person's group, the newest first; at most 30 events.
CREATE OR REPLACE FUNCTION household.feed(person bigint)
RETURNS TABLE (number bigint, at timestamptz, kind text, person_id bigint, data jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT e.number, e.at, e.kind, e.person_id, e.data FROM household.events e
    WHERE e.group_id = household.home_of($1) ORDER BY e.number DESC;
END $$;

-- Moves out, and notifies all. Chores continue without them, what they wanted from the shop goes,
-- and what they owe and are owed stays with both sides. Returns the group that they left.
CREATE OR REPLACE FUNCTION household.leave(person bigint) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    UPDATE household.members m SET left_at = at, is_away = false
    WHERE m.group_id = home AND m.person_id = person;
    PERFORM household.leave_rotations(home, person);
    UPDATE household.items i SET state = 'removed'
    WHERE i.group_id = home AND i.person_id = person AND i.state = 'open';
    IF NOT EXISTS (SELECT FROM household.members m
        WHERE m.group_id = home AND m.left_at IS NULL) THEN
        UPDATE household.groups g SET emptied_at = at WHERE g.id = home;
        PERFORM household.end_invitations(home, 'withdrawn', at);
        PERFORM household.drop_chore(c.id) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed ORDER BY c.id;
    END IF;
    PERFORM household.notify_leaver(person, home);
    PERFORM household.happened(home, 'left', person);
    RETURN home;
END $$;

-- Sets the name that the others of the group see; null: the person's number.
CREATE OR REPLACE FUNCTION household.set_name(person bigint, called text)
RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM errand.expect(called IS NULL
            OR length(called) BETWEEN 1 AND 50 AND called !~ '[[:cntrl:]]',
        'called: expected 1 to 50 characters in one line');
    UPDATE household.members m SET called = called
    WHERE m.group_id = home AND m.person_id = person;
END $$;

-- What a notice calls a person of a group.
CREATE OR REPLACE FUNCTION household.name_of(home bigint, person bigint) RETURNS text
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN coalesce((SELECT m.called FROM household.members m
        WHERE m.group_id = home AND m.person_id = person), 'Room-mate ' || person);
END $$;

-- The group that a person lives in; no row when they live in none.
CREATE OR REPLACE FUNCTION household.my_group(person bigint)
RETURNS TABLE (group_id bigint, name text, time_zone text, currency text, joined_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT g.id, g.name, g.time_zone, g.currency, m.joined_at
    FROM household.members m JOIN household.groups g ON g.id = m.group_id
    WHERE m.person_id = person AND m.left_at IS NULL;
END $$;

-- Who lives, and has lived, in the person's group.
CREATE OR REPLACE FUNCTION household.roommates(person bigint)
RETURNS TABLE (person_id bigint, joined_at timestamptz, left_at timestamptz, is_away boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT m.person_id, m.joined_at, m.left_at, m.is_away FROM household.members m
    WHERE m.group_id = household.home_of($1) ORDER BY m.left_at DESC NULLS FIRST, m.joined_at, 1;
END $$;
