-- Finding the mail addresses of erased people in texts of any form.

-- What is before each @ of a text, in lower case: the last four letters, and the last one for
-- shorter names. So a text is searched for any number of addresses at once, whatever characters are
-- in them and around them; what has the same key is compared.
CREATE OR REPLACE FUNCTION people.address_keys(written text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE AS $$
    SELECT k.key
    FROM (
        SELECT unnest(string_to_array(written, '@')) AS part WHERE position('@' IN written) > 0
    ) AS p CROSS JOIN LATERAL (
        VALUES (lower(right(p.part, 4))), (lower(right(p.part, 1)))) AS k (key)
$$;

-- The one of these keys that finds an address. A name may hold an @ in quotes.
CREATE OR REPLACE FUNCTION people.address_key(address text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT lower(right(n.name, CASE WHEN length(n.name) < 4 THEN 1 ELSE 4 END))
    FROM (SELECT split_part(address, '@', -2)) AS n (name)
$$;

-- The addresses of the people of a sweep, with the key and the form to look for: in JSON and in
-- arrays, quotes and backslashes are escaped.
--
-- Not in SQL: planned with its callers, few people would be expected, and each text be searched for
-- each of them.
CREATE OR REPLACE FUNCTION people.addresses_of(sweep bigint)
RETURNS TABLE (erasure bigint, address text, written text, key text)
LANGUAGE plpgsql STABLE ROWS 1000 AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH erased AS (
        SELECT e.id, p.email FROM people.erasures e JOIN people.people p ON p.id = e.person_id
        WHERE e.sweep_id = addresses_of.sweep AND e.state = 'running' AND p.email IS NOT NULL
    ), forms AS (
        SELECT id, email, email AS form FROM erased
        UNION ALL
        SELECT id, email, replace(replace(email, '\', '\\'), '"', '\"') FROM erased
        WHERE email ~ '["\\]'
    )
    SELECT id, lower(email), lower(form), people.address_key(form) FROM forms;
END $$;

-- The text without an address, in any case of its letters. It is none where it is the end of a
-- longer name, or the beginning of a longer domain.
CREATE OR REPLACE FUNCTION people.without_address(written text, address text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(written, '(?<![[:alnum:]._%+-])'
        || regexp_replace(address, '([\\^$.|?*+()\[\]{}-])', '\\\1', 'g')
        || '(?![[:alnum:]-]|\.[[:alnum:]])', '[erased]', 'gi')
$$;

CREATE OR REPLACE FUNCTION people.without_address(written text[], address text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN written IS NOT NULL THEN ARRAY(
        SELECT people.without_address(w.part, address)
        FROM unnest(written) WITH ORDINALITY AS w (part, n) ORDER BY w.n) END
$$;

-- The same for each text in a JSON value, so that escapes in it are no part of an address.
CREATE OR REPLACE FUNCTION people.without_address(written jsonb, address text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN CASE jsonb_typeof(written)
        WHEN 'string' THEN to_jsonb(people.without_address(written #>> '{}', address))
        WHEN 'array' THEN (
            SELECT coalesce(jsonb_agg(people.without_address(w.part, address) ORDER BY w.n), '[]')
            FROM jsonb_array_elements(written) WITH ORDINALITY AS w (part, n))
        WHEN 'object' THEN (
            SELECT coalesce(jsonb_object_agg(people.without_address(w.key, address),
                people.without_address(w.value, address)), '{}')
            FROM jsonb_each(written) AS w)
        ELSE written END;
END $$;
