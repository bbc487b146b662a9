-- What workers do: find the account of a request, and mail the code or the link.
--
-- Code and token exist in these functions, in the mail, and until it is sent in an unlogged table
-- of the module notification, in clear.
--
-- The mails of requests that a newer one has replaced are called off here, not at the request: it
-- would take longer for an address with an account than for one without.

-- Sends the code of a request; returns whether there was somebody to send it to.
CREATE OR REPLACE FUNCTION accounts.send_code(
    code bigint, at timestamptz DEFAULT clock_timestamp()
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    c accounts.codes;
    account bigint;
    digits CONSTANT text := accounts.random_code();
    salt CONSTANT bytea := substr(accounts.random_bytes(), 1, 16);
    mac bytea;
    facts jsonb;
BEGIN
    PERFORM accounts.forget_a_few(at);
    SELECT * INTO c FROM accounts.codes q WHERE q.id = code FOR NO KEY UPDATE;
    IF c.sent_at IS NOT NULL OR c.ended_at IS NOT NULL OR (c.expires_at > at) IS NOT TRUE THEN
        RETURN false;
    END IF;
    PERFORM accounts.call_off(ARRAY(
        SELECT o.id FROM accounts.codes o
        WHERE o.address_key = c.address_key AND o.purpose = c.purpose AND o.app = c.app
          AND o.end_reason = 'replaced' AND o.is_mailed), NULL, 'a newer code was requested');
    IF c.purpose = 'sign_in' THEN
        account := accounts.person_of(c.address_key, at);
    END IF;
    mac := accounts.code_mac(c.id, c.key_id, salt, digits);
    IF mac IS NULL OR c.purpose = 'sign_in' AND account IS NULL
        OR accounts.is_barred(c.address_key, at) THEN
        UPDATE accounts.codes q SET sent_at = at, person_id = account WHERE q.id = code;
        RETURN false;
    END IF;
    UPDATE accounts.codes q SET sent_at = at, person_id = account, salt = salt, mac = mac
    WHERE q.id = code;
    facts := jsonb_build_object(
        'minutes', ceil(extract(epoch FROM c.expires_at - c.requested_at) / 60)::int);
    IF account IS NULL OR accounts.is_refused(account) THEN
        PERFORM notification.mail_to(kind => 'account.code', address => c.address,
            locale => c.locale, data => facts, secrets => jsonb_build_object('code', digits),
            dedupe_key => 'account.code:' || code, expires_at => c.expires_at);
    ELSE
        PERFORM notification.intend(kind => 'account.code', person => account,
            subject => 'account.code', data => facts, dedupe_key => 'account.code:' || code,
            expires_at => c.expires_at, secrets => jsonb_build_object('code', digits));
    END IF;
    RETURN true;
END $$;

-- Whether the reminder of an invitation that was sent is due. If operators have moved it since its
-- job was enqueued, another job follows; if they have switched it off, none does.
CREATE OR REPLACE FUNCTION accounts.is_reminder_due(link accounts.links, at timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    due CONSTANT timestamptz := link.requested_at
        + (SELECT r.remind_after FROM accounts.rules r);
BEGIN
    IF link.kind <> 'invitation' OR link.reminded_at IS NOT NULL OR due IS NULL THEN
        RETURN false;
    END IF;
    IF due > at AND due < link.expires_at THEN
        PERFORM errand.enqueue_own('accounts.link', jsonb_build_object('link_id', link.id),
            run_at => due, not_after => link.expires_at, unique_key => 'reminder:' || link.id);
    END IF;
    RETURN due <= at;
END $$;

-- Sends the link of a request, or the reminder of an invitation that was sent; returns whether
-- there was somebody to send it to.
CREATE OR REPLACE FUNCTION accounts.send_link(
    link bigint, at timestamptz DEFAULT clock_timestamp()
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    l accounts.links;
    account bigint;
    is_reminder boolean;
    token CONSTANT text := accounts.random_token();
    hash CONSTANT bytea := accounts.token_hash(token);
    url text;
    facts jsonb;
BEGIN
    PERFORM accounts.forget_a_few(at);
    SELECT * INTO l FROM accounts.links q WHERE q.id = link FOR NO KEY UPDATE;
    is_reminder := l.sent_at IS NOT NULL;
    IF l.ended_at IS NOT NULL OR (l.expires_at > at) IS NOT TRUE
        OR is_reminder AND NOT accounts.is_reminder_due(l, at) THEN
        RETURN false;
    END IF;
    PERFORM accounts.call_off(NULL, ARRAY(
        SELECT o.id FROM accounts.links o
        WHERE o.address_key = l.address_key AND o.kind = l.kind
          AND (o.kind = 'reset' OR o.inviter_id = l.inviter_id AND o.app = l.app)
          AND o.end_reason = 'replaced' AND o.is_mailed), 'a newer link was requested');
    IF l.kind = 'reset' THEN
        account := accounts.person_of(l.address_key, at);
    END IF;
    IF l.kind = 'reset' AND account IS NULL OR accounts.is_barred(l.address_key, at)
        OR l.kind = 'invitation' AND (NOT accounts.is_served(l.inviter_id, at)
            OR accounts.has_declined(l.inviter_id, l.address_key)) THEN
        UPDATE accounts.links q SET sent_at = coalesce(q.sent_at, at) WHERE q.id = link;
        RETURN false;
    END IF;
    -- Removed since the request: the job's error says what to run, and it is retried.
    PERFORM accounts.expect_template(l.app, l.kind);
    url := replace((SELECT t.template FROM accounts.link_templates t
        WHERE t.app = l.app AND t.kind = l.kind), '{token}', token);
    UPDATE accounts.links q
    SET sent_at = coalesce(q.sent_at, at),
        reminded_at = CASE WHEN is_reminder THEN at END,
        person_id = account,
        token_hash = CASE WHEN is_reminder THEN q.token_hash ELSE hash END,
        reminder_hash = CASE WHEN is_reminder THEN hash END
    WHERE q.id = link;
    facts := CASE l.kind
        WHEN 'reset' THEN jsonb_build_object('minutes',
            ceil(extract(epoch FROM l.expires_at - l.requested_at) / 60)::int)
        ELSE jsonb_build_object('by', l.inviter_name,
            'days', ceil(extract(epoch FROM l.expires_at - at) / 86400)::int) END;
    IF l.kind = 'reset' AND accounts.is_refused(account) THEN
        PERFORM notification.mail_to(kind => 'account.reset_link', address => l.address,
            locale => l.locale, data => facts, secrets => jsonb_build_object('link', url),
            dedupe_key => 'account.reset_link:' || link, expires_at => l.expires_at);
    ELSIF l.kind = 'reset' THEN
        PERFORM notification.intend(kind => 'account.reset_link', person => account,
            subject => 'account.reset_link', data => facts,
            dedupe_key => 'account.reset_link:' || link, expires_at => l.expires_at,
            secrets => jsonb_build_object('link', url));
    ELSE
        PERFORM notification.mail_to(kind => 'account.invitation', address => l.address,
            locale => l.locale, data => facts, secrets => jsonb_build_object('link', url),
            dedupe_key => 'account.invitation:' || link
                || CASE WHEN is_reminder THEN ':reminder' ELSE '' END,
            expires_at => l.expires_at);
    END IF;
    RETURN true;
END $$;

-- ---- Templates of links ---------------------------------------------------------------------

-- Raises an error unless the app has a template for links of a kind.
CREATE OR REPLACE FUNCTION accounts.expect_template(app text, kind text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM accounts.link_templates t WHERE t.app = app AND t.kind = kind) THEN
        RAISE EXCEPTION 'the app % has no template for % links', app, kind
            USING ERRCODE = 'invalid_parameter_value',
                HINT = format('Run: errand account set-template %s %s '
                    '''https://HOST/PATH?token={token}''', app, kind);
    END IF;
END $$;

-- ---- For operators --------------------------------------------------------------------------

-- Deletes the codes and reset links of an address, with their mails, so that it can request new
-- ones at once. Returns their number.
CREATE OR REPLACE FUNCTION accounts.unlock(address text) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    codes bigint[];
    links bigint[];
BEGIN
    PERFORM FROM accounts.addresses a WHERE a.address_key = lower(address) FOR UPDATE;
    WITH deleted AS (
        DELETE FROM accounts.links l
        WHERE l.address_key = lower(address) AND l.kind = 'reset' RETURNING l.id
    )
    SELECT array_agg(d.id) INTO links FROM deleted d;
    WITH deleted AS (
        DELETE FROM accounts.codes c WHERE c.address_key = lower(address) RETURNING c.id
    )
    SELECT array_agg(d.id) INTO codes FROM deleted d;
    PERFORM accounts.call_off(codes, links, 'the address was unlocked');
    RETURN coalesce(cardinality(codes), 0) + coalesce(cardinality(links), 0);
END $$;
