-- Counting deeds, and awarding the badges that they earn.

-- Counts a deed of a person, and awards the badges of the levels that it reaches. Modules call it
-- in the transaction of the deed, once for each deed: two at once wait for each other, on the rows
-- of the person alone, and the order of the kinds keeps them from a deadlock. A transaction with
-- deeds of several people counts them in the order of their ids.
--   deed           as in badges.kinds; another counts for nothing
--   establishment  where it was done
CREATE OR REPLACE FUNCTION badges.count_deed(person bigint, deed text, establishment bigint)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    earned badges.counts;
BEGIN
    FOR earned IN
        INSERT INTO badges.counts AS c (person_id, kind, establishment_id, deeds, next_level)
        SELECT person, k.kind, CASE WHEN k.by_establishment THEN establishment ELSE 0 END, 1,
            k.levels[1]
        FROM badges.kinds k WHERE k.deed = deed ORDER BY k.kind
        ON CONFLICT ON CONSTRAINT counts_pkey DO UPDATE SET deeds = c.deeds + 1
        RETURNING c.*
    LOOP
        -- Most deeds reach no level, and cost one statement.
        IF earned.deeds >= earned.next_level THEN
            PERFORM badges.award(earned);
        END IF;
    END LOOP;
END $$;

-- Awards the badges that a count earns and the person lacks; returns how many. A job notifies the
-- person, of the highest one if they are several. The caller holds the lock on the count.
CREATE OR REPLACE FUNCTION badges.award(reached badges.counts) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    awarded CONSTANT int[] := badges.insert_levels(reached);
BEGIN
    UPDATE badges.counts c SET next_level = (
        SELECT min(l) FROM badges.kinds k CROSS JOIN unnest(k.levels) AS l
        WHERE k.kind = reached.kind AND l > reached.deeds)
    WHERE c.person_id = reached.person_id AND c.kind = reached.kind
      AND c.establishment_id = reached.establishment_id;
    IF awarded <> '{}' THEN
        -- A job that is due at once notifies workers, for which commits wait for each other.
        PERFORM errand.enqueue_own('badges.earned', jsonb_build_object(
            'person_id', reached.person_id, 'kind', reached.kind,
            'establishment_id', reached.establishment_id,
            'level', (SELECT max(l) FROM unnest(awarded) AS l)), delay => '5 seconds');
    END IF;
    RETURN cardinality(awarded);
END $$;

-- Inserts the badges of the levels that a count has reached; returns the new ones.
CREATE OR REPLACE FUNCTION badges.insert_levels(reached badges.counts) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE
    awarded int[];
BEGIN
    WITH added AS (
        INSERT INTO badges.badges AS b (person_id, kind, establishment_id, level, earned_at)
        SELECT reached.person_id, k.kind, reached.establishment_id, l, clock_timestamp()
        FROM badges.kinds k CROSS JOIN unnest(k.levels) AS l
        WHERE k.kind = reached.kind AND l <= reached.deeds ORDER BY l
        ON CONFLICT DO NOTHING RETURNING b.level
    )
    SELECT coalesce(array_agg(a.level), '{}') INTO awarded FROM added a;
    RETURN awarded;
END $$;

-- Counts a deed no more that was reversed, in the transaction of the reversal. The badges that it
-- earned stay.
CREATE OR REPLACE FUNCTION badges.uncount_deed(person bigint, deed text, establishment bigint)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of text;
BEGIN
    -- One by one, in the order in which count_deed() locks them.
    FOR of IN SELECT k.kind FROM badges.kinds k WHERE k.deed = deed ORDER BY k.kind LOOP
        UPDATE badges.counts c SET deeds = c.deeds - 1
        FROM badges.kinds k
        WHERE k.kind = of AND c.person_id = person AND c.kind = of AND c.deeds > 0
          AND c.establishment_id = CASE WHEN k.by_establishment THEN establishment ELSE 0 END;
    END LOOP;
END $$;
