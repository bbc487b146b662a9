-- The privileges in the schema people.

SELECT errand.grant_rights('people', '{"people": ["email", "unsubscribe_token"],
    "erasures": ["reason", "kept_reason"], "exports": ["request_hash"]}');

-- Calls that run with the owner's rights are composed of these tables.
REVOKE INSERT, UPDATE, DELETE ON people.holders, people.retention_rules,
    people.unused_notifiers, people.seeing FROM errand_worker;
-- Written by functions of the owner only.
REVOKE INSERT, UPDATE, DELETE ON people.erasures, people.erasure_steps, people.erasure_counts,
    people.certificates, people.job_sweeps FROM errand_worker;
-- They call functions of modules that move money, and need the owner's login.
REVOKE EXECUTE ON FUNCTION people.block(bigint, boolean),
    people.open_erasure(bigint, text, text, bytea, interval), people.block_under_age(bigint),
    people.keep(bigint, text, text), people.suppress(bigint[], timestamptz[]),
    people.personal_data(bigint),
    people.end_erasure(bigint), people.erase_live_job(bigint),
    people.warn_unused(timestamptz, int, boolean), people.erase_unused(timestamptz, int, boolean)
FROM errand_worker;
REVOKE EXECUTE ON FUNCTION people.personal_data(bigint) FROM errand_inspector;
-- What a worker's jobs do: they run with the owner's rights, a step at a time.
GRANT EXECUTE ON FUNCTION people.erase_step(bigint), people.note_failure(bigint, text),
    people.sweep_jobs(int), people.run_rule(text, int, boolean, timestamptz) TO errand_worker;

GRANT USAGE ON SCHEMA people TO errand_app;
-- These functions run with the rights of the owner, as app servers may not read or write the
-- tables.
GRANT EXECUTE ON FUNCTION
    people.put_person(bigint, jsonb),
    people.facts_of(bigint),
    people.touch(bigint),
    people.record_consent(bigint, text, text, timestamptz),
    people.withdraw_consent(bigint, text),
    people.consents_of(bigint),
    people.request_erasure(bigint, text, text),
    people.erasure_of(bigint),
    people.export_data(bigint, text)
TO errand_app;
