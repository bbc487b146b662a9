-- Counting deeds, and awarding the badges that they earn.

-- Counts a deed of a person, and awards the badges of the levels that it reaches; the next
-- badges.notify job notifies the person. Modules call it in the transaction of the deed, once for
-- each deed: two at once wait for each other, on the rows of the person alone, and the order of the
-- kinds keeps them from a deadlock. A transaction with deeds of several people counts them in the
-- order of their ids.
--   deed           as in badges.kinds; another counts for nothing
--   establishment  where it was done
CREATE OR REPLACE FUNCTION badges.count_deed(person bigint, deed text, establishment bigint)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    WITH counted AS (
        INSERT INTO badges.counts AS c (person_id, kind, establishment_id, deeds)
        SELECT person, k.kind, CASE WHEN k.by_establishment THEN establishment ELSE 0 END, 1
        FROM badges.kinds k WHERE k.deed = deed ORDER BY k.kind
        ON CONFLICT ON CONSTRAINT counts_pkey DO UPDATE SET deeds = c.deeds + 1
        RETURNING c.kind, c.establishment_id, c.deeds
    )
    INSERT INTO badges.badges AS b
        (person_id, kind, establishment_id, level, earned_at, notice_due)
    SELECT person, n.kind, n.establishment_id, n.deeds, clock_timestamp(), true
    FROM counted n
    WHERE n.deeds = ANY ((SELECT k.levels FROM badges.kinds k WHERE k.kind = n.kind)::int[])
    -- A level that was reached before, since when a deed was reversed.
    ON CONFLICT DO NOTHING;
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

-- Takes the badges that people are yet to be notified of, the oldest first, at most max_rows of
-- them. Call it in the transaction that notifies. Of several levels of one kind only the highest
-- is worth a notice.
CREATE OR REPLACE FUNCTION badges.take_due(max_rows int)
RETURNS TABLE (person_id bigint, kind text, establishment_id bigint, level int, title text,
    establishment text, earned_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT b.person_id, b.kind, b.establishment_id, b.level FROM badges.badges b
        WHERE b.notice_due ORDER BY b.earned_at LIMIT max_rows FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE badges.badges b SET notice_due = false FROM due d
        WHERE b.person_id = d.person_id AND b.kind = d.kind
          AND b.establishment_id = d.establishment_id AND b.level = d.level
        RETURNING b.person_id, b.kind, b.establishment_id, b.level, b.earned_at
    )
    SELECT DISTINCT ON (t.person_id, t.kind, t.establishment_id)
        t.person_id, t.kind, t.establishment_id, t.level, k.title, e.name, t.earned_at
    FROM taken t JOIN badges.kinds k ON k.kind = t.kind
    LEFT JOIN establishments.establishments e ON e.id = t.establishment_id
    ORDER BY t.person_id, t.kind, t.establishment_id, t.level DESC;
END $$;
