-- The survey of a shop with four branches, and how it was answered last month.
CREATE TABLE demo.shop AS
SELECT b.establishment_id AS establishment, min(b.id) AS branch
FROM establishments.branches b GROUP BY 1 HAVING count(*) >= 4 ORDER BY 1 LIMIT 1;

SELECT surveys.put_survey(id => s.establishment, establishment => s.establishment,
    title => 'How was your visit?', minutes => 2, expires_days => 14, paid => 400, cut => 250,
    currency => 'CAD', coupon_title => 'A free coffee', coupon_days => 30, questions => '[
    {"number": 1, "kind": "rating", "label": "How friendly were we?", "is_required": true},
    {"number": 2, "kind": "rating", "label": "How clean was the shop?", "is_required": true},
    {"number": 3, "kind": "choice", "label": "Why did you come in?", "is_required": true,
        "options": ["It is near", "A friend", "The window", "A coupon"]},
    {"number": 4, "kind": "many", "label": "What did you buy?", "is_required": false,
        "options": ["Coffee", "Bread", "Cake", "Something else"]},
    {"number": 5, "kind": "yes_no", "label": "Will you come again?", "is_required": true},
    {"number": 6, "kind": "text", "label": "What should we change?", "is_required": false}]')
FROM demo.shop s;

-- Four of five people share their answers.
SELECT count(people.record_consent(person => p.id, what => 'sharing', version => '2026-01'))
FROM people.people p WHERE p.id BETWEEN 101 AND 700 AND p.id % 5 > 0;

-- A number below n that looks random, and is the same in every run.
CREATE FUNCTION demo.roll(key text, n int) RETURNS int LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(key), 1, 7))::bit(28)::int % n;

-- The last four months: ever more receipts, most of them answered.
INSERT INTO surveys.invitations (survey_id, version, establishment_id, branch_id, person_id,
    source, request_id, purchased_at, invited_at, expires_at)
SELECT s.establishment, 1, s.establishment, bs.ids[1 + demo.roll(key || 'b', bs.count)], p.id,
    'receipt', key, at, at, at + interval '14 days'
FROM demo.shop s
CROSS JOIN people.people p
CROSS JOIN generate_series(1, 4) AS month
CROSS JOIN LATERAL (SELECT array_agg(k.id ORDER BY k.id) AS ids, count(*)::int AS count
    FROM establishments.branches k WHERE k.establishment_id = s.establishment) bs
CROSS JOIN LATERAL (SELECT month || ':' || p.id AS key) k
CROSS JOIN LATERAL (SELECT date_trunc('month', now()) - month * interval '1 month'
    + interval '1 day' + demo.roll(key || 'd', 26) * interval '1 day' AS at) t
WHERE p.id BETWEEN 101 AND 700 AND p.birth_date < current_date - 6300
  AND demo.roll(key || 'm', 8) > month;

SELECT count(surveys.complete_at(i.person_id, i.id, jsonb_build_object(
        '1', greatest(5 - demo.roll(i.request_id || 1, 4) * demo.roll(i.request_id || 7, 2), 1),
        '2', 1 + demo.roll(i.request_id || 2, 5), '3', 1 + demo.roll(i.request_id || 3, 4),
        '4', jsonb_build_array(1 + demo.roll(i.request_id || 4, 4)),
        '5', demo.roll(i.request_id || 5, 6) > 0,
        '6', (ARRAY['More chairs', 'Open earlier on Sundays', 'Call me: 514-555-0199',
            'Less loud music', 'The best bread of the street'])
            [1 + demo.roll(i.request_id || 6, 60)]),
    50 + demo.roll(i.request_id || 's', 90), 'answered', i.invited_at + interval '5 hours'))
FROM surveys.invitations i WHERE i.source = 'receipt' AND demo.roll(i.request_id || 'a', 5) > 0;
