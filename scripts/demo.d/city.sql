-- A city for the demo: Montréal's shopping streets as lines of real coordinates (rounded), shops
-- along them, and people with coupons who walk there. Every run creates the same data.
CREATE SCHEMA demo;
SELECT setseed(0.42);

CREATE TABLE demo.streets (id int PRIMARY KEY, name text, line geography(LineString, 4326));
INSERT INTO demo.streets VALUES
    (1, 'Rue Sainte-Catherine',
        'LINESTRING(-73.5861 45.4893, -73.5745 45.4985, -73.5655 45.5067, '
        '-73.5560 45.5163, -73.5483 45.5262)'),
    (2, 'Rue Saint-Denis',
        'LINESTRING(-73.5607 45.5142, -73.5681 45.5175, -73.5778 45.5218, '
        '-73.5866 45.5258, -73.5974 45.5308)'),
    (3, 'Boulevard Saint-Laurent',
        'LINESTRING(-73.5575 45.5073, -73.5661 45.5112, -73.5757 45.5155, '
        '-73.5880 45.5212, -73.6003 45.5268)'),
    (4, 'Avenue du Mont-Royal',
        'LINESTRING(-73.5880 45.5192, -73.5814 45.5246, -73.5748 45.5299, '
        '-73.5700 45.5340)'),
    (5, 'Rue Saint-Paul',
        'LINESTRING(-73.5573 45.5007, -73.5541 45.5043, -73.5510 45.5085, '
        '-73.5490 45.5107)'),
    (6, 'Avenue Bernard', 'LINESTRING(-73.6083 45.5185, -73.6020 45.5226, -73.5965 45.5262)'),
    (7, 'Rue Masson', 'LINESTRING(-73.5860 45.5432, -73.5790 45.5465, -73.5710 45.5502)'),
    (8, 'Rue Notre-Dame Ouest',
        'LINESTRING(-73.5836 45.4779, -73.5760 45.4832, -73.5690 45.4884, '
        '-73.5610 45.4960)');

SELECT count(establishments.put_establishment(id => n, name => (ARRAY['Café', 'Bakery', 'Bookshop',
    'Record shop', 'Barber', 'Grocer', 'Florist', 'Ice cream'])[1 + n % 8] || ' no. ' || n))
FROM generate_series(1, 120) AS n;

SELECT count(establishments.put_branch(id => n, establishment => e.id,
    name => e.name || ', ' || 100 + n * 7 || ' ' || s.name,
    longitude => ST_X(b.place), latitude => ST_Y(b.place)))
FROM generate_series(1, 400) AS n
JOIN establishments.listing(max_rows => 120) e ON e.id = 1 + (n * 7) % 120
JOIN demo.streets s ON s.id = 1 + n % 8
CROSS JOIN LATERAL (
    SELECT ST_LineInterpolatePoint(s.line::geometry, random()) AS place
) AS b;

INSERT INTO people.people (id, email, time_zone, age_verified_at, quiet_from, quiet_until,
    birth_date, location_consent_at)
-- No quiet hours: the demo sends notices at any hour.
SELECT n, 'person' || n || '@example.org', 'America/Toronto', now(), NULL, NULL,
    -- A few are too young, a few have disabled notices.
    CASE WHEN n % 50 = 0 THEN current_date - 365 * 12 ELSE current_date - 365 * 30 - n END,
    CASE WHEN n % 40 <> 1 THEN now() - interval '3 days' END
FROM generate_series(1, 5000) AS n;

-- A quarter of them have an iPhone, a quarter an Android phone, a few both. On a few iPhones the
-- app is uninstalled, which only APNs' response reveals. The others get mail.
SELECT count(notification.register_device(id, 'survey', 'apns',
    CASE WHEN id % 25 = 7 THEN 'dead' ELSE 'beef' END || lpad(to_hex(id), 60, '0'),
    'com.example.survey'))
FROM people.people WHERE id / 40 % 4 = 1 OR id / 40 % 20 = 2;
SELECT count(notification.register_device(id, 'survey', 'fcm', 'android:' || md5('demo' || id)))
FROM people.people WHERE id / 40 % 4 = 2;

INSERT INTO coupons.coupons (person_id, establishment_id, title, radius_m, expires_at)
SELECT p.id, 1 + (p.id * 13 + k * 31) % 120,
    (ARRAY['A free coffee', '2 for 1', '15 % off', 'A surprise', '$5 off'])[1 + (p.id + k) % 5]
        || ' at ' || e.name,
    (ARRAY[80, 120, 150])[1 + k % 3],
    -- The second and the third coupon of a person have the same last day.
    now() + interval '1 day' * (2 + (p.id + k / 2) % 20)
FROM people.people p CROSS JOIN generate_series(1, 3) AS k
JOIN establishments.establishments e ON e.id = 1 + (p.id * 13 + k * 31) % 120;

-- Each person walks along one street, at 1.2 to 1.6 meters a second.
CREATE TABLE demo.walkers AS
SELECT p.id AS person_id, s.id AS street_id, random() AS start,
    (1.2 + random() * 0.4) * (CASE WHEN random() < 0.5 THEN -1 ELSE 1 END) AS speed,
    ST_Length(s.line) AS length
FROM people.people p JOIN demo.streets s ON s.id = 1 + p.id % 8;

-- Reports all positions at a step of the walk: every step is 30 seconds of walking.
CREATE FUNCTION demo.step(step int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(coupons.report_position(person_id, ST_X(here), ST_Y(here),
        -- One fix in thirty is inaccurate, as between tall buildings; a few clocks are wrong.
        CASE WHEN (person_id + step) % 30 = 0 THEN 400 ELSE 8 + person_id % 25 END,
        clock_timestamp() + CASE WHEN person_id % 997 = 0 THEN interval '10 minutes'
            WHEN person_id % 991 = 0 THEN interval '-20 minutes' ELSE '0' END))
    FROM (
        SELECT w.person_id, ST_LineInterpolatePoint(s.line::geometry,
            abs((2 + w.start + w.speed * 30 * step / w.length)::numeric % 2 - 1)::float8) AS here
        FROM demo.walkers w JOIN demo.streets s ON s.id = w.street_id
    ) p
$$;
