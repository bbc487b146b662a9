-- The groups of people in reports.

-- The people who answered in a period by group, before any is suppressed: each person counts once,
-- at the branch of their last answers. Only in monthly reports: a month less its weeks would leave
-- single days. A worker suppresses the small groups before anything is written.
CREATE OR REPLACE FUNCTION reports.groups_of(report bigint)
RETURNS TABLE (dimension text, branch_id bigint, label text, people bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH respondents AS MATERIALIZED (
        SELECT DISTINCT ON (c.person_id) coalesce(c.branch_id, 0) AS branch, c.person_id,
            date_part('year', age(r.end_day - 1, p.birth_date))::int AS years, x.prefix
        FROM reports.reports r
        JOIN surveys.completions c ON c.establishment_id = r.establishment_id
            AND c.completed_at >= r.from_at AND c.completed_at < r.until_at
            AND c.state <> 'rejected'
        JOIN people.people p ON p.id = c.person_id
        LEFT JOIN reports.postal_prefixes x ON x.person_id = c.person_id
        WHERE r.id = report AND r.kind = 'monthly' AND (SELECT true
            FROM people.consents k JOIN people.people p ON p.id = k.person_id
            WHERE k.person_id = c.person_id AND k.what = 'sharing' AND k.replaced_at IS NULL
              AND k.withdrawn_at IS NULL AND p.blocked_at IS NULL LIMIT 1)
        ORDER BY c.person_id, c.completed_at DESC, c.invitation_id DESC
    )
    SELECT 'age', d.branch, CASE WHEN d.years >= 65 THEN '65+' WHEN d.years >= 55 THEN '55-64'
        WHEN d.years >= 45 THEN '45-54' WHEN d.years >= 35 THEN '35-44'
        WHEN d.years >= 25 THEN '25-34' WHEN d.years >= 16 THEN '16-24'
        ELSE 'not known' END, count(*)
    FROM respondents d GROUP BY 2, 3
    UNION ALL
    SELECT 'postal', d.branch, coalesce(d.prefix, 'not known'), count(*)
    FROM respondents d GROUP BY 2, 3
    ORDER BY 1, 2, 3;
END $$;
