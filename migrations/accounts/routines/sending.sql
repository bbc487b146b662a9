-- What workers do: find the account of a request, and mail the code or the link.
--
-- Code and token exist in these functions, in the sealed words of the mail, and in the mail itself.

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
    IF c.purpose = 'sign_in' THEN
        account := accounts.person_of(c.address_key, at);
    END IF;
    mac := accounts.code_mac(c.id, c.key_id, salt, digits);
    IF mac IS NULL OR c.purpose = 'sign_in' AND account IS NULL
        OR accounts.is_barred(c.address_key, at) THEN
        UPDATE accounts.codes q SET sent_at = at WHERE q.id = code;
        RETURN false;
    END IF;
    UPDATE accounts.codes q SET sent_at = at, person_id = account, salt = salt, mac = mac
    WHERE q.id = code;
    facts := jsonb_build_object(
        'minutes', ceil(extract(epoch FROM c.expires_at - c.requested_at) / 60)::int);
    IF account IS NULL THEN
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
BEGIN
    PERFORM accounts.forget_a_few(at);
    SELECT * INTO l FROM accounts.links q WHERE q.id = link FOR NO KEY UPDATE;
    is_reminder := l.sent_at IS NOT NULL;
    IF l.ended_at IS NOT NULL OR (l.expires_at > at) IS NOT TRUE OR is_reminder
        AND (l.kind <> 'invitation' OR l.reminded_at IS NOT NULL OR at < l.requested_at
            + (SELECT r.remind_after FROM accounts.rules r)) THEN
        RETURN false;
    END IF;
    url := replace((SELECT t.template FROM accounts.link_templates t
        WHERE t.app = l.app AND t.kind = l.kind), '{token}', token);
    IF l.kind = 'reset' THEN
        account := accounts.person_of(l.address_key, at);
    END IF;
    IF url IS NULL OR l.kind = 'reset' AND account IS NULL
        OR accounts.is_barred(l.address_key, at)
        OR l.kind = 'invitation' AND NOT accounts.is_served(l.inviter_id, at) THEN
        UPDATE accounts.links q SET sent_at = coalesce(q.sent_at, at) WHERE q.id = link;
        RETURN false;
    END IF;
    UPDATE accounts.links q
    SET sent_at = coalesce(q.sent_at, at),
        reminded_at = CASE WHEN is_reminder THEN at END,
        person_id = account,
        token_hash = CASE WHEN is_reminder THEN q.token_hash ELSE hash END,
        reminder_hash = CASE WHEN is_reminder THEN hash END
    WHERE q.id = link;
    IF l.kind = 'reset' THEN
        PERFORM notification.intend(kind => 'account.reset_link', person => account,
            subject => 'account.reset_link', data => jsonb_build_object('minutes',
                ceil(extract(epoch FROM l.expires_at - l.requested_at) / 60)::int),
            dedupe_key => 'account.reset_link:' || link, expires_at => l.expires_at,
            secrets => jsonb_build_object('link', url));
    ELSE
        PERFORM notification.mail_to(kind => 'account.invitation', address => l.address,
            locale => l.locale, data => jsonb_build_object('by', l.inviter_name,
                'days', ceil(extract(epoch FROM l.expires_at - at) / 86400)::int),
            secrets => jsonb_build_object('link', url),
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

-- Deletes the codes and reset links of an address, so that it can request new ones at once. Returns
-- their number.
CREATE OR REPLACE FUNCTION accounts.unlock(address text) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    deleted bigint;
BEGIN
    WITH codes AS (
        DELETE FROM accounts.codes c WHERE c.address_key = lower(address) RETURNING 1
    ), links AS (
        DELETE FROM accounts.links l
        WHERE l.address_key = lower(address) AND l.kind = 'reset' RETURNING 1
    )
    SELECT (SELECT count(*) FROM codes) + (SELECT count(*) FROM links) INTO deleted;
    RETURN deleted;
END $$;
