-- Invitations to a group.

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
            WHERE i.group_id = home AND i.state = 'sent') >= rules.max_members THEN
        PERFORM household.refuse_state(format(
            'a group has at most %s members, with those who are invited', rules.max_members));
    END IF;
    INSERT INTO household.invitations AS i (group_id, inviter_id, invitee_id, sent_at, expires_at)
    VALUES (home, person, invitee, at, at + rules.invitation_ttl) RETURNING i.id INTO invitation;
    PERFORM household.happened(home, 'invited', person,
        jsonb_build_object('invitation_id', invitation, 'invitee_id', invitee));
    RETURN invitation;
END $$;

-- Ends the invitations of a group, which is locked: those whose time is over, or all of them as
-- withdrawn. The sender is notified of those that lapse.
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
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
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
            WHERE i.state = 'sent' AND i.expires_at <= at ORDER BY i.expires_at LIMIT max_rows)
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

-- Moves in, and notifies the group. Returns the group's id.
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

-- Declines an invitation, and notifies its sender.
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

-- Invitations that a person can answer, and those that their group waits for.
CREATE OR REPLACE FUNCTION household.invitations(person bigint)
RETURNS TABLE (invitation_id bigint, group_id bigint, name text, inviter_id bigint,
    invitee_id bigint, expires_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT i.id, g.id, g.name, i.inviter_id, i.invitee_id, i.expires_at
    FROM household.invitations i JOIN household.groups g ON g.id = i.group_id
    WHERE i.state = 'sent' AND i.expires_at > at
      AND (i.invitee_id = person OR i.group_id = (SELECT m.group_id FROM household.members m
          WHERE m.person_id = person AND m.left_at IS NULL))
    ORDER BY i.id;
END $$;
