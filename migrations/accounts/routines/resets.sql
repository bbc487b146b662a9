-- Links that reset a password: requested, opened and used by app servers.

-- Requests a reset link as of a time; see accounts.request_reset.
CREATE OR REPLACE FUNCTION accounts.request_reset_at(
    address text, app text, request_id text, caller text, at timestamptz,
    OUT reason text, OUT expires_at timestamptz, OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    wanted CONSTANT text := accounts.expect_request(address, app, request_id, caller, 'en');
    rules accounts.rules;
    known accounts.links;
    link bigint;
BEGIN
    PERFORM accounts.expect_template(app, 'reset');
    PERFORM accounts.lock_address(wanted, at);
    SELECT * INTO known FROM accounts.links l WHERE l.request_id = request_id;
    IF FOUND THEN
        IF (known.kind, known.address_key, known.app) <> ('reset', wanted, app) THEN
            PERFORM accounts.refuse_request(request_id);
        END IF;
        reason := 'ok';
        expires_at := known.expires_at;
        RETURN;
    END IF;
    PERFORM accounts.lock_source('caller:' || caller, at);
    SELECT * INTO rules FROM accounts.rules;
    SELECT * INTO reason, ask_again_at FROM accounts.limit_of(
        ARRAY(SELECT l.requested_at FROM accounts.links l
            WHERE l.address_key = wanted AND l.kind = 'reset'
              AND l.requested_at > at - interval '1 hour'
            ORDER BY l.requested_at DESC LIMIT rules.resets), rules.resets,
        ARRAY(SELECT l.requested_at FROM accounts.links l
            WHERE l.caller = caller AND l.requested_at > at - interval '1 hour'
            ORDER BY l.requested_at DESC LIMIT rules.resets_of_caller), rules.resets_of_caller,
        interval '1 hour');
    IF reason <> 'ok' THEN
        RETURN;
    END IF;
    -- The newest only, whatever the app: each resets the same account.
    UPDATE accounts.links l SET ended_at = at, end_reason = 'replaced'
    WHERE l.address_key = wanted AND l.kind = 'reset' AND l.ended_at IS NULL;
    expires_at := at + rules.reset_for;
    INSERT INTO accounts.links AS l (request_id, kind, app, address, address_key, locale, caller,
        requested_at, expires_at)
    VALUES (request_id, 'reset', app, address, wanted, 'en', caller, at, expires_at)
    RETURNING l.id INTO link;
    PERFORM errand.enqueue_own('accounts.link', jsonb_build_object('link_id', link));
END $$;

-- The state of a link at a time: ok, or why it opens nothing.
CREATE OR REPLACE FUNCTION accounts.link_state(link accounts.links, kind text, at timestamptz)
RETURNS text LANGUAGE sql STABLE
RETURN CASE
    WHEN (link).id IS NULL OR (link).kind <> kind THEN 'unknown'
    WHEN (link).end_reason IS NOT NULL THEN (link).end_reason
    WHEN (link).expires_at <= at THEN 'expired'
    WHEN kind = 'reset' AND NOT accounts.is_served((link).person_id, at) THEN 'expired'
    ELSE 'ok' END;

-- The link of a token; locked, if it is to be used.
CREATE OR REPLACE FUNCTION accounts.link_of(token text, is_locked boolean) RETURNS accounts.links
LANGUAGE plpgsql AS $$
DECLARE
    hash CONSTANT bytea := accounts.token_hash(token);
    link accounts.links;
BEGIN
    SELECT * INTO link FROM accounts.links l WHERE hash IN (l.token_hash, l.reminder_hash);
    IF FOUND AND is_locked THEN
        SELECT * INTO link FROM accounts.links l WHERE l.id = link.id FOR NO KEY UPDATE;
    END IF;
    RETURN link;
END $$;

-- Uses a reset link as of a time; see accounts.use_reset.
CREATE OR REPLACE FUNCTION accounts.use_reset_at(
    token text, request_id text, at timestamptz,
    OUT reason text, OUT person bigint, OUT app text
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    link accounts.links;
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100 AND request_id !~ '[[:cntrl:]]',
        'request_id: expected 1 to 100 characters in one line, the same for a repeated request');
    link := accounts.link_of(token, true);
    reason := accounts.link_state(link, 'reset', at);
    IF reason = 'used' AND link.used_by = request_id THEN
        reason := 'ok';
    ELSIF reason = 'ok' THEN
        UPDATE accounts.links l SET ended_at = at, end_reason = 'used', used_by = request_id
        WHERE l.id = link.id;
        PERFORM accounts.end_all(link.person_id, 'replaced', at);
        PERFORM accounts.sign_out(link.person_id, at);
        -- Before the notice, which no address gets that refuses mail.
        PERFORM accounts.note_reached(link.address_key);
        PERFORM notification.intend(kind => 'account.password_changed', person => link.person_id,
            subject => 'account.password_changed', data => jsonb_build_object('at', at),
            dedupe_key => 'account.password_changed:' || link.id,
            expires_at => at + interval '3 days');
    END IF;
    IF reason = 'ok' THEN
        person := link.person_id;
        app := link.app;
    END IF;
END $$;

-- Disables the devices of a person: after the sign-in with the new password, the app registers its
-- device again.
CREATE OR REPLACE FUNCTION accounts.sign_out(person bigint, at timestamptz) RETURNS void
LANGUAGE sql AS $$
    UPDATE notification.devices d
    SET disabled_at = $2, disabled_reason = 'the password was changed'
    WHERE d.person_id = $1 AND d.disabled_at IS NULL
$$;

CREATE OR REPLACE FUNCTION accounts.request_reset(
    address text, app text, request_id text, caller text DEFAULT NULL,
    OUT reason text, OUT expires_at timestamptz, OUT ask_again_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.expires_at, i.ask_again_at
    INTO request_reset.reason, request_reset.expires_at, request_reset.ask_again_at
    FROM accounts.request_reset_at($1, $2, $3, $4, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.request_reset(text, text, text, text) IS $doc$
Requests a link that resets the password of the account with an address, by mail. A new link ends
the earlier one. The answer is the same whether an account has the address or not; without one,
nothing is mailed.

Arguments:
  address: the mail address, as the person entered it
  app: the app that the link opens, such as survey
  request_id: the id of this request, the same when it is repeated
  caller: stands for the network that asks, such as a keyed hash of its address; null for none
Returns:
  reason: ok, or why no link is sent
  expires_at: until when the link can be used
  ask_again_at: when the next request can be accepted
Reasons:
  ok: a link is sent, if an account has the address
  too_many_for_address: 3 links were requested for the address in the last hour
  too_many_for_caller: 20 links were requested by the caller in the last hour
Errors:
  22023: the address, app or an id is not of its form, or the app has no template of such links
  23505: the request id is known with another address or app
Repeated: Until the link is deleted, a day after its end, answers the same and sends nothing. A
  request that was refused may be accepted later.
Sample:
  SELECT reason, expires_at > now() AS is_good
  FROM accounts.request_reset(address => 'person17@example.org', app => 'account',
      request_id => 'reset-1', caller => 'network-1');
$doc$;

CREATE OR REPLACE FUNCTION accounts.open_reset(
    token text, OUT reason text, OUT person bigint, OUT app text, OUT expires_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    link accounts.links;
BEGIN
    link := accounts.link_of(token, false);
    reason := accounts.link_state(link, 'reset', clock_timestamp());
    IF reason = 'ok' THEN
        person := link.person_id;
        app := link.app;
        expires_at := link.expires_at;
    END IF;
END $$;
COMMENT ON FUNCTION accounts.open_reset(text) IS $doc$
Shows whether a reset link can be used, for the page that asks for the new password. It does not
use the link: mail programs open links by themselves.

Arguments:
  token: the token of the link
Returns:
  reason: ok, or why the link opens nothing
  person: the account
  app: the app that the link is for
  expires_at: until when it can be used
Reasons:
  ok: the link can be used
  unknown: there is no such link, or it was deleted a day after its end
  expired: its time is over
  used: the password was reset with it
  replaced: a newer link was requested, or another one was used
  address_changed: the address of the account has changed
Repeated: Reads only.
Sample:
  SELECT reason FROM accounts.open_reset(token => 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s');
$doc$;

CREATE OR REPLACE FUNCTION accounts.use_reset(
    token text, request_id text, OUT reason text, OUT person bigint, OUT app text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.person, i.app INTO use_reset.reason, use_reset.person, use_reset.app
    FROM accounts.use_reset_at($1, $2, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.use_reset(text, text) IS $doc$
Uses a reset link, once: call it in the transaction that stores the new password. Ends the other
codes and reset links of the account, disables its devices, and mails that the password has
changed.

Arguments:
  token: the token of the link
  request_id: the id of this request, the same when it is repeated
Returns:
  reason: ok, or why the password must not be changed
  person: the account whose password is to be changed
  app: the app that the link is for
Reasons:
  ok: used now, or before by this request
  unknown: there is no such link, or it was deleted a day after its end
  expired: its time is over
  used: another request has used it
  replaced: a newer link was requested, or another one was used
  address_changed: the address of the account has changed
Errors:
  22023: the request id is not of its form
Repeated: With the same request id answers the same and changes nothing.
Sample:
  SELECT reason, person FROM accounts.use_reset(
      token => 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s', request_id => 'use-1');
$doc$;
