-- Missions for the demo: reviews of some people's answers, and missions of four branches; prints
-- the ids of the missions.
SELECT count(missions.record_review(p.id, 'survey:' || n,
    -- Most answer well; one in five does not.
    CASE WHEN p.id % 5 = 3 THEN n % 2 = 0 ELSE n % 20 <> 0 END,
    now() - n * interval '1 day')) AS reviews
FROM people.people p CROSS JOIN generate_series(1, 40) n
WHERE p.id BETWEEN 41 AND 70 \g /dev/null

SELECT missions.open_mission(b.id, 'How is the coffee at ' || b.name || '?', now(),
    now() + interval '3 days', 4500, 3000,
    '[{"kind": "interaction", "title": "Order a coffee, and ask for another sort"},
      {"kind": "photos", "title": "The counter, as you find it"},
      {"kind": "survey", "title": "Ten questions about the visit"},
      {"kind": "report", "title": "What you would tell a friend"}]',
    'America/Toronto', freebies => 'the coffee', min_quality => 0.6)
FROM establishments.branches b JOIN establishments.establishments e ON e.id = b.establishment_id
WHERE e.name LIKE 'Café%' ORDER BY b.id LIMIT 4;
