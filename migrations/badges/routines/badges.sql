-- The badges of a person, for their app.

CREATE OR REPLACE FUNCTION badges.of_person(person bigint, max_rows int DEFAULT 200)
RETURNS TABLE (kind text, title text, establishment_id bigint, establishment text, level int,
    earned_at timestamptz, levels int[], progress int, next_level int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.kind, k.title, nullif(c.establishment_id, 0), e.name, b.levels[1], b.earned_at,
        coalesce(b.levels, '{}'), coalesce(c.deeds, 0),
        (SELECT min(l) FROM unnest(k.levels) AS l
         WHERE l > coalesce(greatest(c.deeds, b.levels[1]), 0))
    FROM badges.kinds k
    LEFT JOIN badges.counts c ON c.person_id = person AND c.kind = k.kind
    LEFT JOIN establishments.establishments e ON e.id = c.establishment_id
    LEFT JOIN LATERAL (
        SELECT array_agg(o.level ORDER BY o.level DESC) AS levels,
            (array_agg(o.earned_at ORDER BY o.level DESC))[1] AS earned_at
        FROM badges.badges o
        WHERE o.person_id = person AND o.kind = k.kind
          AND o.establishment_id = c.establishment_id
    ) AS b ON true
    WHERE c.kind IS NOT NULL OR NOT k.by_establishment AND people.is_known(person)
    ORDER BY k.kind, b.levels[1] DESC NULLS LAST, c.deeds DESC, c.establishment_id
    LIMIT greatest(max_rows, 0);
END $$;
COMMENT ON FUNCTION badges.of_person(bigint, int) IS $doc$
Lists a person's badges and how far they are from the next one: a row for each kind, and for each
establishment where a kind counts establishments apart.

Arguments:
  person: the person
  max_rows: how many at most
Returns:
  kind: coupons_used, surveys_done or regular
  title: what the app calls it
  establishment_id: the establishment of a regular; null for the other kinds
  establishment: its name
  level: the highest level that the person has; null for none yet
  earned_at: when they earned it
  levels: all levels that they have, the highest first
  progress: how many coupons or surveys count
  next_level: how many earn the next level; null after the last one
Repeated: Reads only.
Sample:
  SELECT kind, title, establishment, level, progress, next_level
  FROM badges.of_person(person => 17);
$doc$;
