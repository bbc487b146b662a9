-- What all requests have in common: the address, the account, the limits.

-- Raises an error unless the arguments of a request are valid; returns the address for comparison.
-- The text of an error has no address, which is personal.
CREATE OR REPLACE FUNCTION accounts.expect_request(
    address text, app text, request_id text, caller text, locale text
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(
        address ~ '^(?=.{3,254}$)[^[:cntrl:]]*[^@[:space:][:cntrl:]]@[^@[:space:][:cntrl:]]+$',
        'address: expected a mail address of at most 254 characters');
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100 AND request_id !~ '[[:cntrl:]]',
        'request_id: expected 1 to 100 characters in one line, the same for a repeated request');
    PERFORM errand.expect(
        coalesce(length(caller) BETWEEN 1 AND 200 AND caller !~ '[[:cntrl:]]', true),
        'caller: expected 1 to 200 characters in one line, or null');
    PERFORM errand.expect(locale ~ '^[a-z]{2,3}([-_][A-Za-z]{2})?$',
        'locale: expected such as en or fr-CA');
    PERFORM accounts.expect_app(app);
    RETURN lower(address);
END $$;

CREATE OR REPLACE FUNCTION accounts.expect_app(app text) RETURNS void LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM notification.apps a WHERE a.name = app) THEN
        RAISE EXCEPTION 'app %: expected one of %', coalesce(app, 'null'),
            (SELECT string_agg(a.name, ', ' ORDER BY a.name) FROM notification.apps a)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Raises an error: this request is known with other content.
CREATE OR REPLACE FUNCTION accounts.refuse_request(request_id text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the request % is known with other content', request_id
        USING ERRCODE = 'unique_violation', HINT = 'Give each request an id of its own.';
END $$;

-- Locks an address until the transaction ends, so that its requests are counted one by one.
CREATE OR REPLACE FUNCTION accounts.lock_address(address_key text, at timestamptz) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO accounts.addresses AS a VALUES ($1, $2)
    ON CONFLICT ON CONSTRAINT addresses_pkey DO UPDATE
    SET requested_at = greatest(a.requested_at, excluded.requested_at)
$$;

-- Locks a caller or an inviter, so that their requests to several addresses are counted one by one.
-- Always after the address, so that no two wait for each other. A row, because any login may take
-- an advisory lock; its key has no @, so that it is no address, and does not name the caller.
CREATE OR REPLACE FUNCTION accounts.lock_source(source text, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF source IS NOT NULL THEN
        PERFORM accounts.lock_address(
            'source:' || encode(sha256(convert_to(source, 'UTF8')), 'hex'), at);
    END IF;
END $$;

-- Why an address or a caller has to wait, and until when; 'ok' if not.
--   sent_to, sent_by   the times of the requests of the period, of the address and the caller
CREATE OR REPLACE FUNCTION accounts.limit_of(
    sent_to timestamptz[], most_to int, sent_by timestamptz[], most_by int, period interval,
    OUT reason text, OUT ask_again_at timestamptz
) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    reason := 'ok';
    IF cardinality(sent_to) >= most_to THEN
        reason := 'too_many_for_address';
        -- When fewer than that are younger than the period.
        ask_again_at := (SELECT t + period FROM unnest(sent_to) t ORDER BY t DESC
            OFFSET most_to - 1 LIMIT 1);
    ELSIF cardinality(sent_by) >= most_by THEN
        reason := 'too_many_for_caller';
        ask_again_at := (SELECT t + period FROM unnest(sent_by) t ORDER BY t DESC
            OFFSET most_by - 1 LIMIT 1);
    END IF;
END $$;

-- Whether somebody may have codes, links and invitations.
CREATE OR REPLACE FUNCTION accounts.is_served(person bigint, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE
RETURN people.obstacle(person, at) IN ('none', 'no_birth_date');

-- The account of an address: that of the oldest person, if several have it. Null if there is none,
-- or if the person gets no notices, as they are to be erased or under 16.
CREATE OR REPLACE FUNCTION accounts.person_of(address_key text, at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    -- OFFSET 0: the address is always looked up by its index. Without statistics of it, the
    -- planner would rather read all people in the order of their ids.
    SELECT min(p.id)
    FROM (SELECT q.id FROM people.people q WHERE lower(q.email) = $1 OFFSET 0) AS p
    WHERE accounts.is_served(p.id, $2)
$$;

-- Whether an address belongs to people who get no notices, and to nobody else.
CREATE OR REPLACE FUNCTION accounts.is_barred(address_key text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM people.people p WHERE lower(p.email) = $1)
        AND accounts.person_of($1, $2) IS NULL
$$;

-- Whether the address of a person has refused mail: the module notification sends none to it. Who
-- waits for a code or a link gets it all the same, as a direct mail.
CREATE OR REPLACE FUNCTION accounts.is_refused(person bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM people.people p
        WHERE p.id = $1 AND p.email_refused_at IS NOT NULL)
$$;

-- Records that somebody has read a mail to an address: it takes mail again.
--
-- Skips people whom another transaction has locked, as the caller holds a code or a link for which
-- that transaction may wait. Then the next code or link clears the refusal.
CREATE OR REPLACE FUNCTION accounts.note_reached(address_key text) RETURNS void LANGUAGE sql AS $$
    UPDATE people.people p
    SET email_refused_at = NULL, email_bounces = '{}', email_bounced_at = NULL
    WHERE p.id IN (SELECT q.id FROM people.people q
        WHERE lower(q.email) = $1 AND (q.email_refused_at IS NOT NULL OR q.email_bounces <> '{}')
        FOR NO KEY UPDATE SKIP LOCKED)
$$;

-- Calls off the mails of codes and links that were not sent yet. A mail that is being sent may
-- still arrive.
CREATE OR REPLACE FUNCTION accounts.call_off(codes bigint[], links bigint[], why text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    keys CONSTANT text[] := ARRAY(
        SELECT 'account.code:' || c FROM unnest(codes) AS c
        UNION ALL
        SELECT of.kind || l || of.ending FROM unnest(links) AS l, (VALUES
            ('account.reset_link:', ''), ('account.invitation:', ''),
            ('account.invitation:', ':reminder')) AS of (kind, ending));
BEGIN
    IF keys <> '{}' THEN
        PERFORM notification.call_off_events(keys, why);
    END IF;
END $$;

-- Ends the codes and reset links of a person: links before codes, as everywhere, so that no two
-- transactions wait for each other.
CREATE OR REPLACE FUNCTION accounts.end_all(person bigint, reason text, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    codes bigint[];
    links bigint[];
BEGIN
    WITH ended AS (
        UPDATE accounts.links l SET ended_at = at, end_reason = reason
        WHERE l.person_id = person AND l.kind = 'reset' AND l.ended_at IS NULL RETURNING l.id
    )
    SELECT array_agg(e.id) INTO links FROM ended e;
    WITH ended AS (
        UPDATE accounts.codes c SET ended_at = at, end_reason = reason
        WHERE c.person_id = person AND c.ended_at IS NULL RETURNING c.id
    )
    SELECT array_agg(e.id) INTO codes FROM ended e;
    PERFORM accounts.call_off(codes, links, CASE reason
        WHEN 'address_changed' THEN 'the address has changed' ELSE 'the password was reset' END);
END $$;

-- A changed address ends what was sent to the old one.
CREATE OR REPLACE FUNCTION accounts.end_for_address() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM accounts.end_all(NEW.id, 'address_changed', clock_timestamp());
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER people_accounts AFTER UPDATE OF email ON people.people
    FOR EACH ROW WHEN (lower(OLD.email) IS DISTINCT FROM lower(NEW.email))
    EXECUTE FUNCTION accounts.end_for_address();
