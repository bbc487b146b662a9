-- A household for the demo: Noah (301) founds it, Zoé (302) and Émile (303) accept, 304 has not
-- answered yet; a weekly chore, one without a day, two bills and a note. Prints the group's id.
SELECT notification.register_device(id, 'household', 'apns', md5(id::text) || md5('home' || id),
    'org.example.household')
FROM people.people WHERE id IN (301, 302, 303) \g /dev/null
-- Notices at a person's local time must be due at any time of the run.
SELECT people.put_person(id, '{"notice_time": "00:00"}')
FROM unnest('{301,302,303,304}'::bigint[]) AS id \g /dev/null

SELECT household.create_group(301, 'Rue Rachel 12', 'America/Toronto') AS home \gset
SELECT household.accept(p, household.invite(301, p)) FROM unnest('{302,303}'::bigint[]) p
    \g /dev/null
SELECT household.set_name(301, 'Noah'), household.set_name(302, 'Zoé'),
    household.set_name(303, 'Émile'), household.invite(302, 304),
    household.add_chore(301, 'Take out the bins', current_date, 'FREQ=WEEKLY;BYDAY=MO,TH',
        at_time => '20:00'),
    household.add_chore(302, 'Fix the tap'),
    household.add_bill(301, 'Internet', 7999, '{301,302,303}', 'internet', current_date),
    -- Émile has the large room.
    household.add_bill(302, 'Rent', 180000, '{301,302,303}', 'rent', current_date, 'weights',
        '{5,5,8}'),
    household.add_note(303, 'The plumber comes on Friday at nine') \g /dev/null
SELECT :home;
