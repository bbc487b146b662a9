-- Mails to addresses of people who have no account yet.

CREATE OR REPLACE FUNCTION notification.is_address(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce($1 ~ ('^(?=.{3,254}$)[^[:cntrl:]]*[^@[:space:][:cntrl:]]'
        '@[^@[:space:][:cntrl:]]+$'), false)
$$;

-- Whether all who have this address are blocked, and somebody has it.
CREATE OR REPLACE FUNCTION notification.is_blocked(address text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM people.people p
            WHERE lower(p.email) = lower($1) AND p.blocked_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM people.people p
            WHERE lower(p.email) = lower($1) AND p.blocked_at IS NULL)
$$;

CREATE OR REPLACE FUNCTION notification.mail_to(
    kind text, address text, locale text, data jsonb, secrets jsonb, dedupe_key text,
    expires_at timestamptz
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    known notification.kinds;
    mail bigint;
    is_same boolean;
    is_barred boolean;
BEGIN
    IF kind IS NULL OR address IS NULL OR locale IS NULL OR data IS NULL OR dedupe_key IS NULL
        OR expires_at IS NULL THEN
        RAISE EXCEPTION 'mail_to needs kind, address, locale, data, dedupe_key and expires_at'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    PERFORM notification.expect_event(kind, data, secrets, dedupe_key, expires_at);
    -- The texts name no address, which is personal.
    PERFORM errand.expect(notification.is_address(address),
        'address: expected an address of at most 254 characters');
    -- A row keeps the address until then, if its mail cannot be sent.
    PERFORM errand.expect(expires_at <= clock_timestamp() + interval '90 days',
        'expires_at: expected at most 90 days from now');
    PERFORM errand.expect(locale ~ '^[a-z]{2,3}([-_][A-Za-z]{2})?$',
        'locale: expected such as en or en-CA');
    known := notification.expect_kind(kind, data, secrets);
    PERFORM errand.expect(known.urgency = 'urgent' AND 'email' = ANY (known.channels),
        format('kind %s: expected an urgent kind that is sent by email', kind));
    is_barred := notification.is_blocked(address);
    INSERT INTO notification.direct_mails AS m (kind, address, locale, data, dedupe_key, expires_at,
        status, reply, answered_at)
    VALUES (kind, CASE WHEN NOT is_barred THEN address END, locale,
        CASE WHEN is_barred THEN '{}' ELSE data END, dedupe_key, expires_at,
        CASE WHEN is_barred THEN 'withdrawn' ELSE 'pending' END::notification.delivery_status,
        CASE WHEN is_barred THEN 'blocked' END,
        CASE WHEN is_barred THEN clock_timestamp() END)
    ON CONFLICT ON CONSTRAINT direct_mails_dedupe_key_key DO NOTHING
    RETURNING m.id INTO mail;
    IF mail IS NULL THEN
        SELECT m.id, m.kind = kind AND (m.address IS NULL OR m.address = address AND m.data = data)
        INTO mail, is_same
        FROM notification.direct_mails m WHERE m.dedupe_key = mail_to.dedupe_key;
        IF NOT is_same THEN
            RAISE EXCEPTION 'direct mail % has this dedupe_key with another kind, address or '
                'other data', mail USING ERRCODE = 'unique_violation',
                    HINT = 'Give each event a key of its own, such as invitation:4.';
        END IF;
        RETURN mail;
    END IF;
    IF is_barred THEN
        RETURN mail;
    END IF;
    IF known.secrets <> '{}' THEN
        INSERT INTO notification.direct_secrets (mail_id, facts, expires_at)
        VALUES (mail, secrets, expires_at);
    END IF;
    PERFORM errand.enqueue_own('notification.direct_mail', jsonb_build_object('mail_id', mail));
    RETURN mail;
END $$;
COMMENT ON FUNCTION
    notification.mail_to(text, text, text, jsonb, jsonb, text, timestamptz) IS $doc$
Mails an urgent notice to an address whose owner has no account yet, such as an invitation. No
policy decides about it. The address and the facts are deleted when the mail has been sent, has
failed or has expired. A mail to the address of a blocked person is recorded without both, and
withdrawn.

Arguments:
  kind: an urgent kind of notice that is sent by email
  address: the e-mail address
  locale: the language of the texts, such as en or en-CA; English if it has none
  data: the facts of the kind as a JSON object, at most 64 KiB
  secrets: the secret facts of the kind, such as a link; null for kinds without
  dedupe_key: names the event
  expires_at: the mail is not sent after this time; at most 90 days from now
Returns:
  mail_to: the id of the mail
Errors:
  22023: unknown kind, a fact is missing or has the wrong type, or an argument is invalid
  23505: the dedupe_key is known with another kind, address or other data
  RU002: no program has declared its kinds of notice yet: run errand migrate
Repeated: the same dedupe_key returns the same id and sends nothing. Once the mail has ended, only
the kind is compared; secret facts and expires_at never are.
Sample:
  SELECT notification.mail_to('account.invitation', address => 'kim@example.org',
      locale => 'en', data => '{"by": "Ann", "days": 14}',
      secrets => '{"link": "https://app.example.org/join?token=3mJr7AoUXx2Wqd"}',
      dedupe_key => 'invitation:4', expires_at => now() + interval '14 days');
$doc$;

-- Withdraws a mail that has not been sent; returns whether it had not. A mail that is being sent
-- may still arrive.
CREATE OR REPLACE FUNCTION notification.call_off_mail(mail bigint, reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE notification.direct_mails m SET status = 'withdrawn', reply = reason
    WHERE m.id = mail AND m.status = 'pending';
    RETURN FOUND;
END $$;

-- Expires mails that were not sent in time, and deletes secret facts that have expired; returns how
-- many mails.
CREATE OR REPLACE FUNCTION notification.expire_secrets(at timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    ended bigint;
BEGIN
    UPDATE notification.direct_mails m SET status = 'expired', reply = 'the mail has expired'
    WHERE m.status = 'pending' AND m.expires_at <= at;
    GET DIAGNOSTICS ended = ROW_COUNT;
    DELETE FROM notification.secrets s WHERE s.expires_at <= at;
    DELETE FROM notification.direct_secrets s WHERE s.expires_at <= at;
    RETURN ended;
END $$;

-- Deletes the address and the facts of a mail that has ended.
CREATE OR REPLACE FUNCTION notification.end_direct_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.address := NULL;
    NEW.data := '{}';
    NEW.answered_at := coalesce(NEW.answered_at, clock_timestamp());
    DELETE FROM notification.direct_secrets s WHERE s.mail_id = NEW.id;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER direct_mails_end BEFORE UPDATE OF status ON notification.direct_mails
    FOR EACH ROW WHEN (NEW.status <> 'pending') EXECUTE FUNCTION notification.end_direct_mail();

CREATE OR REPLACE FUNCTION notification.delete_direct_secrets() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notification.direct_secrets s WHERE s.mail_id = OLD.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER direct_mails_gone AFTER DELETE ON notification.direct_mails
    FOR EACH ROW EXECUTE FUNCTION notification.delete_direct_secrets();
