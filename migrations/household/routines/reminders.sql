-- Reminders: of debts and chores, as room-mates ask for them, and of overdue chores.

-- When a person may remind another one of a subject next; null: now. This is the policy of
-- reminders in the module notification: one a day and three a week, of those that were sent.
--   with_now  as if one were sent now
CREATE OR REPLACE FUNCTION household.next_reminder(
    person bigint, sender bigint, of_subject text, at timestamptz, with_now boolean
) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    WITH sent AS MATERIALIZED (
        SELECT n.created_at FROM notification.notices n
        WHERE n.person_id = person AND n.sender_id = sender AND n.subject = of_subject
          AND n.created_at > at - interval '7 days'
          AND n.status IN ('held', 'pending', 'sent', 'merged')
        UNION ALL SELECT at WHERE with_now
    )
    SELECT max((SELECT s.created_at + l.period FROM sent s WHERE s.created_at + l.period > at
        ORDER BY s.created_at DESC OFFSET l.most - 1 LIMIT 1))
    FROM (VALUES (1, interval '1 day'), (3, interval '7 days')) AS l (most, period)
$$;

-- Asks for one reminder unless it is too soon; one that is not sent yet is not asked for again.
--   subject  as the notice will have it
CREATE OR REPLACE FUNCTION household.ask_reminder(
    person bigint, sender bigint, of_subject text, args jsonb,
    OUT reason text, OUT next_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF people.obstacle(person) IN ('blocked', 'under_age') THEN
        reason := 'gone';
        RETURN;
    END IF;
    next_at := household.next_reminder(person, sender, of_subject, at, false);
    IF next_at IS NOT NULL THEN
        reason := 'too_soon';
        RETURN;
    END IF;
    PERFORM errand.enqueue_own('household.notify', args || jsonb_build_object(
            'person_id', sender, 'to', jsonb_build_array(person)),
        unique_key => format('%s:%s:%s', of_subject, sender, person),
        unique_while => 'unfinished');
    reason := 'ok';
    next_at := household.next_reminder(person, sender, of_subject, at, true);
END $$;

-- Each debt by itself, as the policy counts them.
CREATE OR REPLACE FUNCTION household.remind_debtors(person bigint, debtor bigint DEFAULT NULL)
RETURNS TABLE (debtor_id bigint, group_id bigint, amount bigint, currency text, reason text,
    next_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    owed record;
BEGIN
    PERFORM people.expect_person(person);
    FOR owed IN SELECT d.* FROM household.debts(person) d
        WHERE d.amount > 0 AND (debtor IS NULL OR d.other_id = debtor)
        ORDER BY d.other_id, d.group_id
    LOOP
        debtor_id := owed.other_id;
        group_id := owed.group_id;
        amount := owed.amount;
        currency := owed.currency;
        SELECT a.reason, a.next_at INTO reason, next_at
        FROM household.ask_reminder(debtor_id, person, 'household_debt:' || group_id,
            jsonb_build_object('event', 'debt_reminder', 'group_id', group_id)) a;
        RETURN NEXT;
    END LOOP;
    IF debtor IS NOT NULL AND debtor_id IS NULL THEN
        debtor_id := debtor;
        amount := 0;
        reason := 'nothing_owed';
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION household.remind_debtors(bigint, bigint) IS $doc$
Reminds those who owe the person of it: one, or all of them. Returns a row for each debt, with
whether the reminder is sent and when the next one may be. Of each debt a person is reminded at most
once a day and three times a week. A reminder that is sent waits for the end of the debtor's quiet
hours, and is not delivered to who has muted such notices or has paid meanwhile.

Arguments:
  person: who is owed
  debtor: whom to remind; null for all
Returns:
  debtor_id: who owes
  group_id: where it is owed
  amount: what the debtor owes, in minor units
  currency: its ISO 4217 code
  reason: ok, or why the debtor is not reminded
  next_at: when the next reminder of this debt may be sent
Reasons:
  ok: the reminder is sent
  too_soon: the limit is reached until next_at
  nothing_owed: the debtor owes the person nothing
  gone: the debtor's data is to be erased
Errors:
  23503: no such person
Repeated: answers too_soon; or ok while the first reminder is not decided yet, which is not sent
  twice.
Sample:
  SELECT debtor_id, amount, reason, next_at FROM household.remind_debtors(person => 17);
$doc$;

-- By the same policy.
CREATE OR REPLACE FUNCTION household.remind_of_chore(person bigint, occurrence bigint)
RETURNS TABLE (assignee_id bigint, reason text, next_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    home CONSTANT bigint := household.enter(person);
    of household.occurrences;
BEGIN
    of := household.open_occurrence(home, occurrence);
    assignee_id := of.assignee_id;
    IF of.due_at IS NULL THEN
        reason := 'no_day';
    ELSIF of.assignee_id IS NULL OR of.assignee_id = person THEN
        reason := 'not_others';
    ELSE
        SELECT a.reason, a.next_at INTO reason, next_at
        FROM household.ask_reminder(assignee_id, person, 'chore_turn:' || occurrence,
            jsonb_build_object('event', 'chore_reminder', 'group_id', home,
                'chore_id', of.chore_id, 'occurrence_id', occurrence)) a;
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION household.remind_of_chore(bigint, bigint) IS $doc$
Reminds who has an open turn at a chore of it. Returns whether the reminder is sent and when the
next one may be: at most once a day and three times a week.

Arguments:
  person: a member
  occurrence: occurrence_id of household.open_chores
Returns:
  assignee_id: whose turn it is
  reason: ok, or why they are not reminded
  next_at: when the next reminder of this turn may be sent
Reasons:
  ok: the reminder is sent
  too_soon: the limit is reached until next_at
  not_others: it is the person's own turn, or nobody's
  no_day: the chore has no day, so that nobody is reminded of it
  gone: the assignee's data is to be erased
  no_group: the person is in no group
  not_open: it was done, skipped or missed, or the chore was removed
Errors:
  P0002: the group has no turn with this id
Repeated: answers too_soon; or ok while the first reminder is not decided yet, which is not sent
  twice.
Sample:
  SELECT r.assignee_id, r.reason, r.next_at FROM household.open_chores(person => 17) o
  CROSS JOIN household.remind_of_chore(person => 17, occurrence => o.occurrence_id) r;
$doc$;

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
