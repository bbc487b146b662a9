-- Invitations that are declined: the inviter can mail no other one to the address.

-- The hash of an address, as accounts.declined has it.
CREATE OR REPLACE FUNCTION accounts.address_hash(address_key text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(address_key, 'UTF8'));

-- Whether the owner of an address has declined an invitation of a person.
CREATE OR REPLACE FUNCTION accounts.has_declined(inviter bigint, address_key text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM accounts.declined d
        WHERE d.inviter_id = $1 AND d.address_hash = accounts.address_hash($2))
$$;

CREATE OR REPLACE FUNCTION accounts.decline_invitation(
    token text, OUT reason text, OUT inviter bigint, OUT app text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    link accounts.links;
BEGIN
    link := accounts.link_of(token, true);
    reason := accounts.link_state(link, 'invitation', at);
    IF reason IN ('unknown', 'used') THEN
        RETURN;
    END IF;
    reason := 'ok';
    inviter := link.inviter_id;
    app := link.app;
    UPDATE accounts.links l SET ended_at = at, end_reason = 'declined'
    WHERE l.id = link.id AND l.ended_at IS NULL;
    INSERT INTO accounts.declined (inviter_id, address_hash, declined_at)
    VALUES (link.inviter_id, accounts.address_hash(link.address_key), at)
    ON CONFLICT DO NOTHING;
    PERFORM accounts.call_off(NULL, ARRAY[link.id], 'the invitation was declined');
END $$;
COMMENT ON FUNCTION accounts.decline_invitation(text) IS $doc$
Declines an invitation, also one that is over: it can be accepted no more, and for 13 months no
invitation or reminder of the same person is mailed to the address. The inviter does not learn of
it: invite answers ok. Call it when the person confirms, as mail programs open links by themselves.

Arguments:
  token: the token of the link
Returns:
  reason: ok, or why it is not declined
  inviter: the person who has invited
  app: the app
Reasons:
  ok: declined now or before
  unknown: there is no such invitation, or it was deleted a day after its end
  used: it was accepted
Repeated: Answers the same and changes nothing, until the invitation is deleted, a day after its
  end; then answers unknown.
Sample:
  SELECT reason FROM accounts.decline_invitation(
      token => 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s');
$doc$;

-- Deletes what was declined before a time; see people.retention_rules.
CREATE OR REPLACE FUNCTION accounts.forget_declined(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM accounts.declined d
            WHERE d.declined_at < before LIMIT max_rows) AS f);
    END IF;
    DELETE FROM accounts.declined d WHERE (d.inviter_id, d.address_hash) IN (
        SELECT f.inviter_id, f.address_hash FROM accounts.declined f WHERE f.declined_at < before
        ORDER BY f.declined_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;
