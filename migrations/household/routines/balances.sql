-- Notices about balances: at the end of the month, and when a member leaves.

-- At the end of a month, notifies all debtors: enqueues household.notify with the event balances,
-- the month and the ids of groups where somebody owes, some hundred groups a job. Returns how many
-- groups it has seen to, those where nobody owes among them; 0: all.
--
-- A group is handed out once for each month, by any number of workers: it carries the month that
-- was notified. Groups that another worker has locked are skipped.
CREATE OR REPLACE FUNCTION household.due_groups(
    at timestamptz DEFAULT NULL, max_rows int DEFAULT 10000)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    month household.month_ends;
    homes bigint[];
    seen bigint := 0;
BEGIN
    at := coalesce(at, clock_timestamp());
    -- Debts of a month end cause one notice, at the end of the next month at the latest.
    UPDATE household.month_ends e SET notified_at = clock_timestamp()
    WHERE (e.time_zone, e.on_day) IN (SELECT o.time_zone, o.on_day FROM household.month_ends o
        WHERE o.notified_at IS NULL AND EXISTS (SELECT FROM household.month_ends l
            WHERE l.time_zone = o.time_zone AND l.on_day > o.on_day AND l.at <= at)
        FOR NO KEY UPDATE SKIP LOCKED);
    -- Locked before groups are read: see household.set_group().
    FOR month IN SELECT * FROM household.month_ends e WHERE e.at <= at AND e.notified_at IS NULL
        AND NOT EXISTS (SELECT FROM household.month_ends l
            WHERE l.time_zone = e.time_zone AND l.on_day > e.on_day AND l.at <= at)
        ORDER BY e.at, e.time_zone FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        homes := ARRAY(
            SELECT g.id FROM household.groups g
            WHERE g.time_zone = month.time_zone AND g.balances_notified_on < month.on_day
              AND g.created_at <= month.at
            ORDER BY g.balances_notified_on, g.id LIMIT max_rows - seen
            FOR NO KEY UPDATE SKIP LOCKED);
        UPDATE household.groups g SET balances_notified_on = month.on_day WHERE g.id = ANY (homes);
        PERFORM household.notify_balances(homes, month.on_day);
        seen := seen + cardinality(homes);
        EXIT WHEN seen >= max_rows;
        -- Not while another worker has some of them.
        IF NOT EXISTS (SELECT FROM household.groups g
            WHERE g.time_zone = month.time_zone AND g.balances_notified_on < month.on_day
              AND g.created_at <= month.at) THEN
            UPDATE household.month_ends e SET notified_at = clock_timestamp()
            WHERE e.time_zone = month.time_zone AND e.on_day = month.on_day
              AND e.notified_at IS NULL;
        END IF;
    END LOOP;
    RETURN seen;
END $$;

-- The people whom some groups notify at the end of a month: debtors there and, of who lives there
-- or did at that moment, who owes anywhere. Not who lives in another group that has yet to notify
-- them of the same month.
CREATE OR REPLACE FUNCTION household.debtors(groups bigint[], month date)
RETURNS TABLE (group_id bigint, person_id bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    -- Side by side: a join could be planned to read all balances.
    RETURN QUERY SELECT d.group_id, d.person_id FROM (
        SELECT u.id AS group_id, o.person_id FROM unnest(groups) AS u (id) CROSS JOIN LATERAL (
            SELECT s.person_id, (SELECT b.amount FROM ledger.balances b
                WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
            FROM household.sides s WHERE s.group_id = u.id OFFSET 0) o
        WHERE o.amount < 0
        UNION
        SELECT u.id, m.person_id FROM unnest(groups) AS u (id)
        JOIN household.groups g ON g.id = u.id
        JOIN household.members m ON m.group_id = u.id AND (m.left_at IS NULL OR m.left_at >= (
            SELECT e.at FROM household.month_ends e
            WHERE e.time_zone = g.time_zone AND e.on_day = month))
        CROSS JOIN LATERAL (
            SELECT (SELECT b.amount FROM ledger.balances b
                WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
            FROM household.sides s WHERE s.person_id = m.person_id AND s.group_id <> u.id
            OFFSET 0) o
        WHERE o.amount < 0
    ) d
    WHERE NOT EXISTS (
        SELECT FROM household.members m JOIN household.groups g ON g.id = m.group_id
        JOIN household.month_ends e ON e.time_zone = g.time_zone AND e.on_day = month
        WHERE m.person_id = d.person_id AND m.left_at IS NULL AND m.group_id <> d.group_id
          AND g.balances_notified_on < month AND g.created_at <= e.at AND e.notified_at IS NULL);
END $$;

-- What the notice says of all that a person owes now, at the end of a month; null when that is
-- nothing.
CREATE OR REPLACE FUNCTION household.balance_notice(person bigint, month date) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    notice jsonb;
BEGIN
    WITH owed AS MATERIALIZED (
        SELECT g.id, g.name, g.currency, o.other_id, -o.amount AS amount, m.is_erased
        FROM (SELECT s.group_id, s.other_id, (SELECT b.amount FROM ledger.balances b
                WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
            FROM household.sides s WHERE s.person_id = person OFFSET 0) o
        JOIN household.groups g ON g.id = o.group_id
        JOIN household.members m ON m.group_id = g.id AND m.person_id = o.other_id
        WHERE o.amount < 0
    )
    SELECT jsonb_build_object('month_end', month,
        -- As in household.by().
        'named', coalesce(jsonb_agg(DISTINCT o.other_id) FILTER (WHERE NOT o.is_erased), '[]'),
        'groups', (SELECT jsonb_agg(n.name ORDER BY n.id)
            FROM (SELECT DISTINCT o.id, o.name FROM owed o) n),
        'total', (SELECT jsonb_agg(jsonb_build_object('minor', t.amount, 'currency', t.currency)
                ORDER BY t.currency)
            FROM (SELECT o.currency, sum(o.amount) AS amount FROM owed o GROUP BY 1) t),
        'items', jsonb_agg(jsonb_build_object('minor', o.amount, 'currency', o.currency,
                'to', household.name_of(o.id, o.other_id) || CASE
                    WHEN (SELECT count(DISTINCT p.id) FROM owed p) > 1 THEN ', ' || o.name
                    ELSE '' END)
            ORDER BY o.currency, o.amount DESC, o.other_id))
    INTO notice FROM owed o HAVING count(*) > 0;
    RETURN notice;
END $$;

-- Enqueues the jobs that notify of the debts of some groups at the end of a month.
CREATE OR REPLACE FUNCTION household.notify_balances(homes bigint[], month date) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    made boolean;
BEGIN
    -- No row may be older than the lock under which it is written: see errand.jobs.
    LOCK TABLE errand.jobs IN ROW EXCLUSIVE MODE;
    INSERT INTO errand.queues (name)
    SELECT k.queue FROM errand.kinds k WHERE k.kind = 'household.notify' ON CONFLICT DO NOTHING;
    WITH owing AS (
        SELECT d.group_id, row_number() OVER (ORDER BY d.group_id) AS place
        FROM (SELECT DISTINCT d.group_id FROM household.debtors(homes, month) d) d
    ), batches AS (
        SELECT jsonb_agg(o.group_id ORDER BY o.group_id) AS ids FROM owing o
        GROUP BY (o.place - 1) / 100
    ), jobs AS (
        INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, args)
        SELECT k.queue, k.kind, k.args_version, k.priority, k.max_attempts, jsonb_build_object(
            'event', 'balances', 'month_end', month, 'group_ids', b.ids)
        FROM batches b CROSS JOIN errand.kinds k WHERE k.kind = 'household.notify'
        RETURNING 1
    )
    SELECT true INTO made FROM jobs LIMIT 1;
    IF made THEN
        PERFORM errand.wake(k.queue || E'\t' || k.kind || E'\t' || k.args_version)
        FROM errand.kinds k WHERE k.kind = 'household.notify';
    END IF;
END $$;

-- A member who leaves a home that had yet to notify them of a month is notified by the groups where
-- they owe and that have done so: they had left it to the home.
CREATE OR REPLACE FUNCTION household.notify_leaver(person bigint, home bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    owing CONSTANT bigint[] := ARRAY(SELECT DISTINCT o.group_id FROM (
        SELECT s.group_id, (SELECT b.amount FROM ledger.balances b
            WHERE b.account_id = s.account_id AND b.slice = 0) AS amount
        FROM household.sides s WHERE s.person_id = person OFFSET 0) o WHERE o.amount < 0);
    month date;
BEGIN
    FOR month IN SELECT e.on_day FROM household.month_ends e JOIN household.groups g
        ON g.time_zone = e.time_zone AND g.balances_notified_on < e.on_day AND g.created_at <= e.at
        WHERE g.id = home AND e.notified_at IS NULL ORDER BY e.on_day
    LOOP
        -- Who is handing it out there may not see yet that they have left.
        PERFORM FROM household.month_ends e WHERE e.on_day = month AND e.time_zone IN (
            SELECT g.time_zone FROM household.groups g WHERE g.id = ANY (owing))
        ORDER BY e.time_zone FOR SHARE;
        PERFORM errand.enqueue_own('household.notify', jsonb_build_object('event', 'balances',
            'month_end', month, 'person_id', person, 'group_ids', jsonb_agg(g.id ORDER BY g.id)))
        FROM household.groups g WHERE g.id = ANY (owing) AND g.balances_notified_on >= month
        HAVING count(*) > 0;
    END LOOP;
END $$;
