-- Privileges in the schema inquiries.

SELECT errand.grant_rights('inquiries', '{"messages": ["text"]}');

-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON inquiries.rules FROM errand_worker;

GRANT USAGE ON SCHEMA inquiries TO errand_app;
GRANT EXECUTE ON FUNCTION
    inquiries.ask(bigint, text, bigint, text),
    inquiries.say(bigint, bigint, text, text),
    inquiries.of_person(bigint, bigint, int),
    inquiries.messages(bigint, bigint, bigint, int)
TO errand_app;
