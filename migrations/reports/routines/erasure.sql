-- Erasing a person, and reading what is known of one; see people.holders.

-- Deletes what is known of a person. Reports name nobody, so that their files stay.
CREATE OR REPLACE FUNCTION reports.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    gone bigint;
BEGIN
    DELETE FROM reports.postal_prefixes x WHERE x.person_id = person;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY VALUES ('reports.postal_prefixes', 'deleted', gone, NULL);
END $$;

-- All that this module knows of a person.
CREATE OR REPLACE FUNCTION reports.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('postal_prefixes', coalesce((
        SELECT jsonb_agg(jsonb_build_object('prefix', x.prefix)) FROM reports.postal_prefixes x
        WHERE x.person_id = person), '[]'));
END $$;
