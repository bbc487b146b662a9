-- The recount: it repairs the counts and badges that are missing, from the modules that know the
-- deeds. It lowers no count, as modules forget deeds with time, and takes no badge away.

-- The deeds of the people with an id above after, up to until, as the modules know them.
CREATE OR REPLACE FUNCTION badges.sourced(after bigint, until bigint)
RETURNS TABLE (person_id bigint, kind text, establishment_id bigint, deeds bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    sources CONSTANT text := (SELECT string_agg(
        format('SELECT %L, s.* FROM %I.%I(%L, $1, $2) AS s (person_id, establishment_id, deeds)',
            s.deed, s.module, s.routine, s.deed), ' UNION ALL ') FROM badges.sources s);
BEGIN
    IF sources IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($query$
        SELECT d.person_id, k.kind, e.establishment_id, sum(d.deeds)::bigint
        FROM (%s) AS d (deed, person_id, establishment_id, deeds)
        JOIN badges.kinds k ON k.deed = d.deed
        CROSS JOIN LATERAL (
            SELECT CASE WHEN k.by_establishment THEN d.establishment_id ELSE 0 END) AS e
            (establishment_id)
        GROUP BY 1, 2, 3 $query$, sources) USING after, until;
END $$;

-- The next people behind an id: the last of them, and how many they are; null if there are none.
CREATE OR REPLACE FUNCTION badges.next_people(
    after bigint, max_people int, OUT until bigint, OUT people bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT max(n.id), count(*) INTO until, people
    FROM (SELECT p.id FROM people.people p WHERE p.id > after ORDER BY p.id LIMIT max_people) AS n;
END $$;

-- Whether a count lacks a badge, or names another level as the next one.
CREATE OR REPLACE FUNCTION badges.lacks(counted badges.counts, levels int[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN counted.next_level IS DISTINCT FROM (
            SELECT min(l) FROM unnest(levels) AS l WHERE l > counted.deeds)
        OR EXISTS (SELECT FROM unnest(levels) AS l
            WHERE l <= counted.deeds AND NOT EXISTS (SELECT FROM badges.badges b
                WHERE b.person_id = counted.person_id AND b.kind = counted.kind
                  AND b.establishment_id = counted.establishment_id AND b.level = l));
END $$;

-- Recounts the deeds of the people with an id above after, up to until. Call it in a transaction
-- of its own.
--
-- The first statement locks the counts to repair, in the order in which deeds lock them, and
-- changes none. So the second one sees all deeds that those counts have.
CREATE OR REPLACE FUNCTION badges.recount(
    after bigint, until bigint, OUT corrected bigint, OUT awarded bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted badges.counts;
BEGIN
    corrected := 0;
    awarded := 0;
    INSERT INTO badges.counts AS c (person_id, kind, establishment_id, deeds, next_level)
    SELECT w.person_id, k.kind, w.establishment_id, 0, k.levels[1]
    FROM (
        SELECT s.person_id, s.kind, s.establishment_id
        FROM badges.sourced(after, until) s
        LEFT JOIN badges.counts c USING (person_id, kind, establishment_id)
        WHERE s.deeds > coalesce(c.deeds, 0)
        UNION
        SELECT c.person_id, c.kind, c.establishment_id
        FROM badges.counts c JOIN badges.kinds k ON k.kind = c.kind
        WHERE c.person_id > after AND c.person_id <= until AND badges.lacks(c, k.levels)
    ) AS w JOIN badges.kinds k ON k.kind = w.kind
    ORDER BY w.person_id, k.kind, w.establishment_id
    ON CONFLICT ON CONSTRAINT counts_pkey DO UPDATE SET deeds = c.deeds;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE badges.counts c SET deeds = s.deeds
    FROM badges.sourced(after, until) s
    WHERE c.person_id = s.person_id AND c.kind = s.kind
      AND c.establishment_id = s.establishment_id AND c.deeds < s.deeds;
    GET DIAGNOSTICS corrected = ROW_COUNT;
    FOR counted IN
        SELECT c.* FROM badges.counts c JOIN badges.kinds k ON k.kind = c.kind
        WHERE c.person_id > after AND c.person_id <= until AND badges.lacks(c, k.levels)
        ORDER BY c.person_id, c.kind, c.establishment_id
    LOOP
        awarded := awarded + badges.award(counted);
    END LOOP;
END $$;

-- Keeps what a recount of all people found, for `errand doctor`.
CREATE OR REPLACE FUNCTION badges.note_recount(
    started_at timestamptz, people bigint, corrected bigint, awarded bigint
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    recount bigint;
BEGIN
    INSERT INTO badges.recounts AS r (started_at, ended_at, people, corrected, awarded)
    VALUES (started_at, greatest(started_at, clock_timestamp()), people, corrected, awarded)
    RETURNING r.id INTO recount;
    DELETE FROM badges.recounts r WHERE r.id <= recount - 30;
END $$;
