-- The board, reminders by hand and of what is overdue, and jobs that failed.

-- Adds a note, and notifies all; returns its id.
--   expires_at  when it deletes itself; null: as household.rules says
CREATE OR REPLACE FUNCTION household.add_note(
    person bigint, body text, expires_at timestamptz DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    at CONSTANT timestamptz := clock_timestamp();
    rules household.rules;
    note bigint;
BEGIN
    SELECT * INTO rules FROM household.rules;
    IF (SELECT count(*) FROM household.notes n
        WHERE n.group_id = home AND n.expires_at > at) >= rules.max_notes THEN
        PERFORM household.refuse_state(format('a board has at most %s notes', rules.max_notes),
            'Take one off, or wait until one goes.');
    END IF;
    expires_at := coalesce(expires_at, at + rules.note_ttl);
    PERFORM errand.expect(length(body) BETWEEN 1 AND 2000,
        'body: expected 1 to 2000 characters');
    PERFORM errand.expect(expires_at > at AND expires_at <= at + rules.max_note_ttl,
        format('expires_at: expected an instant of the next %s', rules.max_note_ttl));
    INSERT INTO household.notes AS n (group_id, author_id, written_at, expires_at, body)
    VALUES (home, person, at, expires_at, body) RETURNING n.id INTO note;
    PERFORM household.happened(home, 'note_added', person, jsonb_build_object('note_id', note));
    RETURN note;
END $$;

-- Takes a note of one's own off; false when it is gone.
CREATE OR REPLACE FUNCTION household.remove_note(person bigint, note bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
BEGIN
    IF EXISTS (SELECT FROM household.notes n
        WHERE n.id = note AND n.group_id = home AND n.author_id <> person) THEN
        PERFORM household.refuse_state(format('note %s is somebody else''s', note),
            'Its author can take it off; otherwise it goes when its time is over.');
    END IF;
    DELETE FROM household.notes n WHERE n.id = note AND n.group_id = home;
    RETURN FOUND;
END $$;

-- The board of the person's group, the newest note first.
CREATE OR REPLACE FUNCTION household.notes(person bigint)
RETURNS TABLE (note_id bigint, author_id bigint, body text, written_at timestamptz,
    expires_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT n.id, n.author_id, n.body, n.written_at, n.expires_at
    FROM household.notes n WHERE n.group_id = household.home_of($1) AND n.expires_at > at
    ORDER BY n.written_at DESC, n.id DESC LIMIT 1000;
END $$;

-- Deletes notes whose time is over; returns how many. Those under way elsewhere are left for the
-- next time.
CREATE OR REPLACE FUNCTION household.expire_notes(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 10000)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    expired bigint;
BEGIN
    at := coalesce(at, clock_timestamp());
    DELETE FROM household.notes n WHERE n.ctid = ANY (ARRAY(
        SELECT e.ctid FROM household.notes e WHERE e.expires_at <= at
        ORDER BY e.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS expired = ROW_COUNT;
    RETURN expired;
END $$;

-- Marks overdue chores, and notifies and reminds their assignees, as household.rules
-- says; returns how many turns it has seen to. Not of what is missed in a moment, because the chore
-- comes again.
CREATE OR REPLACE FUNCTION household.remind_overdue(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 500)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    reminded jsonb;
    seen bigint;
BEGIN
    at := coalesce(at, clock_timestamp());
    WITH late AS (
        SELECT o.id, o.reminders, o.remind_from FROM household.occurrences o
        JOIN household.chores c ON c.id = o.chore_id
        WHERE o.remind_at <= at AND (c.next_at <= at) IS NOT TRUE
        ORDER BY o.remind_at LIMIT max_rows FOR NO KEY UPDATE OF o SKIP LOCKED
    ), notified AS (
        UPDATE household.occurrences o SET state = 'overdue',
            reminders = l.reminders + CASE WHEN l.remind_from <= at THEN 1 ELSE 0 END,
            remind_at = CASE WHEN l.remind_from > at THEN l.remind_from
                WHEN l.reminders < r.max_overdue_reminders THEN at + r.overdue_interval END
        FROM late l, household.rules r WHERE o.id = l.id
        RETURNING o.id, l.remind_from <= at AS is_notified
    )
    SELECT count(*), jsonb_agg(t.id ORDER BY t.id) FILTER (WHERE t.is_notified) INTO seen, reminded
    FROM notified t;
    IF reminded IS NOT NULL THEN
        PERFORM errand.enqueue_own('household.notify',
            jsonb_build_object('event', 'chore_overdue', 'occurrence_ids', reminded));
    END IF;
    RETURN seen;
END $$;

-- Finds chores whose next occurrence nobody finds out any more, because the job has died or was
-- cancelled, and says so to those who live there; returns how many.
CREATE OR REPLACE FUNCTION household.fail_unplanned(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 100)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    lost record;
    failed bigint := 0;
BEGIN
    FOR lost IN
        -- The longest under way: of many at once, those behind them come soon enough.
        SELECT c.id, c.plan FROM household.chores c WHERE c.id IN (
            SELECT w.id FROM (SELECT p.id, p.plan_job FROM household.chores p
                -- Those of a zone that cannot be used wait for it, and for nothing else.
                WHERE p.plan_job IS NOT NULL AND NOT EXISTS (SELECT FROM household.groups g
                    JOIN household.zones z ON z.time_zone = g.time_zone
                    WHERE g.id = p.group_id AND z.fault IS NOT NULL)
                ORDER BY p.plan_job LIMIT 1000) w
            WHERE NOT EXISTS (SELECT FROM errand.jobs j WHERE j.id = w.plan_job) LIMIT max_rows)
        ORDER BY c.id FOR NO KEY UPDATE OF c SKIP LOCKED
    LOOP
        failed := failed + household.fail_chore(lost.id, lost.plan,
            'Its next day could not be computed: change it, or wait for a fixed time zone.')::int;
    END LOOP;
    RETURN failed;
END $$;

-- Writes down why the rules of a zone cannot be read. False when that was known.
CREATE OR REPLACE FUNCTION household.fail_zone(time_zone text, fault text, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO household.zones AS z (time_zone, fault, faulty_since)
    VALUES (time_zone, left(fault, 500), at)
    ON CONFLICT ON CONSTRAINT zones_pkey DO UPDATE
    SET fault = excluded.fault, faulty_since = coalesce(z.faulty_since, at)
    WHERE z.fault IS DISTINCT FROM excluded.fault;
    RETURN FOUND;
END $$;

-- Writes down what the rules of a zone are, which can be read; whether times have to be computed
-- again by them: those of groups whose times were computed by others.
CREATE OR REPLACE FUNCTION household.set_zone(time_zone text, rules text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    was household.zones;
BEGIN
    SELECT * INTO was FROM household.zones z WHERE z.time_zone = time_zone FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO household.zones (time_zone, rules) VALUES (time_zone, rules)
        ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    IF was.fault IS NOT NULL OR was.rules IS DISTINCT FROM rules THEN
        UPDATE household.zones z SET rules = rules, fault = NULL, faulty_since = NULL,
            is_outdated = z.is_outdated OR coalesce(z.rules <> rules, false)
        WHERE z.time_zone = time_zone RETURNING z.is_outdated INTO was.is_outdated;
    END IF;
    IF was.fault IS NOT NULL THEN
        -- What was asked for meanwhile.
        PERFORM household.replan(c.id)
        FROM household.groups g JOIN household.chores c ON c.group_id = g.id
        WHERE g.time_zone = time_zone AND c.plan_job IS NOT NULL AND NOT c.is_removed;
    END IF;
    RETURN was.is_outdated;
END $$;

-- Asks that those are reminded who owe the person: one, or all of them. Whether and when they are
-- notified is up to the policy of reminders. Returns how many owe; an error when the one does not.
CREATE OR REPLACE FUNCTION household.remind_debtors(person bigint, debtor bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    owing record;
    debtors bigint := 0;
BEGIN
    PERFORM people.expect_person(person);
    FOR owing IN
        SELECT d.group_id, array_agg(d.other_id ORDER BY d.other_id) AS persons
        FROM household.debts(person) d
        WHERE d.amount > 0 AND (debtor IS NULL OR d.other_id = debtor) GROUP BY d.group_id
    LOOP
        PERFORM errand.enqueue_own('household.notify', jsonb_build_object('event', 'debt_reminder',
            'group_id', owing.group_id, 'person_id', person,
            'to', to_jsonb(owing.persons)));
        debtors := debtors + cardinality(owing.persons);
    END LOOP;
    IF debtor IS NOT NULL AND debtors = 0 THEN
        PERFORM household.refuse_state(format('person %s owes you nothing', debtor));
    END IF;
    RETURN debtors;
END $$;

-- Asks that who has a turn at a chore is reminded of it, by the same policy.
CREATE OR REPLACE FUNCTION household.remind_of_chore(person bigint, occurrence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    of := household.open_occurrence(home, occurrence);
    IF of.assignee_id IS NULL OR of.assignee_id = person THEN
        PERFORM household.refuse_state(format('turn %s is nobody else''s', occurrence),
            'Do it, or take it over.');
    END IF;
    PERFORM errand.enqueue_own('household.notify', jsonb_build_object('event', 'chore_reminder',
        'group_id', home, 'person_id', person, 'chore_id', of.chore_id,
        'occurrence_id', occurrence, 'to', jsonb_build_array(of.assignee_id)));
END $$;

-- Notes that a session failed to prove that it is the person's, and notifies them: once of each
-- session. False when they were before.
CREATE OR REPLACE FUNCTION household.report_failed_session(person bigint, session text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    PERFORM people.expect_person(person);
    PERFORM errand.expect(length(session) BETWEEN 1 AND 200,
        'session: expected 1 to 200 characters that name it, and prove nothing');
    INSERT INTO household.failed_sessions AS f (person_id, at, session)
    VALUES (person, at, session) ON CONFLICT ON CONSTRAINT failed_sessions_pkey DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM errand.enqueue_own('household.notify', jsonb_build_object('event', 'session_failed',
        'person_id', person, 'session', encode(sha256(convert_to(session, 'UTF8')), 'hex')));
    RETURN true;
END $$;

-- Forgets failed sessions of long ago; returns how many.
CREATE OR REPLACE FUNCTION household.forget_sessions(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 10000
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    before CONSTANT timestamptz := coalesce(at, clock_timestamp()) - interval '90 days';
    forgotten bigint;
BEGIN
    DELETE FROM household.failed_sessions f WHERE f.ctid = ANY (ARRAY(
        SELECT o.ctid FROM household.failed_sessions o WHERE o.at < before
        ORDER BY o.at LIMIT max_rows FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;
