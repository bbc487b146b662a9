-- What the module knows of a person: whether they object to a transfer.

CREATE OR REPLACE FUNCTION custody.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM custody.objections o WHERE o.person_id = person;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN QUERY SELECT 'custody.objections', 'deleted', deleted, NULL::text;
END $$;

CREATE OR REPLACE FUNCTION custody.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_object_agg('objections', rows), '{}')
    FROM (SELECT jsonb_agg(to_jsonb(o)) AS rows FROM custody.objections o
        WHERE o.person_id = person) f
    WHERE rows IS NOT NULL
$$;
