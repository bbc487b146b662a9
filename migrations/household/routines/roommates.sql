-- Who lives together: groups, invitations, moving out, and what was told of it all.

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

-- Writes down that something happened in a group that is locked, and lets it be told. A job reads
-- who is to be told what; it gets ids only, and the event's number, which makes it told once.
CREATE OR REPLACE FUNCTION household.happened(
    home bigint, event text, person bigint, data jsonb DEFAULT '{}', is_told boolean DEFAULT true
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
    IF is_told THEN
        PERFORM errand.enqueue('household.tell', data || jsonb_build_object(
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

-- Lets a person be a member of a group that is locked.
CREATE OR REPLACE FUNCTION household.move_in(home bigint, person bigint, at timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    other bigint;
BEGIN
    -- Who joins two groups at once joins one of them.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    SELECT m.group_id INTO other FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF other IS NOT NULL THEN
        PERFORM household.refuse_state(format('person %s is in group %s already', person, other),
            'A person lives in one group: they have to leave it first.');
    END IF;
    INSERT INTO household.members AS m (group_id, person_id, joined_at) VALUES (home, person, at)
    ON CONFLICT ON CONSTRAINT members_pkey DO UPDATE
    SET joined_at = excluded.joined_at, left_at = NULL, is_away = false;
    UPDATE household.groups g SET emptied_at = NULL WHERE g.id = home AND g.emptied_at IS NOT NULL;
END $$;

-- An error unless a group can have this name, zone and currency.
CREATE OR REPLACE FUNCTION household.expect_group(name text, time_zone text, currency text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]',
        'name: expected 1 to 100 characters in one line');
    -- The list of all names is read from files, so that a zone is looked up once.
    -- Abbreviations such as EST, and the copies under posix/, are in that list, too.
    PERFORM errand.expect((time_zone = 'UTC' OR time_zone LIKE '%/%'
            AND time_zone !~ '^(posix|right)/')
        AND (EXISTS (SELECT FROM household.groups g WHERE g.time_zone = expect_group.time_zone)
            OR EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE z.name = time_zone)),
        format('time zone %s: expected a name of IANA, such as America/Toronto',
            coalesce(time_zone, 'null')));
    PERFORM errand.expect(
        EXISTS (SELECT FROM ledger.currencies c WHERE c.code = currency),
        format('currency %s: expected a code of ISO 4217 in capital letters, such as CAD',
            coalesce(currency, 'null')));
END $$;

-- Makes a group of one person, who invites the others; returns its id.
--   currency  of all its bills; it is not changed later
CREATE OR REPLACE FUNCTION household.create_group(
    person bigint, name text, time_zone text, currency text DEFAULT 'CAD'
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    home bigint;
BEGIN
    PERFORM people.expect_person(person);
    PERFORM household.expect_group(name, time_zone, currency);
    INSERT INTO household.groups AS g (created_by, created_at, currency, time_zone, name)
    VALUES (person, at, currency, time_zone, name) RETURNING g.id INTO home;
    PERFORM household.move_in(home, person, at);
    PERFORM household.happened(home, 'created', person, is_told => false);
    PERFORM household.plan_zone(time_zone);
    RETURN home;
END $$;

-- Asks for the ends of the months in a zone that no group had yet.
CREATE OR REPLACE FUNCTION household.plan_zone(time_zone text) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM household.month_ends e
        WHERE e.time_zone = time_zone AND e.at > clock_timestamp()) THEN
        PERFORM errand.enqueue('household.plan', jsonb_build_object('time_zone', time_zone),
            unique_key => 'zone:' || time_zone);
    END IF;
END $$;

-- Changes a group's name or zone; null leaves it as it is. False when nothing changed.
CREATE OR REPLACE FUNCTION household.set_group(
    person bigint, name text DEFAULT NULL, time_zone text DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    was household.groups;
BEGIN
    SELECT * INTO STRICT was FROM household.groups g WHERE g.id = home;
    name := coalesce(name, was.name);
    time_zone := coalesce(time_zone, was.time_zone);
    PERFORM household.expect_group(name, time_zone, was.currency);
    IF (name, time_zone) = (was.name, was.time_zone) THEN
        RETURN false;
    END IF;
    IF time_zone <> was.time_zone THEN
        -- Who tells the debts of a month there has either seen this group, or sees it.
        PERFORM FROM household.month_ends e
        WHERE e.time_zone = time_zone AND e.at > clock_timestamp() - interval '2 days'
          AND e.at < clock_timestamp() + interval '2 days'
        ORDER BY e.on_day FOR NO KEY UPDATE;
    END IF;
    UPDATE household.groups g SET name = name, time_zone = time_zone WHERE g.id = home;
    IF time_zone <> was.time_zone THEN
        PERFORM household.plan_zone(time_zone);
        -- Where the month was told already, before this group came.
        UPDATE household.month_ends e SET told_at = NULL
        WHERE e.time_zone = time_zone AND e.told_at IS NOT NULL AND e.on_day > was.dues_told_on
          AND e.at >= was.created_at AND e.at <= clock_timestamp()
          AND e.at > clock_timestamp() - interval '2 days';
        PERFORM household.replan(c.id) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed ORDER BY c.id;
    END IF;
    PERFORM household.happened(home, 'group_changed', person);
    RETURN true;
END $$;

-- Invites somebody into the person's group; returns the invitation's id, that of the one before
-- if that is not answered yet.
CREATE OR REPLACE FUNCTION household.invite(person bigint, invitee bigint)
RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    at CONSTANT timestamptz := clock_timestamp();
    rules household.rules;
    invitation bigint;
    other bigint;
BEGIN
    SELECT * INTO rules FROM household.rules;
    PERFORM people.expect_person(invitee);
    SELECT m.group_id INTO other FROM household.members m
    WHERE m.person_id = invitee AND m.left_at IS NULL;
    IF other = home THEN
        PERFORM household.refuse_state(format('person %s is in your group already', invitee));
    ELSIF other IS NOT NULL THEN
        PERFORM household.refuse_state(
            format('person %s is in another group already', invitee),
            'A person lives in one group: they have to leave theirs before they are invited.');
    END IF;
    PERFORM household.end_invitations(home, NULL, at);
    SELECT i.id INTO invitation FROM household.invitations i
    WHERE i.group_id = home AND i.invitee_id = invitee AND i.state = 'sent';
    IF FOUND THEN
        RETURN invitation;
    END IF;
    IF (SELECT count(*) FROM household.members m WHERE m.group_id = home AND m.left_at IS NULL)
        + (SELECT count(*) FROM household.invitations i
            WHERE i.group_id = home AND i.state = 'sent') >= rules.most_members THEN
        PERFORM household.refuse_state(format(
            'a group has at most %s members, with those who are invited', rules.most_members));
    END IF;
    INSERT INTO household.invitations AS i (group_id, inviter_id, invitee_id, sent_at, expires_at)
    VALUES (home, person, invitee, at, at + rules.invited_for) RETURNING i.id INTO invitation;
    PERFORM household.happened(home, 'invited', person,
        jsonb_build_object('invitation_id', invitation, 'invitee_id', invitee));
    RETURN invitation;
END $$;

-- Ends the invitations of a group, which is locked: those whose time is over, or all of them as
-- withdrawn. Who sent them is told of those that lapse.
CREATE OR REPLACE FUNCTION household.end_invitations(
    home bigint, after household.invitation_state, at timestamptz
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    ended household.invitations;
    lapsed bigint := 0;
BEGIN
    FOR ended IN
        UPDATE household.invitations i SET ended_at = at, state = coalesce(after, 'lapsed')
        WHERE i.group_id = home AND i.state = 'sent' AND (after IS NOT NULL OR i.expires_at <= at)
        RETURNING i.*
    LOOP
        lapsed := lapsed + 1;
        IF after IS NULL THEN
            PERFORM household.happened(home, 'invitation_lapsed', ended.inviter_id,
                jsonb_build_object('invitation_id', ended.id, 'invitee_id', ended.invitee_id));
        END IF;
    END LOOP;
    RETURN lapsed;
END $$;

-- Lets invitations lapse that nobody has answered in time; returns how many. Reading and accepting
-- go by the clock, so that this may come late.
CREATE OR REPLACE FUNCTION household.lapse_invitations(
    at timestamptz DEFAULT NULL, at_most int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    home bigint;
    lapsed bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    FOR home IN
        SELECT g.id FROM household.groups g WHERE g.id IN (
            SELECT i.group_id FROM household.invitations i
            WHERE i.state = 'sent' AND i.expires_at <= at ORDER BY i.expires_at LIMIT at_most)
        ORDER BY g.id FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        lapsed := lapsed + household.end_invitations(home, NULL, at);
    END LOOP;
    RETURN lapsed;
END $$;

-- The invitation, with its group locked; an error when it is not open any more, or not for this
-- person (of whom `is_ours` says whether they invited or are invited).
CREATE OR REPLACE FUNCTION household.open_invitation(
    person bigint, invitation bigint, is_ours boolean)
RETURNS household.invitations LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of household.invitations;
BEGIN
    PERFORM FROM household.groups g WHERE g.id = (
        SELECT i.group_id FROM household.invitations i WHERE i.id = invitation)
    FOR NO KEY UPDATE;
    SELECT * INTO of FROM household.invitations i
    WHERE i.id = invitation AND CASE WHEN is_ours THEN i.group_id = household.home_of(person)
        ELSE i.invitee_id = person END;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'person % has no invitation with the id %', coalesce(person::text, 'null'),
            coalesce(invitation::text, 'null') USING ERRCODE = 'no_data_found';
    END IF;
    IF of.state <> 'sent' OR of.expires_at <= clock_timestamp() THEN
        PERFORM household.refuse_state(
            format('invitation %s is %s', invitation,
                CASE of.state WHEN 'sent' THEN 'lapsed' ELSE of.state::text END),
            'Somebody of the group can invite them again.');
    END IF;
    RETURN of;
END $$;

-- Moves in; everybody in the group is told. Returns the group's id.
CREATE OR REPLACE FUNCTION household.accept(person bigint, invitation bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT household.invitations := household.open_invitation(person, invitation, false);
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF (SELECT g.emptied_at FROM household.groups g WHERE g.id = of.group_id) IS NOT NULL THEN
        PERFORM household.refuse_state(format('nobody is left in group %s', of.group_id));
    END IF;
    PERFORM household.move_in(of.group_id, person, at);
    UPDATE household.invitations i SET state = 'accepted', ended_at = at WHERE i.id = invitation;
    PERFORM household.join_rotations(of.group_id, person);
    PERFORM household.happened(of.group_id, 'joined', person,
        jsonb_build_object('invitation_id', invitation));
    RETURN of.group_id;
END $$;

-- Says no to an invitation; who sent it is told.
CREATE OR REPLACE FUNCTION household.decline(person bigint, invitation bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT household.invitations := household.open_invitation(person, invitation, false);
BEGIN
    UPDATE household.invitations i SET state = 'declined', ended_at = clock_timestamp()
    WHERE i.id = invitation;
    PERFORM household.happened(of.group_id, 'invitation_declined', person,
        jsonb_build_object('invitation_id', invitation, 'inviter_id', of.inviter_id));
END $$;

-- Takes back an invitation of the person's group.
CREATE OR REPLACE FUNCTION household.withdraw_invitation(person bigint, invitation bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT household.invitations := household.open_invitation(person, invitation, true);
BEGIN
    UPDATE household.invitations i SET state = 'withdrawn', ended_at = clock_timestamp()
    WHERE i.id = invitation;
    PERFORM household.happened(of.group_id, 'invitation_withdrawn', person,
        jsonb_build_object('invitation_id', invitation, 'invitee_id', of.invitee_id), false);
END $$;

-- Moves out; everybody is told. Chores go on without them, what they wanted from the shop goes,
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
    PERFORM household.tell_leaver(person, home);
    PERFORM household.happened(home, 'left', person);
    RETURN home;
END $$;
