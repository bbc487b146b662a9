-- Erasing a person, reading what is known of one, and deleting what is over.

-- Erases a person; see people.holders. What was requested for their address goes as well.
CREATE OR REPLACE FUNCTION accounts.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    own CONSTANT text := (SELECT lower(p.email) FROM people.people p WHERE p.id = person);
BEGIN
    -- Mails that are not sent yet name the person, or go to their address.
    PERFORM notification.call_off_mail(m.id, 'the person was erased')
    FROM (
        SELECT 'account.code:' || c.id AS dedupe_key FROM accounts.codes c
        WHERE c.person_id = person OR c.address_key = own
        UNION ALL
        SELECT 'account.invitation:' || l.id || of.ending
        FROM accounts.links l, (VALUES (''), (':reminder')) AS of (ending)
        WHERE l.inviter_id = person OR l.address_key = own
    ) AS sent
    JOIN notification.direct_mails m ON m.dedupe_key = sent.dedupe_key;
    action := 'deleted';
    object := 'accounts.codes';
    DELETE FROM accounts.codes c WHERE c.person_id = person OR c.address_key = own;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'accounts.links';
    DELETE FROM accounts.links l
    WHERE l.person_id = person OR l.inviter_id = person OR l.address_key = own;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
    object := 'accounts.addresses';
    DELETE FROM accounts.addresses a WHERE a.address_key = own;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

-- All that this module knows of a person.
CREATE OR REPLACE FUNCTION accounts.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'codes', (SELECT jsonb_agg(jsonb_build_object('id', c.id, 'app', c.app,
                'purpose', c.purpose, 'address', c.address, 'locale', c.locale,
                'caller', c.caller, 'requested_at', c.requested_at, 'sent_at', c.sent_at,
                'expires_at', c.expires_at, 'wrong_tries', c.tries, 'ended_at', c.ended_at,
                'end_reason', c.end_reason, 'code', CASE WHEN c.mac IS NOT NULL THEN 'sealed' END)
                ORDER BY c.id)
            FROM accounts.codes c WHERE c.person_id = $1 OR c.address_key = own.address),
        'links', (SELECT jsonb_agg(jsonb_build_object('id', l.id, 'kind', l.kind, 'app', l.app,
                'address', CASE WHEN l.person_id = $1 OR l.inviter_id = $1
                    OR l.address_key = own.address THEN l.address END,
                'locale', l.locale, 'caller', l.caller,
                'inviter', l.inviter_id, 'inviter_name', l.inviter_name,
                'requested_at', l.requested_at, 'sent_at', l.sent_at,
                'reminded_at', l.reminded_at, 'expires_at', l.expires_at,
                'ended_at', l.ended_at, 'end_reason', l.end_reason,
                'token', CASE WHEN l.token_hash IS NOT NULL THEN 'sealed' END) ORDER BY l.id)
            FROM accounts.links l WHERE l.person_id = $1 OR l.inviter_id = $1
                OR l.address_key = own.address),
        'addresses', (SELECT jsonb_agg(jsonb_build_object('address', a.address_key,
                'requested_at', a.requested_at))
            FROM accounts.addresses a WHERE a.address_key = own.address)))
    FROM (SELECT (SELECT lower(p.email) FROM people.people p WHERE p.id = $1) AS address) AS own
$$;

-- ---- Retention: see people.retention_rules --------------------------------------------------

-- Deletes codes that expired before a time.
CREATE OR REPLACE FUNCTION accounts.forget_codes(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.codes c WHERE c.expires_at < before
            LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.codes c WHERE c.id IN (
        SELECT f.id FROM accounts.codes f WHERE f.expires_at < before
        ORDER BY f.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;

-- Deletes reset links and invitations that ended or expired before a time.
CREATE OR REPLACE FUNCTION accounts.forget_links(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.links l
            WHERE least(l.ended_at, l.expires_at) < before LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.links l WHERE l.id IN (
        SELECT f.id FROM accounts.links f WHERE least(f.ended_at, f.expires_at) < before
        ORDER BY least(f.ended_at, f.expires_at) LIMIT max_rows FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;

-- Deletes addresses without a request since a time.
CREATE OR REPLACE FUNCTION accounts.forget_addresses(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.addresses a
            WHERE a.requested_at < before LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.addresses a WHERE a.address_key IN (
        SELECT f.address_key FROM accounts.addresses f WHERE f.requested_at < before
        ORDER BY f.requested_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;

-- Deletes a few rows that are over, with each mail, so that they do not wait for the night; also
-- keys of hashes without codes.
CREATE OR REPLACE FUNCTION accounts.forget_a_few(at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM accounts.forget_codes(at - interval '1 hour', 20, false);
    PERFORM accounts.forget_links(at - interval '1 day', 20, false);
    PERFORM accounts.forget_addresses(at - interval '1 day', 20, false);
    -- A key is used for an hour, and its codes are good for an hour at most.
    DELETE FROM accounts.code_keys k WHERE k.id IN (
        SELECT f.id FROM accounts.code_keys f WHERE f.made_at < at - interval '3 hours'
        LIMIT 20 FOR UPDATE SKIP LOCKED);
END $$;
