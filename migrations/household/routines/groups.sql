-- Groups of room-mates, and who moves into one.

-- Lets a person be a member of a group that is locked.
CREATE OR REPLACE FUNCTION household.move_in(home bigint, person bigint, at timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    other bigint;
BEGIN
    -- Who joins two groups at once joins one of them.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    SELECT m.group_id INTO other FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF other IS NOT NULL THEN
        PERFORM household.refuse_state(format('person %s is in group %s already', person, other),
            'A person lives in one group: they have to leave it first.');
    END IF;
    INSERT INTO household.members AS m (group_id, person_id, joined_at) VALUES (home, person, at)
    ON CONFLICT ON CONSTRAINT members_pkey DO UPDATE
    SET joined_at = excluded.joined_at, left_at = NULL, is_away = false;
    UPDATE household.groups g SET emptied_at = NULL WHERE g.id = home AND g.emptied_at IS NOT NULL;
END $$;

-- An error unless a group can have this name, zone and currency.
CREATE OR REPLACE FUNCTION household.expect_group(name text, time_zone text, currency text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]',
        'name: expected 1 to 100 characters in one line');
    -- The list of all names is read from files, so that a zone is looked up once.
    -- Abbreviations such as EST, and the copies under posix/, are in that list, too.
    PERFORM errand.expect((time_zone = 'UTC' OR time_zone LIKE '%/%'
            AND time_zone !~ '^(posix|right)/')
        AND (EXISTS (SELECT FROM household.groups g WHERE g.time_zone = expect_group.time_zone)
            OR EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE z.name = time_zone)),
        format('time zone %s: expected a name of IANA, such as America/Toronto',
            coalesce(time_zone, 'null')));
    PERFORM errand.expect(
        EXISTS (SELECT FROM ledger.currencies c WHERE c.code = currency),
        format('currency %s: expected a code of ISO 4217 in capital letters, such as CAD',
            coalesce(currency, 'null')));
END $$;

-- Makes a group of one person, who invites the others; returns its id.
--   currency  of all its bills; it is not changed later
CREATE OR REPLACE FUNCTION household.create_group(
    person bigint, name text, time_zone text, currency text DEFAULT 'CAD'
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    home bigint;
BEGIN
    PERFORM people.expect_person(person);
    PERFORM household.expect_group(name, time_zone, currency);
    INSERT INTO household.groups AS g (created_by, created_at, currency, time_zone, name)
    VALUES (person, at, currency, time_zone, name) RETURNING g.id INTO home;
    PERFORM household.move_in(home, person, at);
    PERFORM household.happened(home, 'created', person, is_notified => false);
    PERFORM household.plan_zone(time_zone);
    RETURN home;
END $$;

-- Asks for the ends of the months in a zone that no group had yet.
CREATE OR REPLACE FUNCTION household.plan_zone(time_zone text) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM household.month_ends e
        WHERE e.time_zone = time_zone AND e.at > clock_timestamp()) THEN
        PERFORM errand.enqueue_own('household.plan', jsonb_build_object('time_zone', time_zone),
            unique_key => 'zone:' || time_zone);
    END IF;
END $$;

-- Changes a group's name or zone; null leaves it as it is. False when nothing changed.
CREATE OR REPLACE FUNCTION household.set_group(
    person bigint, name text DEFAULT NULL, time_zone text DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    was household.groups;
BEGIN
    SELECT * INTO STRICT was FROM household.groups g WHERE g.id = home;
    name := coalesce(name, was.name);
    time_zone := coalesce(time_zone, was.time_zone);
    PERFORM household.expect_group(name, time_zone, was.currency);
    IF (name, time_zone) = (was.name, was.time_zone) THEN
        RETURN false;
    END IF;
    IF time_zone <> was.time_zone THEN
        -- A process that notifies of a month there has either seen this group, or sees it.
        PERFORM FROM household.month_ends e
        WHERE e.time_zone = time_zone AND e.at > clock_timestamp() - interval '2 days'
          AND e.at < clock_timestamp() + interval '2 days'
        ORDER BY e.on_day FOR NO KEY UPDATE;
    END IF;
    UPDATE household.groups g SET name = name, time_zone = time_zone WHERE g.id = home;
    IF time_zone <> was.time_zone THEN
        PERFORM household.plan_zone(time_zone);
        -- The month was already notified there, before this group came.
        UPDATE household.month_ends e SET notified_at = NULL
        WHERE e.time_zone = time_zone AND e.notified_at IS NOT NULL
            AND e.on_day > was.balances_notified_on
          AND e.at >= was.created_at AND e.at <= clock_timestamp()
          AND e.at > clock_timestamp() - interval '2 days';
        PERFORM household.replan(c.id) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed ORDER BY c.id;
    END IF;
    PERFORM household.happened(home, 'group_changed', person);
    RETURN true;
END $$;
