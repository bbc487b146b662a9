-- Codes of six digits that prove an address: requested and checked by app servers.

-- Requests a code as of a time; see accounts.issue_code.
CREATE OR REPLACE FUNCTION accounts.issue_code_at(
    address text, purpose text, app text, request_id text, caller text, locale text,
    at timestamptz,
    OUT reason text, OUT expires_at timestamptz, OUT ask_again_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    wanted CONSTANT text := accounts.expect_request(address, app, request_id, caller, locale);
    rules accounts.rules;
    known accounts.codes;
    code bigint;
BEGIN
    PERFORM errand.expect(purpose IN ('sign_in', 'verify_address'),
        'purpose: expected sign_in or verify_address');
    PERFORM accounts.lock_address(wanted, at);
    SELECT * INTO known FROM accounts.codes c WHERE c.request_id = request_id;
    IF FOUND THEN
        IF (known.address_key, known.purpose, known.app) <> (wanted, purpose, app) THEN
            PERFORM accounts.refuse_request(request_id);
        END IF;
        reason := 'ok';
        expires_at := known.expires_at;
        RETURN;
    END IF;
    PERFORM accounts.lock_source('caller:' || caller, at);
    SELECT * INTO rules FROM accounts.rules;
    SELECT * INTO reason, ask_again_at FROM accounts.limit_of(
        ARRAY(SELECT c.requested_at FROM accounts.codes c
            WHERE c.address_key = wanted AND c.requested_at > at - interval '1 hour'
            ORDER BY c.requested_at DESC LIMIT rules.codes), rules.codes,
        ARRAY(SELECT c.requested_at FROM accounts.codes c
            WHERE c.caller = caller AND c.requested_at > at - interval '1 hour'
            ORDER BY c.requested_at DESC LIMIT rules.codes_of_caller), rules.codes_of_caller,
        interval '1 hour');
    IF reason <> 'ok' THEN
        RETURN;
    END IF;
    UPDATE accounts.codes c SET ended_at = at, end_reason = 'replaced'
    WHERE c.address_key = wanted AND c.purpose = purpose AND c.app = app AND c.ended_at IS NULL;
    expires_at := at + rules.code_for;
    INSERT INTO accounts.codes AS c (request_id, app, purpose, address, address_key, locale,
        caller, requested_at, expires_at, key_id)
    VALUES (request_id, app, purpose, address, wanted, locale, caller, at, expires_at,
        accounts.current_key(at))
    RETURNING c.id INTO code;
    -- A worker looks for the account, so that neither the answer nor its time reveals whether there
    -- is one.
    PERFORM errand.enqueue_own('accounts.code', jsonb_build_object('code_id', code));
END $$;

-- Checks a code as of a time; see accounts.check_code.
CREATE OR REPLACE FUNCTION accounts.check_code_at(
    address text, purpose text, code text, app text, request_id text, issued text,
    at timestamptz,
    OUT reason text, OUT person bigint, OUT tries_left int
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    wanted CONSTANT text := accounts.expect_request(address, app, request_id, NULL, 'en');
    digits CONSTANT text := translate(code, U&' \00A0\2009\202F-', '');
    most CONSTANT int := (SELECT r.tries FROM accounts.rules r);
    sent accounts.codes;
    mac bytea;
    is_right boolean;
    tries int;
BEGIN
    PERFORM errand.expect(purpose IN ('sign_in', 'verify_address'),
        'purpose: expected sign_in or verify_address');
    IF (digits ~ '^[0-9]{6}$') IS NOT TRUE THEN
        reason := 'malformed';
        RETURN;
    END IF;
    SELECT * INTO sent FROM accounts.codes c
    WHERE c.address_key = wanted AND c.purpose = purpose AND c.app = app
      AND (issued IS NULL OR c.request_id = issued)
    ORDER BY c.requested_at DESC, c.id DESC LIMIT 1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        reason := 'not_issued';
        RETURN;
    END IF;
    tries := accounts.tries_of(sent.id, sent.tries, at);
    -- Also without a code that was sent, so that the time reveals nothing.
    mac := accounts.code_mac(sent.id, sent.key_id, coalesce(sent.salt, int8send(sent.id)), digits);
    -- Compares hashes, as a comparison ends at the first different byte.
    is_right := coalesce(sha256(mac) = sha256(coalesce(sent.mac, '')), false);
    reason := CASE
        WHEN sent.end_reason = 'used' AND sent.used_by = request_id AND is_right THEN 'ok'
        WHEN sent.end_reason = 'used' THEN 'used'
        WHEN sent.ended_at IS NOT NULL OR sent.expires_at <= at OR mac IS NULL THEN 'expired'
        WHEN tries >= most OR tries IS NULL THEN 'locked'
        WHEN NOT is_right THEN 'wrong'
        WHEN sent.person_id IS NOT NULL AND NOT accounts.is_served(sent.person_id, at)
            THEN 'expired'
        ELSE 'ok' END;
    IF reason = 'ok' THEN
        person := sent.person_id;
        UPDATE accounts.codes c SET ended_at = at, end_reason = 'used', used_by = request_id
        WHERE c.id = sent.id AND c.ended_at IS NULL;
        PERFORM accounts.note_reached(wanted);
    ELSIF reason = 'wrong' THEN
        PERFORM accounts.count_try(sent.id, tries, at);
        UPDATE accounts.codes c SET tries = tries + 1 WHERE c.id = sent.id;
        tries_left := most - tries - 1;
    ELSIF reason = 'locked' THEN
        tries_left := 0;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION accounts.issue_code(
    address text, purpose text, app text, request_id text, caller text DEFAULT NULL,
    locale text DEFAULT 'en',
    OUT reason text, OUT expires_at timestamptz, OUT ask_again_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.expires_at, i.ask_again_at
    INTO issue_code.reason, issue_code.expires_at, issue_code.ask_again_at
    FROM accounts.issue_code_at($1, $2, $3, $4, $5, $6, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.issue_code(text, text, text, text, text, text) IS $doc$
Requests a code of six digits for an address, by mail. A new code ends the earlier one of the same
address, purpose and app. The answer is the same whether an account has the address or not. A code
to sign in is mailed only if one does; a code to verify an address is mailed to any address.

Arguments:
  address: the mail address, as the person entered it
  purpose: sign_in, or verify_address for the address of nobody yet
  app: the app that asks, such as survey
  request_id: the id of this request, the same when it is repeated; random, and kept with the
    session that asks, to be passed to check_code as issued
  caller: stands for the network that asks, such as a keyed hash of its address; null for none
  locale: the language of a mail to an address without an account
Returns:
  reason: ok, or why no code is sent
  expires_at: until when the code can be used
  ask_again_at: when the next request can be accepted
Reasons:
  ok: a code is sent, if there is anybody to send it to
  too_many_for_address: 5 codes were requested for the address in the last hour
  too_many_for_caller: 100 codes were requested by the caller in the last hour
Errors:
  22023: the address, app, purpose, locale or an id is not of its form
  23505: the request id is known with another address, purpose or app
Repeated: Within an hour answers the same and sends nothing. A request that was refused may be
  accepted later.
Sample:
  SELECT reason, expires_at > now() AS is_good
  FROM accounts.issue_code(address => 'person17@example.org', purpose => 'sign_in',
      app => 'account', request_id => 'code-1', caller => 'network-1');
$doc$;

CREATE OR REPLACE FUNCTION accounts.check_code(
    address text, purpose text, code text, app text, request_id text, issued text DEFAULT NULL,
    OUT reason text, OUT person bigint, OUT tries_left int
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.reason, i.person, i.tries_left
    INTO check_code.reason, check_code.person, check_code.tries_left
    FROM accounts.check_code_at($1, $2, $3, $4, $5, $6, clock_timestamp()) i;
END $$;
COMMENT ON FUNCTION accounts.check_code(text, text, text, text, text, text) IS $doc$
Checks the code that was requested last for an address, a purpose and an app, and uses it. Wrong
codes count even if the transaction is rolled back: the fifth ends the code. Call it in a
transaction of its own. Without issued, everybody who knows an address can enter five wrong codes
and so end the code of its owner.

Arguments:
  address: the mail address for which the code was requested
  purpose: the purpose for which it was requested
  code: the six digits, as the person entered them; spaces and hyphens are ignored
  app: the app for which it was requested
  request_id: the id of this request, the same when it is repeated
  issued: the request_id of issue_code, which the app has kept with the session that asked: only
    that code is checked, and wrong codes of other sessions count nothing; null for the last code
Returns:
  reason: ok, or why the code is refused
  person: the account to sign in to; null for verify_address
  tries_left: after a wrong code, how many more are accepted
Reasons:
  ok: the code is right, and is used now or was used by this request
  malformed: not six digits; not counted
  wrong: another code, counted
  locked: five wrong codes were entered, or wrong tries cannot be counted; request a new code
  expired: its time is over, or a newer code was requested, or the address has changed, or the
    database has crashed
  used: another request has used it
  not_issued: no code was requested for this address, purpose and app, or none by issued
Errors:
  22023: the address, app, purpose or request id is not of its form
Repeated: With the right code and the same request id answers the same for an hour after the expiry
  of the code, except after a crash of the database: then it answers used. Each wrong code counts.
Sample:
  SELECT reason, person FROM accounts.check_code(address => 'person17@example.org',
      purpose => 'sign_in', code => '12345', app => 'account', request_id => 'check-1',
      issued => 'code-1');
$doc$;
