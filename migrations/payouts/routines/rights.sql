-- Privileges in the schema payouts.

SELECT errand.grant_rights('payouts', '{
    "bank_details": ["sealed"],
    "payees": ["name", "address"],
    "items": ["payee", "address", "sealed"]
}');

-- Money leaves by people alone. Jobs close a quarter by functions that run with the owner's rights
-- and check what they are given; workers write no table here. So their login neither approves a
-- run nor renames a payee, nor moves the end of a quarter.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA payouts FROM errand_worker;
REVOKE USAGE ON ALL SEQUENCES IN SCHEMA payouts FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA payouts
    REVOKE INSERT, UPDATE, DELETE ON TABLES FROM errand_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA payouts REVOKE USAGE ON SEQUENCES FROM errand_worker;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA payouts FROM errand_worker;
GRANT EXECUTE ON FUNCTION
    payouts.run_of(text, timestamptz, text, date),
    payouts.preview(bigint, text),
    payouts.begin_close(bigint, timestamptz, int, text),
    payouts.close_chunk(bigint, int),
    payouts.end_close(bigint),
    -- These only read.
    payouts.deviation(bigint),
    payouts.place_of(payouts.payout_state)
TO errand_worker;
-- Only issuers need bank details.
REVOKE ALL ON payouts.bank_details, payouts.items FROM errand_worker;
GRANT SELECT (person_id, given_at, refused_at, country, hint, refused_for)
    ON payouts.bank_details TO errand_worker;
GRANT SELECT (file_id, payout_id, person_id, given_at, lines) ON payouts.items TO errand_worker;

GRANT USAGE ON SCHEMA payouts TO errand_app;
GRANT EXECUTE ON FUNCTION
    payouts.set_payee(bigint, text, text[]),
    payouts.set_bank_details(bigint, text, bytea, text),
    payouts.forget_bank_details(bigint),
    payouts.of_person(bigint, int),
    payouts.next_pay_date(),
    payouts.standing(bigint),
    payouts.forfeit(bigint, text)
TO errand_app;
