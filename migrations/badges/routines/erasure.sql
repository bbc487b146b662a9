-- Erasing a person, and reading what is known of one; see people.holders.

-- Deletes the badges and counts of a person.
CREATE OR REPLACE FUNCTION badges.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    counts bigint;
    badges bigint;
BEGIN
    -- In the order in which a deed locks them.
    DELETE FROM badges.counts c WHERE c.person_id = person;
    GET DIAGNOSTICS counts = ROW_COUNT;
    DELETE FROM badges.badges b WHERE b.person_id = person;
    GET DIAGNOSTICS badges = ROW_COUNT;
    RETURN QUERY VALUES
        ('badges.badges', 'deleted', badges, NULL),
        ('badges.counts', 'deleted', counts, NULL);
END $$;

-- All that this module knows of a person.
CREATE OR REPLACE FUNCTION badges.personal_data(person bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'badges', coalesce((SELECT jsonb_agg(jsonb_build_object('kind', b.kind,
                'title', k.title, 'establishment', e.name, 'level', b.level,
                'earned_at', people.written(b.earned_at))
                ORDER BY b.earned_at, b.kind, b.establishment_id, b.level)
            FROM badges.badges b JOIN badges.kinds k ON k.kind = b.kind
            LEFT JOIN establishments.establishments e ON e.id = b.establishment_id
            WHERE b.person_id = person), '[]'),
        'counts', coalesce((SELECT jsonb_agg(jsonb_build_object('kind', c.kind,
                'title', k.title, 'establishment', e.name, 'deeds', c.deeds)
                ORDER BY c.kind, c.establishment_id)
            FROM badges.counts c JOIN badges.kinds k ON k.kind = c.kind
            LEFT JOIN establishments.establishments e ON e.id = c.establishment_id
            WHERE c.person_id = person), '[]'));
END $$;
