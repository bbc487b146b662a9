-- The recount: it repairs the counts and badges that are missing, from the modules that know the
-- deeds. It lowers no count, as modules forget deeds with time, and takes no badge away.

-- The deeds of the people with an id above after, up to until, as the modules know them. An erasure
-- under way may have deleted the badges already, and not yet the deeds.
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
        JOIN people.people p ON p.id = d.person_id AND p.blocked_at IS NULL
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

-- Whether a count lacks a badge.
CREATE OR REPLACE FUNCTION badges.lacks(counted badges.counts, levels int[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM unnest(levels) AS l
        WHERE l <= counted.deeds AND NOT EXISTS (SELECT FROM badges.badges b
            WHERE b.person_id = counted.person_id AND b.kind = counted.kind
              AND b.establishment_id = counted.establishment_id AND b.level = l));
END $$;

-- Recounts the deeds of the people with an id above after, up to until. It notifies nobody: their
-- deeds may be years old. Call it in a transaction of its own.
--
-- The first statement locks the counts to repair, in the order in which deeds lock them, and
-- changes none. So the second one sees all deeds that those counts have.
CREATE OR REPLACE FUNCTION badges.recount(
    after bigint, until bigint, OUT corrected bigint, OUT awarded bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    corrected := 0;
    awarded := 0;
    INSERT INTO badges.counts AS c (person_id, kind, establishment_id, deeds)
    SELECT w.person_id, w.kind, w.establishment_id, 0
    FROM (
        SELECT s.person_id, s.kind, s.establishment_id
        FROM badges.sourced(after, until) s
        LEFT JOIN badges.counts c USING (person_id, kind, establishment_id)
        WHERE s.deeds > coalesce(c.deeds, 0)
        UNION
        SELECT c.person_id, c.kind, c.establishment_id
        FROM badges.counts c JOIN badges.kinds k ON k.kind = c.kind
        WHERE c.person_id > after AND c.person_id <= until AND badges.lacks(c, k.levels)
    ) AS w
    ORDER BY w.person_id, w.kind, w.establishment_id
    ON CONFLICT ON CONSTRAINT counts_pkey DO UPDATE SET deeds = c.deeds;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE badges.counts c SET deeds = s.deeds
    FROM badges.sourced(after, until) s
    WHERE c.person_id = s.person_id AND c.kind = s.kind
      AND c.establishment_id = s.establishment_id AND c.deeds < s.deeds;
    GET DIAGNOSTICS corrected = ROW_COUNT;
    INSERT INTO badges.badges AS b
        (person_id, kind, establishment_id, level, earned_at, notice_due)
    SELECT c.person_id, c.kind, c.establishment_id, l, clock_timestamp(), false
    FROM badges.counts c JOIN badges.kinds k ON k.kind = c.kind
    CROSS JOIN unnest(k.levels) AS l
    WHERE c.person_id > after AND c.person_id <= until AND l <= c.deeds
    ORDER BY c.person_id, c.kind, c.establishment_id, l
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS awarded = ROW_COUNT;
END $$;

-- Goes on with a recount of all people, or with the one that is under way, or starts one: at most
-- max_people of them, in a transaction of their own. A recount that was interrupted goes on where
-- it was. The results are those of the recount so far.
CREATE OR REPLACE FUNCTION badges.recount_next(
    max_people int, recount bigint DEFAULT NULL,
    OUT id bigint, OUT is_over boolean, OUT people bigint, OUT corrected bigint, OUT awarded bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    going badges.recounts;
    page record;
    corrected_now bigint := 0;
    awarded_now bigint := 0;
BEGIN
    -- Two that go on with the same one take turns.
    SELECT * INTO going FROM badges.recounts r WHERE r.id = recount FOR UPDATE;
    WHILE going.id IS NULL LOOP
        INSERT INTO badges.recounts (started_at) VALUES (clock_timestamp())
        ON CONFLICT DO NOTHING;
        -- None is found if another one has just ended it.
        SELECT * INTO going FROM badges.recounts r WHERE r.ended_at IS NULL FOR UPDATE;
    END LOOP;
    id := going.id;
    is_over := going.ended_at IS NOT NULL;
    IF NOT is_over THEN
        SELECT * INTO page FROM badges.next_people(going.after, max_people);
        is_over := page.until IS NULL;
        IF NOT is_over THEN
            SELECT r.corrected, r.awarded INTO corrected_now, awarded_now
            FROM badges.recount(going.after, page.until) r;
        END IF;
        UPDATE badges.recounts r
        SET after = coalesce(page.until, r.after), people = r.people + page.people,
            corrected = r.corrected + corrected_now, awarded = r.awarded + awarded_now,
            ended_at = CASE WHEN is_over THEN greatest(r.started_at, clock_timestamp()) END
        WHERE r.id = id RETURNING r.* INTO going;
    END IF;
    people := going.people;
    corrected := going.corrected;
    awarded := going.awarded;
    DELETE FROM badges.recounts r WHERE is_over AND r.id IN (
        SELECT o.id FROM badges.recounts o ORDER BY o.id DESC OFFSET 30);
END $$;
