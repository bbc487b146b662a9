-- Privileges in the schema reports.

SELECT errand.grant_rights('reports', '{
    "contacts": ["email", "email_key"],
    "postal_prefixes": ["prefix"],
    "revisions": ["prints"]
}');

-- Only operators note payments and change settings.
REVOKE INSERT, UPDATE, DELETE ON reports.payments, reports.settings, reports.contacts,
    reports.postal_prefixes FROM errand_worker;
REVOKE SELECT ON reports.postal_prefixes FROM errand_worker;
REVOKE ALL ON FUNCTION reports.note_payment(bigint, bigint, text, text, text, timestamptz),
    reports.correct_payment(bigint, text, text, text) FROM errand_worker;
-- They run with their owner's rights, as they read answers.
GRANT EXECUTE ON FUNCTION reports.figures(bigint), reports.groups_of(bigint),
    reports.statement_lines(bigint), reports.people_of(text, bigint[]) TO errand_worker;

GRANT USAGE ON SCHEMA reports TO errand_app;
GRANT EXECUTE ON FUNCTION
    reports.put_settings(bigint, text),
    reports.put_contact(bigint, text, text),
    reports.remove_contact(bigint, text),
    reports.contacts_of(bigint),
    reports.put_postal_prefix(bigint, text),
    reports.listing(bigint, bigint, int)
TO errand_app;
