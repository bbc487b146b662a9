-- Groups of room-mates, and who moves into one.

-- Refuses who is to be erased, or is too young.
CREATE OR REPLACE FUNCTION household.expect_unblocked(person bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    obstacle CONSTANT text := people.obstacle(person);
BEGIN
    IF obstacle IN ('blocked', 'under_age') THEN
        PERFORM errand.refuse(obstacle, format('person %s cannot join a group: %s', person,
            CASE obstacle WHEN 'blocked' THEN 'blocked until their erasure' ELSE 'under 16' END));
    END IF;
END $$;

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
    PERFORM household.expect_unblocked(person);
    SELECT m.group_id INTO other FROM household.members m
    WHERE m.person_id = person AND m.left_at IS NULL;
    IF other IS NOT NULL THEN
        PERFORM errand.refuse('in_a_group',
            format('person %s is in group %s already', person, other),
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
    PERFORM errand.expect(errand.is_zone(time_zone),
        format('time zone %s: expected a name of IANA, such as America/Toronto',
            coalesce(time_zone, 'null')));
    PERFORM errand.expect(
        EXISTS (SELECT FROM ledger.currencies c WHERE c.code = currency),
        format('currency %s: expected a code of ISO 4217 in capital letters, such as CAD',
            coalesce(currency, 'null')));
END $$;

-- The currency is that of the bills for good.
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
COMMENT ON FUNCTION household.create_group(bigint, text, text, text) IS $doc$
Creates a group of one person, who invites the others, and returns its id.

Arguments:
  person: the first member
  name: 1 to 100 characters
  time_zone: an IANA name such as America/Toronto, by whose clocks the group's days are
  currency: an ISO 4217 code; the currency of all bills, which is not changed later
Returns:
  group: the id of the group
Reasons:
  in_a_group: the person lives in a group already
  blocked: the person is to be erased
  under_age: the person is under 16
Errors:
  22023: an argument is invalid
  23503: no such person
Repeated: refused with in_a_group.
Sample:
  SELECT household.create_group(person => 20, name => 'Cabin', time_zone => 'America/Toronto');
$doc$;

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

-- The times of chores and month ends follow the zone.
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
COMMENT ON FUNCTION household.set_group(bigint, text, text) IS $doc$
Changes the name or the time zone of the person's group, and notifies the others.

Arguments:
  person: a member
  name: 1 to 100 characters; null leaves it as it is
  time_zone: an IANA name; null leaves it as it is
Returns:
  changed: whether something changed
Reasons:
  no_group: the person is in no group
Errors:
  22023: an argument is invalid
Repeated: returns false and changes nothing.
Sample:
  SELECT household.set_group(person => 20, name => 'Cabin by the lake');
$doc$;

-- Moves out of a group that is locked. Chores continue without them, what they wanted from the shop
-- goes, and what they owe and are owed stays with both sides.
CREATE OR REPLACE FUNCTION household.move_out(home bigint, person bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    UPDATE household.members m SET left_at = at, is_away = false
    WHERE m.group_id = home AND m.person_id = person;
    PERFORM household.leave_rotations(home, person);
    UPDATE household.items i SET state = 'removed'
    WHERE i.group_id = home AND i.person_id = person AND i.state = 'open';
    IF NOT EXISTS (SELECT FROM household.members m
        WHERE m.group_id = home AND m.left_at IS NULL) THEN
        UPDATE household.groups g SET emptied_at = at WHERE g.id = home;
        PERFORM household.end_invitations(home, 'withdrawn', at);
        PERFORM household.drop_chore(c.id) FROM household.chores c
        WHERE c.group_id = home AND NOT c.is_removed ORDER BY c.id;
    END IF;
    PERFORM household.notify_leaver(person, home);
    PERFORM household.happened(home, 'left', person);
END $$;

-- A person comes back by an invitation.
CREATE OR REPLACE FUNCTION household.leave(person bigint) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    PERFORM household.move_out(home, person);
    RETURN home;
END $$;
COMMENT ON FUNCTION household.leave(bigint) IS $doc$
Takes a person out of their group, and notifies the others. Chores continue without them, their open
items go, and what they owe and are owed stays with both sides. Returns the id of the group.

Arguments:
  person: a member
Returns:
  group: the id of the group that they left
Reasons:
  no_group: the person is in no group
Repeated: refused with no_group.
Sample:
  SELECT household.leave(person => 20);
$doc$;
