-- What the samples of these pages start from: four adults, a business and its branch; person 21
-- asks for an erasure.
SELECT people.put_person(id, jsonb_build_object('email', 'person' || id || '@example.org',
    'time_zone', 'America/Toronto', 'birth_date', '1990-05-17',
    'age_verified_at', '2026-01-05T10:00:00Z', 'location_consent_at', '2026-01-05T10:00:00Z'))
FROM generate_series(17, 21) AS id;
SELECT establishments.put_establishment(id => 7, name => 'Café Rachel'),
    establishments.put_branch(id => 3, establishment => 7, name => 'Rue Rachel',
        longitude => -73.57, latitude => 45.52);
-- Where links of accounts lead.
INSERT INTO accounts.link_templates (app, kind, template) VALUES
    ('account', 'reset', 'https://app.example.com/reset?token={token}'),
    ('account', 'invitation', 'https://app.example.com/join?token={token}');
-- A kind that a program of the app has opened.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, for_apps)
VALUES ('receipt.send', 1, 'default', 2, 20, true);
-- A group of room-mates.
SELECT household.create_group(person => 17, name => 'Flat 7', time_zone => 'America/Toronto');
SELECT household.accept(id, household.invite(person => 17, invitee => id))
FROM generate_series(18, 19) AS id;
-- Two shoppers, and a mission that is offered to both.
SELECT missions.hire(id, 'operator'), missions.set_shopper(id, longitude => -73.58,
    latitude => 45.52)
FROM generate_series(18, 19) AS id;
SELECT missions.offer(missions.open_mission(branch => 3, title => 'Ask about size',
        opens_at => now() - interval '1 hour', closes_at => now() + interval '3 days',
        paid => 2500, pay => 1500, tasks => '[{"kind": "photos", "title": "The shelf"}]',
        time_zone => 'America/Toronto', slots => 2), 18),
    missions.offer(1, 19);
