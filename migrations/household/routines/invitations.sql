-- Invitations to a group.

-- One person has one open invitation to a group.
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
    PERFORM household.expect_unblocked(invitee);
    SELECT m.group_id INTO other FROM household.members m
    WHERE m.person_id = invitee AND m.left_at IS NULL;
    IF other = home THEN
        PERFORM errand.refuse('in_your_group',
            format('person %s is in your group already', invitee));
    ELSIF other IS NOT NULL THEN
        PERFORM errand.refuse('in_another_group',
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
        PERFORM errand.refuse('too_many', format(
            'a group has at most %s members, with those who are invited', rules.max_members));
    END IF;
    INSERT INTO household.invitations AS i (group_id, inviter_id, invitee_id, sent_at, expires_at)
    VALUES (home, person, invitee, at, at + rules.invitation_ttl) RETURNING i.id INTO invitation;
    PERFORM household.happened(home, 'invited', person,
        jsonb_build_object('invitation_id', invitation, 'invitee_id', invitee));
    RETURN invitation;
END $$;
COMMENT ON FUNCTION household.invite(bigint, bigint) IS $doc$
Invites somebody into the person's group, and notifies them. An invitation waits 14 days for its
answer. Returns its id.

Arguments:
  person: a member
  invitee: whom they invite
Returns:
  invitation: the id of the invitation
Reasons:
  no_group: the person is in no group
  in_your_group: the invitee lives there already
  in_another_group: the invitee lives in another group
  too_many: the group has as many members and open invitations as it may have
  blocked: the invitee is to be erased
  under_age: the invitee is under 16
Errors:
  23503: no such invitee
Repeated: returns the id of the invitation that is not answered yet, and changes nothing.
Sample:
  SELECT household.invite(person => 17, invitee => 20);
$doc$;

-- Those of the person, and those of their group.
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
COMMENT ON FUNCTION household.invitations(bigint) IS $doc$
Lists the invitations that a person can answer, and those that their group waits for.

Arguments:
  person: the person
Returns:
  invitation_id: the id of the invitation
  group_id: the group
  name: the group's name
  inviter_id: who has invited
  invitee_id: who is invited; if it is the person, they can answer
  expires_at: when it lapses
Repeated: Reads only.
Sample:
  SELECT invitation_id, name, inviter_id FROM household.invitations(person => 20);
$doc$;

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
        PERFORM errand.refuse('not_open',
            format('invitation %s is %s', invitation,
                CASE of.state WHEN 'sent' THEN 'lapsed' ELSE of.state::text END),
            'Somebody of the group can invite them again.');
    END IF;
    RETURN of;
END $$;

-- The inviter is notified.
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
COMMENT ON FUNCTION household.decline(bigint, bigint) IS $doc$
Declines an invitation, and notifies its sender.

Arguments:
  person: the invitee
  invitation: the invitation's id
Reasons:
  not_open: it was answered or withdrawn, or its time is over
Errors:
  P0002: the person has no invitation with this id
Repeated: refused with not_open.
Sample:
  SELECT household.decline(person => 20, invitation => household.invite(person => 17,
      invitee => 20));
$doc$;

-- Any member of the group may.
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
COMMENT ON FUNCTION household.withdraw_invitation(bigint, bigint) IS $doc$
Withdraws an invitation into the person's group.

Arguments:
  person: a member
  invitation: the invitation's id
Reasons:
  no_group: the person is in no group
  not_open: it was answered or withdrawn, or its time is over
Errors:
  P0002: the group has no invitation with this id
Repeated: refused with not_open.
Sample:
  SELECT household.withdraw_invitation(person => 18, invitation => household.invite(person => 17,
      invitee => 20));
$doc$;

-- Chores that are for all are for them, too.
CREATE OR REPLACE FUNCTION household.accept(person bigint, invitation bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT household.invitations := household.open_invitation(person, invitation, false);
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF (SELECT g.emptied_at FROM household.groups g WHERE g.id = of.group_id) IS NOT NULL THEN
        PERFORM errand.refuse('empty_group', format('nobody is left in group %s', of.group_id));
    END IF;
    PERFORM household.move_in(of.group_id, person, at);
    UPDATE household.invitations i SET state = 'accepted', ended_at = at WHERE i.id = invitation;
    PERFORM household.join_rotations(of.group_id, person);
    PERFORM household.happened(of.group_id, 'joined', person,
        jsonb_build_object('invitation_id', invitation));
    RETURN of.group_id;
END $$;
COMMENT ON FUNCTION household.accept(bigint, bigint) IS $doc$
Accepts an invitation: the person moves in, takes turns at the chores that are for all, and the
others are notified. Returns the group's id.

Arguments:
  person: the invitee
  invitation: the invitation's id
Returns:
  group: the id of the group
Reasons:
  not_open: it was answered or withdrawn, or its time is over
  in_a_group: the person lives in a group, which they have to leave first
  empty_group: nobody is left in the group
  blocked: the person is to be erased
  under_age: the person is under 16
Errors:
  P0002: the person has no invitation with this id
Repeated: refused with not_open.
Sample:
  SELECT household.accept(person => 20, invitation => household.invite(person => 17,
      invitee => 20));
$doc$;
