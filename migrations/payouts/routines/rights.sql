-- Privileges in the schema payouts.

SELECT errand.grant_rights('payouts', '{
    "bank_details": ["sealed"],
    "payees": ["name", "address"],
    "items": ["payee", "address", "sealed"]
}');

-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON payouts.rules FROM errand_worker;
-- Append-only; triggers enforce it for the owner too.
REVOKE UPDATE, DELETE ON payouts.changes FROM errand_worker;
-- Jobs close a quarter but never issue it: only issuers need bank details.
REVOKE ALL ON payouts.bank_details, payouts.items FROM errand_worker;
GRANT SELECT (person_id, given_at, refused_at, country, hint, refused_for)
    ON payouts.bank_details TO errand_worker;
GRANT SELECT (file_id, payout_id, person_id, given_at, lines) ON payouts.items TO errand_worker;
-- Only operators pay out money.
REVOKE ALL ON FUNCTION
    payouts.approve(bigint, text, text, boolean),
    payouts.begin_issue(bigint, date, date, text),
    payouts.freeze(bigint, payouts.method, text, text, bigint, bigint[], timestamptz[],
        timestamptz[], text),
    payouts.take_numbers(payouts.method, text, bigint, int),
    payouts.list_items(payouts.issues, payouts.files, bigint, bigint[], timestamptz[],
        timestamptz[]),
    payouts.publish(bigint, text),
    payouts.settle(bigint, bigint[], text, text),
    payouts.take_back(bigint, text, text, boolean, text),
    payouts.take_return(bigint, text, text, boolean, text),
    payouts.hold(bigint, text, text, boolean),
    payouts.release(bigint, text, text),
    payouts.reissue(bigint, payouts.method, text, text),
    payouts.void(bigint, text, text)
FROM errand_worker;

GRANT USAGE ON SCHEMA payouts TO errand_app;
GRANT EXECUTE ON FUNCTION
    payouts.set_payee(bigint, text, text[]),
    payouts.set_bank_details(bigint, text, bytea, text),
    payouts.forget_bank_details(bigint),
    payouts.of_person(bigint, int)
TO errand_app;
