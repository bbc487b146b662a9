-- Privileges in the schema surveys.

SELECT errand.grant_rights('surveys', '{
    "completions": ["answers", "request_id"],
    "invitations": ["request_id"],
    "receipts": ["hash"],
    "reviews": ["note"],
    "receipt_keys": ["sealed"],
    "open_receipt_keys": ["inner_block", "outer_block"],
    "respondent_keys": ["key"]
}');

-- Workers write the tables of keys alone. Sweeps, samples, reviews, surveys that operators put, and
-- all that apps do run with the rights of the owner.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA surveys FROM errand_worker;
GRANT INSERT, UPDATE, DELETE ON surveys.receipt_keys, surveys.open_receipt_keys TO errand_worker;
REVOKE SELECT ON surveys.respondent_keys FROM errand_worker;
REVOKE ALL ON FUNCTION
    surveys.respondent(bigint, bigint),
    surveys.is_genuine(bigint, text, text, timestamptz),
    surveys.is_unsure(text[], text, timestamptz)
FROM errand_inspector;
GRANT EXECUTE ON FUNCTION
    surveys.expire(int, timestamptz),
    surveys.sample(int, timestamptz),
    surveys.review(bigint, text, text, text, timestamptz)
TO errand_worker;
-- Operators.
GRANT EXECUTE ON FUNCTION
    surveys.put_survey(bigint, bigint, text, int, int, bigint, bigint, text, text, int, jsonb,
        boolean),
    surveys.close_survey(bigint)
TO errand_worker;
GRANT EXECUTE ON FUNCTION surveys.keys_of(bigint), surveys.health(timestamptz, timestamptz)
TO errand_worker, errand_inspector;

-- errand_app is for the app's servers, which read no table.
GRANT USAGE ON SCHEMA surveys TO errand_app;
GRANT EXECUTE ON FUNCTION
    surveys.put_survey(bigint, bigint, text, int, int, bigint, bigint, text, text, int, jsonb,
        boolean),
    surveys.close_survey(bigint),
    surveys.scan(bigint, text, text),
    surveys.invite(bigint, bigint, text, text),
    surveys.listing(bigint, int),
    surveys.questions_of(bigint, bigint),
    surveys.complete(bigint, bigint, jsonb, int, text)
TO errand_app;
