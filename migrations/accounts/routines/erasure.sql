-- Erasing a person, reading what is known of one, and deleting what is over.

-- Erases a person; see people.holders. What was requested for their address goes as well.
CREATE OR REPLACE FUNCTION accounts.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    own CONSTANT text := (SELECT lower(p.email) FROM people.people p WHERE p.id = person);
    codes bigint[];
    links bigint[];
BEGIN
    -- Requests for the address lock it first, too.
    PERFORM FROM accounts.addresses a WHERE a.address_key = own FOR UPDATE;
    action := 'deleted';
    object := 'accounts.links';
    WITH deleted AS (
        DELETE FROM accounts.links l
        WHERE l.person_id = person OR l.inviter_id = person OR l.address_key = own
        RETURNING l.id, l.is_mailed
    )
    SELECT count(*), array_agg(d.id) FILTER (WHERE d.is_mailed) INTO rows, links FROM deleted d;
    RETURN NEXT;
    object := 'accounts.codes';
    WITH deleted AS (
        DELETE FROM accounts.codes c WHERE c.person_id = person OR c.address_key = own
        RETURNING c.id, c.is_mailed
    )
    SELECT count(*), array_agg(d.id) FILTER (WHERE d.is_mailed) INTO rows, codes FROM deleted d;
    RETURN NEXT;
    -- Mails that are not sent yet name the person, or go to their address.
    PERFORM accounts.call_off(codes, links, 'the person was erased');
    object := 'accounts.declined';
    DELETE FROM accounts.declined d
    WHERE d.inviter_id = person OR d.address_hash = accounts.address_hash(own);
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
                'address', l.address, 'locale', l.locale, 'caller', l.caller,
                'inviter', l.inviter_id, 'inviter_name', l.inviter_name,
                'requested_at', l.requested_at, 'sent_at', l.sent_at,
                'reminded_at', l.reminded_at, 'expires_at', l.expires_at,
                'ended_at', l.ended_at, 'end_reason', l.end_reason,
                'token', CASE WHEN l.token_hash IS NOT NULL THEN 'sealed' END) ORDER BY l.id)
            FROM accounts.links l WHERE l.person_id = $1 OR l.inviter_id = $1
                OR l.address_key = own.address),
        'declined', (SELECT jsonb_agg(jsonb_build_object('inviter', d.inviter_id,
                'address', CASE WHEN d.address_hash = accounts.address_hash(own.address)
                    THEN own.address ELSE 'sealed' END, 'declined_at', d.declined_at)
                ORDER BY d.declined_at)
            FROM accounts.declined d WHERE d.inviter_id = $1
                OR d.address_hash = accounts.address_hash(own.address)),
        'addresses', (SELECT jsonb_agg(jsonb_build_object('address', a.address_key,
                'requested_at', a.requested_at))
            FROM accounts.addresses a WHERE a.address_key = own.address)))
    FROM (SELECT (SELECT lower(p.email) FROM people.people p WHERE p.id = $1) AS address) AS own
$$;

-- ---- Retention: see people.retention_rules --------------------------------------------------

-- Returns the time before which rows of a rule are deleted: that of the rule, or an earlier one, so
-- that they are kept for as long as the limits of requests count back.
CREATE OR REPLACE FUNCTION accounts.kept_before(rule text, before timestamptz, at_least interval)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT $2 - greatest($3 - (SELECT r.keep FROM people.retention_rules r WHERE r.name = $1),
        interval '0')
$$;

-- Deletes codes that expired before a time.
CREATE OR REPLACE FUNCTION accounts.forget_codes(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept CONSTANT timestamptz := accounts.kept_before('accounts.codes', before, '1 hour');
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.codes c WHERE c.expires_at < kept
            LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.codes c WHERE c.id IN (
        SELECT f.id FROM accounts.codes f WHERE f.expires_at < kept
        ORDER BY f.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;

-- Deletes reset links and invitations that ended or expired before a time.
CREATE OR REPLACE FUNCTION accounts.forget_links(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept CONSTANT timestamptz := accounts.kept_before('accounts.links', before, '1 day');
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.links l
            WHERE least(l.ended_at, l.expires_at) < kept LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.links l WHERE l.id IN (
        SELECT f.id FROM accounts.links f WHERE least(f.ended_at, f.expires_at) < kept
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
    PERFORM CASE r.name
            WHEN 'accounts.codes' THEN accounts.forget_codes(at - r.keep, 20, false)
            WHEN 'accounts.links' THEN accounts.forget_links(at - r.keep, 20, false)
            WHEN 'accounts.addresses' THEN accounts.forget_addresses(at - r.keep, 20, false)
        END
    FROM people.retention_rules r WHERE r.module = 'accounts';
    -- A key is used for an hour, and its codes are good for an hour at most.
    DELETE FROM accounts.code_keys k WHERE k.id IN (
        SELECT f.id FROM accounts.code_keys f WHERE f.made_at < at - interval '3 hours'
        LIMIT 20 FOR UPDATE SKIP LOCKED);
END $$;
