-- Invitations by mail: sent, accepted and withdrawn by app servers.

-- Raises an error unless a text is a name for the mail to a stranger: no address, nothing that mail
-- programs make a link, and nothing invisible or against the direction of writing, but the joiners
-- that some scripts need.
CREATE OR REPLACE FUNCTION accounts.expect_name(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- The other ones are dots in names of hosts, too.
    dot CONSTANT text := U&'[.\3002\FF0E\FF61]';
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100
        AND name !~ '[[:cntrl:]]' AND name ~ '\S'
        AND name !~ U&'[\0080-\009F\200B\200E\200F\2028-\202E\2060-\2069\FEFF]'
        AND name !~* '(//|www\.|mailto:|[@\\<>])'
        AND name !~ ('[^[:space:][:punct:]]' || dot || '[^[:space:][:punct:]]{2}'),
        'inviter_name: expected a name of 1 to 100 characters in one line, without links, '
            'addresses and invisible characters, and with a space after a dot');
END $$;

-- Invites as of a time; see accounts.invite.
CREATE OR REPLACE FUNCTION accounts.invite_at(
    inviter bigint, inviter_name text, address text, app text, request_id text, locale text,
    at timestamptz,
    OUT reason text, OUT invitation bigint, OUT expires_at timestamptz,
    OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    wanted CONSTANT text := accounts.expect_request(address, app, request_id, NULL, locale);
    rules accounts.rules;
    known accounts.links;
BEGIN
    PERFORM accounts.expect_name(inviter_name);
    PERFORM accounts.expect_template(app, 'invitation');
    PERFORM people.expect_person(inviter);
    PERFORM accounts.lock_address(wanted, at);
    SELECT * INTO known FROM accounts.links l WHERE l.request_id = request_id;
    IF FOUND THEN
        IF (known.kind, known.address_key, known.app, coalesce(known.inviter_id, 0))
            <> ('invitation', wanted, app, inviter) THEN
            PERFORM accounts.refuse_request(request_id);
        END IF;
        reason := 'ok';
        invitation := known.id;
        expires_at := known.expires_at;
        RETURN;
    END IF;
    IF NOT accounts.is_served(inviter, at) THEN
        reason := 'blocked';
        RETURN;
    END IF;
    PERFORM accounts.lock_source('inviter:' || inviter, at);
    SELECT * INTO rules FROM accounts.rules;
    SELECT * INTO reason, ask_again_at FROM accounts.limit_of(
        ARRAY(SELECT l.requested_at FROM accounts.links l
            WHERE l.address_key = wanted AND l.kind = 'invitation'
              AND l.requested_at > at - interval '1 day'
            ORDER BY l.requested_at DESC LIMIT rules.invitations), rules.invitations,
        ARRAY(SELECT l.requested_at FROM accounts.links l
            WHERE l.inviter_id = inviter AND l.requested_at > at - interval '1 day'
            ORDER BY l.requested_at DESC LIMIT rules.invitations_by_person),
        rules.invitations_by_person, interval '1 day');
    IF reason <> 'ok' THEN
        reason := replace(reason, 'caller', 'inviter');
        RETURN;
    END IF;
    UPDATE accounts.links l SET ended_at = at, end_reason = 'replaced'
    WHERE l.inviter_id = inviter AND l.address_key = wanted AND l.app = app
      AND l.kind = 'invitation' AND l.ended_at IS NULL;
    expires_at := at + rules.invitation_for;
    INSERT INTO accounts.links AS l (request_id, kind, app, address, address_key, locale,
        inviter_id, inviter_name, requested_at, expires_at)
    VALUES (request_id, 'invitation', app, address, wanted, locale, inviter, inviter_name, at,
        expires_at)
    RETURNING l.id INTO invitation;
    PERFORM errand.enqueue_own('accounts.link', jsonb_build_object('link_id', invitation));
    IF rules.remind_after < rules.invitation_for THEN
        PERFORM errand.enqueue_own('accounts.link', jsonb_build_object('link_id', invitation),
            run_at => at + rules.remind_after, not_after => expires_at,
            unique_key => 'reminder:' || invitation);
    END IF;
END $$;

-- Accepts an invitation as of a time; see accounts.accept_invitation.
CREATE OR REPLACE FUNCTION accounts.accept_invitation_at(
    token text, person bigint, at timestamptz,
    OUT reason text, OUT inviter bigint, OUT app text, OUT address text
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    link accounts.links;
BEGIN
    PERFORM people.expect_person(person);
    link := accounts.link_of(token, true);
    reason := accounts.link_state(link, 'invitation', at);
    IF reason = 'used' AND link.person_id = person THEN
        reason := 'ok';
    ELSIF reason = 'ok' AND NOT accounts.is_served(link.inviter_id, at) THEN
        reason := 'withdrawn';
    ELSIF reason = 'ok' AND NOT accounts.is_served(person, at) THEN
        reason := 'blocked';
    ELSIF reason = 'ok' THEN
        UPDATE accounts.links l
        SET ended_at = at, end_reason = 'used', person_id = person
        WHERE l.id = link.id;
        PERFORM accounts.call_off(NULL, ARRAY[link.id], 'the invitation was accepted');
        PERFORM accounts.note_reached(link.address_key);
    END IF;
    IF reason = 'ok' THEN
        inviter := link.inviter_id;
        app := link.app;
        address := link.address;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION accounts.invite(
    inviter bigint, inviter_name text, address text, app text, request_id text,
    locale text DEFAULT 'en',
    OUT reason text, OUT invitation bigint, OUT expires_at timestamptz,
    OUT ask_again_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.invitation, i.expires_at, i.ask_again_at
    INTO invite.reason, invite.invitation, invite.expires_at, invite.ask_again_at
    FROM accounts.invite_at($1, $2, $3, $4, $5, $6, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.invite(bigint, text, text, text, text, text) IS $doc$
Invites the owner of an address to an app, by mail with a link that is good for 14 days, and once
more after 3 days. A new invitation of the same person ends the earlier one. The answer is the same
whether an account has the address or not, and also if its owner has declined an invitation of this
person: then nothing is mailed.

Arguments:
  inviter: the person who invites
  inviter_name: the name of that person, which the mail shows: no link, no address, and a space
    after a dot
  address: the mail address of the one who is invited
  app: the app that the link opens, such as household
  request_id: the id of this request, the same when it is repeated
  locale: the language of the mail
Returns:
  reason: ok, or why nothing is sent
  invitation: the id of the invitation
  expires_at: until when it can be accepted
  ask_again_at: when the next request can be accepted
Reasons:
  ok: the invitation is sent, unless the owner of the address has declined one
  blocked: the inviter is to be erased, or is under 16
  too_many_for_address: the address got 5 invitations in the last day
  too_many_for_inviter: the person sent 50 invitations in the last day
Errors:
  22023: the name, address, app, locale or request id is not of its form, or the app has no
    template of such links
  23503: there is no such person
  23505: the request id is known with another person, address or app
Repeated: Answers the same and sends nothing, until the invitation is deleted, a day after its end.
  A request that was refused may be accepted later.
Sample:
  SELECT reason, invitation FROM accounts.invite(inviter => 17, inviter_name => 'Ann',
      address => 'friend@example.org', app => 'account', request_id => 'invite-1');
$doc$;

CREATE OR REPLACE FUNCTION accounts.open_invitation(
    token text, OUT reason text, OUT inviter bigint, OUT app text, OUT expires_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    link accounts.links;
BEGIN
    link := accounts.link_of(token, false);
    reason := accounts.link_state(link, 'invitation', clock_timestamp());
    IF reason = 'ok' AND NOT accounts.is_served(link.inviter_id, clock_timestamp()) THEN
        reason := 'withdrawn';
    END IF;
    IF reason = 'ok' THEN
        inviter := link.inviter_id;
        app := link.app;
        expires_at := link.expires_at;
    END IF;
END $$;
COMMENT ON FUNCTION accounts.open_invitation(text) IS $doc$
Shows whether an invitation can be accepted, and who invites.

Arguments:
  token: the token of the link
Returns:
  reason: ok, or why it cannot be accepted
  inviter: the person who invites
  app: the app
  expires_at: until when it can be accepted
Reasons:
  ok: it can be accepted
  unknown: there is no such invitation, or it was deleted a day after its end
  expired: its time is over
  used: it was accepted
  replaced: the same person has sent a newer one
  withdrawn: the person has withdrawn it, or is to be erased
  declined: it was declined
Repeated: Reads only.
Sample:
  SELECT reason FROM accounts.open_invitation(
      token => 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s');
$doc$;

CREATE OR REPLACE FUNCTION accounts.accept_invitation(
    token text, person bigint,
    OUT reason text, OUT inviter bigint, OUT app text, OUT address text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.inviter, i.app, i.address
    INTO accept_invitation.reason, accept_invitation.inviter, accept_invitation.app,
        accept_invitation.address
    FROM accounts.accept_invitation_at($1, $2, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.accept_invitation(text, bigint) IS $doc$
Accepts an invitation for a person, once. The link was mailed to the address that is returned: the
person can read its mail.

Arguments:
  token: the token of the link
  person: the person who accepts
Returns:
  reason: ok, or why it is not accepted
  inviter: the person who has invited
  app: the app
  address: the address that was invited
Reasons:
  ok: accepted now, or before by the same person
  unknown: there is no such invitation, or it was deleted a day after its end
  expired: its time is over
  used: another person has accepted it
  replaced: the inviter has sent a newer one
  withdrawn: the inviter has withdrawn it, or is to be erased
  declined: it was declined
  blocked: the person is to be erased, or is under 16
Errors:
  23503: there is no such person
Repeated: Answers the same and changes nothing, until the invitation is deleted, a day after its
  end; then answers unknown.
Sample:
  SELECT reason, inviter FROM accounts.accept_invitation(
      token => 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s', person => 18);
$doc$;

CREATE OR REPLACE FUNCTION accounts.withdraw_invitation(
    inviter bigint, invitation bigint, OUT reason text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    link accounts.links;
BEGIN
    SELECT * INTO link FROM accounts.links l
    WHERE l.id = invitation AND l.inviter_id = inviter FOR NO KEY UPDATE;
    reason := CASE WHEN link.id IS NULL THEN 'unknown'
        WHEN link.end_reason = 'used' THEN 'used' ELSE 'ok' END;
    UPDATE accounts.links l SET ended_at = clock_timestamp(), end_reason = 'withdrawn'
    WHERE l.id = link.id AND l.ended_at IS NULL;
    IF FOUND THEN
        PERFORM accounts.call_off(NULL, ARRAY[link.id], 'the invitation was withdrawn');
    END IF;
END $$;
COMMENT ON FUNCTION accounts.withdraw_invitation(bigint, bigint) IS $doc$
Withdraws an invitation: its link opens nothing, and no mail is sent any more. A mail that is being
sent may still arrive.

Arguments:
  inviter: the person who has invited
  invitation: the id of the invitation
Returns:
  reason: ok, or why it is not withdrawn
Reasons:
  ok: withdrawn, or over
  unknown: the person has no such invitation, or it was deleted a day after its end
  used: it was accepted
Repeated: Answers the same and changes nothing, until the invitation is deleted, a day after its
  end; then answers unknown.
Sample:
  SELECT reason FROM accounts.withdraw_invitation(inviter => 17, invitation => 1);
$doc$;
