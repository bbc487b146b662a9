-- Privileges in the schema accounts.

SELECT errand.grant_rights('accounts', '{
    "codes": ["address", "address_key", "caller", "salt", "mac", "used_by"],
    "links": ["address", "address_key", "inviter_name", "caller", "token_hash", "reminder_hash",
        "used_by"],
    "addresses": ["address_key"], "declined": ["address_hash"]
}');

-- Workers change codes and links by functions only, and read no hash. Operators set templates; the
-- owner sets rules.
REVOKE ALL ON accounts.codes, accounts.links, accounts.addresses, accounts.declined,
    accounts.code_keys FROM errand_worker;
REVOKE ALL ON accounts.code_keys FROM errand_inspector;
GRANT SELECT (id, request_id, app, purpose, address, address_key, locale, requested_at,
    expires_at, sent_at, is_mailed, person_id, tries, ended_at, end_reason) ON accounts.codes
TO errand_worker;
GRANT SELECT (id, request_id, kind, app, address, address_key, locale, inviter_id, requested_at,
    expires_at, sent_at, is_mailed, reminded_at, person_id, ended_at, end_reason)
    ON accounts.links
TO errand_worker;
REVOKE INSERT, UPDATE, DELETE ON accounts.rules FROM errand_worker;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA accounts FROM errand_worker;
-- The functions behind those that check codes and tokens: they guess without a limit elsewhere.
REVOKE ALL ON FUNCTION accounts.key_in_hand(bigint),
    accounts.code_mac(bigint, bigint, bytea, text) FROM errand_worker, errand_inspector;

GRANT EXECUTE ON FUNCTION
    accounts.send_code(bigint, timestamptz),
    accounts.send_link(bigint, timestamptz),
    accounts.unlock(text)
TO errand_worker;

GRANT EXECUTE ON FUNCTION accounts.tries_in(bigint), accounts.rolled_back()
    TO errand_worker, errand_inspector;

GRANT USAGE ON SCHEMA accounts TO errand_app;
GRANT EXECUTE ON FUNCTION
    accounts.issue_code(text, text, text, text, text, text),
    accounts.check_code(text, text, text, text, text, text),
    accounts.request_reset(text, text, text, text),
    accounts.open_reset(text),
    accounts.use_reset(text, text),
    accounts.invite(bigint, text, text, text, text, text),
    accounts.open_invitation(text),
    accounts.accept_invitation(text, bigint),
    accounts.decline_invitation(text),
    accounts.withdraw_invitation(bigint, bigint)
TO errand_app;
