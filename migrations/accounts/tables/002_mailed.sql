-- Which requests were mailed, and where links must not lead.
--
-- A correction of what 001 says: the words of a mail are not sealed. They stand in clear in an
-- unlogged table of the module notification until the delivery ends, so that no WAL, base backup or
-- replica has them; a dump has them unless it is taken with --no-unlogged-table-data.

-- Whether there was somebody to mail it to. The functions for apps do not reveal it.
ALTER TABLE accounts.codes ADD is_mailed boolean NOT NULL
    GENERATED ALWAYS AS (mac IS NOT NULL) STORED;
ALTER TABLE accounts.links ADD is_mailed boolean NOT NULL
    GENERATED ALWAYS AS (token_hash IS NOT NULL OR reminder_hash IS NOT NULL) STORED;

-- The links that the module notification refuses.
ALTER TABLE accounts.link_templates ADD CONSTRAINT link_templates_scheme
    CHECK (template !~ '^(javascript|data|vbscript):');

-- At least, as the limits of requests are counted from these rows: accounts.kept_before().
UPDATE people.retention_rules r SET description = r.description || '; at least ' || f.floor
FROM (VALUES ('accounts.codes', 'an hour'), ('accounts.links', 'a day')) AS f (name, floor)
WHERE r.name = f.name;

-- An index of an expression has no statistics before: accounts.person_of() needs them.
ANALYZE people.people;

-- With another argument, they are created again.
DROP FUNCTION IF EXISTS accounts.check_code_at(text, text, text, text, text, timestamptz);
DROP FUNCTION IF EXISTS accounts.check_code(text, text, text, text, text);
