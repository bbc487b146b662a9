-- Ages, and what keeps a person from money, coupons, codes, positions, offers and payouts.

-- The day on which somebody born on a day becomes this old; 1 March for 29 February in common
-- years.
CREATE OR REPLACE FUNCTION people.birthday(born date, years int) RETURNS date
LANGUAGE sql IMMUTABLE
RETURN (born + make_interval(years => years))::date
    + (extract(day FROM born + make_interval(years => years)) <> extract(day FROM born))::int;

-- Whether the person has this age, in the person's time zone; false without a birth date.
CREATE OR REPLACE FUNCTION people.is_of_age(
    person bigint, years int DEFAULT 16, at timestamptz DEFAULT now()
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM people.people p
        WHERE p.id = person
          AND people.birthday(p.birth_date, years) <= (at AT TIME ZONE p.time_zone)::date)
$$;

-- What keeps a person from money and goods: unknown_person, under_age, blocked or no_birth_date;
-- none if nothing does. Who is under 16 is blocked too, and learns the age. PL/pgSQL keeps the plan
-- for the session; a function in SQL is planned again by each statement that it is not part of.
CREATE OR REPLACE FUNCTION people.obstacle(person bigint, at timestamptz DEFAULT now())
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    reason text;
BEGIN
    SELECT CASE
        WHEN people.birthday(p.birth_date, 16) > (at AT TIME ZONE p.time_zone)::date
            THEN 'under_age'
        WHEN p.blocked_at IS NOT NULL THEN 'blocked'
        WHEN p.birth_date IS NULL THEN 'no_birth_date'
        ELSE 'none' END
    INTO reason
    FROM people.people p WHERE p.id = person;
    RETURN coalesce(reason, 'unknown_person');
END $$;

-- Whether surely nothing keeps the person from them, as a part of the caller's query, which costs
-- less than people.obstacle(): who was born 17 years ago is 16 in every time zone. Where it is not
-- true, people.obstacle() decides.
CREATE OR REPLACE FUNCTION people.is_clear(person people.people)
RETURNS boolean LANGUAGE sql STABLE
RETURN person.blocked_at IS NULL AND person.birth_date < current_date - 6210;

-- Raises an error if something keeps the person from money and goods.
CREATE OR REPLACE FUNCTION people.expect_of_age(person bigint, at timestamptz DEFAULT now())
RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    reason CONSTANT text := people.obstacle(person, at);
BEGIN
    IF reason = 'unknown_person' THEN
        PERFORM people.expect_person(person);
    ELSIF reason <> 'none' THEN
        PERFORM errand.refuse(reason, format('person %s: %s', person, CASE reason
            WHEN 'blocked' THEN 'blocked until their erasure'
            WHEN 'no_birth_date' THEN 'the birth date is missing'
            ELSE 'under 16' END),
            CASE reason WHEN 'no_birth_date' THEN 'Set birth_date with people.put_person.' END);
    END IF;
END $$;

-- A time as JSON has it, in UTC; a time in its own column is shown by the session's zone.
CREATE OR REPLACE FUNCTION people.written(at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN isfinite(at) THEN to_char(at AT TIME ZONE 'UTC',
        CASE WHEN date_trunc('second', at AT TIME ZONE 'UTC') = at AT TIME ZONE 'UTC'
            THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"' ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END) END
$$;
