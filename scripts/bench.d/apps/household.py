"""Households: the month-end notices of a zone, an ordinary day of chores, and notes.

The data are rows as the functions would create them; a worker with its schedules does the measured
work, from the moment it is due. The cost of a chore is computed: the CPU time
of the worker, PostgreSQL and Redis for the occurrences that were assigned, planned and notified;
divided by their number; times the occurrences of an ordinary day; divided by the seconds of a day.
The benchmark does not wait for the clock: it makes the chores of the day due immediately.
"""
import glob
import re
import time

from measure import TICKS, Failed, Running
from report import Figure

PEOPLE = """
    SET session_replication_role = replica;
    INSERT INTO people.people (id, time_zone, notice_time, quiet_from, quiet_until)
    SELECT n, 'America/Toronto', '00:00', NULL, NULL FROM generate_series(1, 3 * {groups}) n;
    INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
    SELECT n, 'household', 'fcm', 'production', '', 'token-' || n
    FROM generate_series(1, 3 * {groups}) n;
    INSERT INTO household.groups (id, created_by, created_at, currency, time_zone, name)
    SELECT n, 3 * n, now() - interval '100 days', 'CAD', 'America/Toronto', 'Group ' || n
    FROM generate_series(1, {groups}) n;
    INSERT INTO household.members (group_id, person_id, joined_at)
    SELECT (n + 2) / 3, n, now() - interval '100 days' FROM generate_series(1, 3 * {groups}) n;
    """
# In each group the second and the third owe the first.
DEBTS = """
    SET session_replication_role = replica;
    ALTER TABLE ledger.balances DISABLE TRIGGER is_kept;
    INSERT INTO household.sides (group_id, person_id, other_id)
    SELECT g, s.person, s.other FROM generate_series(1, {groups}) g CROSS JOIN LATERAL (VALUES
        (3 * g - 2, 3 * g - 1), (3 * g - 1, 3 * g - 2), (3 * g - 2, 3 * g), (3 * g, 3 * g - 2)
    ) AS s (person, other);
    INSERT INTO ledger.accounts (owner, kind, currency, is_shared)
    SELECT s.id, 'roommate', 'CAD', false FROM household.sides s;
    UPDATE household.sides s SET account_id = a.id
    FROM ledger.accounts a WHERE a.kind = 'roommate' AND a.owner = s.id;
    INSERT INTO ledger.balances (account_id, slice, amount)
    SELECT s.account_id, 0, CASE WHEN s.person_id % 3 = 1 THEN 1 ELSE -1 END
        * (1000 + s.group_id % 9000) FROM household.sides s;
    ALTER TABLE ledger.balances ENABLE ALWAYS TRIGGER is_kept;
    """
MONTH_END = """
    INSERT INTO household.month_ends (time_zone, on_day, at)
    SELECT 'America/Toronto', (date_trunc('month', now()) - interval '1 day')::date,
        now() - interval '1 second'
    ON CONFLICT (time_zone, on_day) DO UPDATE SET at = excluded.at, notified_at = NULL;
    SELECT errand.enqueue('household.balances');
    """
# The frequency of chores: the percentages done daily, weekly, every other week, monthly.
MIX = ((10, "FREQ=DAILY", 1), (60, "FREQ=WEEKLY", 7), (20, "FREQ=WEEKLY;INTERVAL=2", 14),
       (10, "FREQ=MONTHLY", 30))
# Each began as many days ago as makes its next occurrence fall on one of the days of its period;
# those of today are due.
CHORES = """
    SET session_replication_role = replica;
    INSERT INTO household.chores (id, group_id, created_by, created_at, starts_on, mode, rule,
        title, plan, taken, next_on, next_at) OVERRIDING SYSTEM VALUE
    SELECT n, 1 + n % {groups}, 3 * (1 + n % {groups}), now() - interval '60 days',
        current_date + n.ahead - n.days, 'calendar', n.rule, 'Chore ' || n, 1, 0,
        current_date + n.ahead, now() + (1 + n.ahead) * interval '1 day'
    FROM (
        SELECT n, m.rule, m.days, (n / 100 % m.days)::int AS ahead
        FROM generate_series(1, {chores}) n
        JOIN (VALUES {mix}) AS m (first, last, rule, days) ON n % 100 BETWEEN m.first AND m.last
    ) AS n (n, rule, days, ahead);
    INSERT INTO household.turns (chore_id, person_id, position, turns)
    SELECT c.id, 3 * c.group_id - p, p, 0
    FROM household.chores c CROSS JOIN generate_series(0, 2) p;
    """
# Of those of today; the others stay a day ahead.
DUE = """
    UPDATE household.chores SET next_at = now() - interval '1 second'
    WHERE id IN (SELECT id FROM household.chores WHERE next_on = current_date ORDER BY id
        LIMIT {sample});
    SELECT errand.enqueue('household.chores');
    """
NOTES = """
    INSERT INTO household.notes (group_id, author_id, written_at, expires_at, body)
    SELECT 1 + n % {groups}, 3 * (1 + n % {groups}), now() - interval '7 days', {at},
        'The plumber comes at nine; please let him in, and keep the cat out of the kitchen.'
    FROM generate_series(1, {notes}) n;
    """


def worker(place, env, *words):
    return Running([place.errand, "work", "--queues", "household:4", *words], env)


def until(place, statement, database, limit=900, pause=0.2):
    """Waits until a statement answers t; returns when, by the clock of time.monotonic()."""
    end = time.monotonic() + limit
    while place.servers.sql(statement, database) != "t":
        if time.monotonic() > end:
            raise Failed(f"not within {limit} s: {statement}")
        time.sleep(pause)
    return time.monotonic()


def month_end(place, ours, groups):
    """The time from the month end until every notice and its delivery job are written."""
    name, sql = "bench_month_end", place.servers.sql
    env = ours.fresh(name)
    for text in (PEOPLE, DEBTS, "VACUUM ANALYZE"):
        sql(text.format(groups=groups), name)
    place.servers.settle()
    running = worker(place, env)
    try:
        until(place, "SELECT EXISTS (SELECT FROM errand.workers)", name)
        sql(MONTH_END, name)
        begun = time.monotonic()
        owing = 2 * groups
        took = until(place, f"SELECT count(*) >= {owing} FROM notification.notices", name) - begun
    finally:
        running.end()
    notices, people, jobs = sql(
        "SELECT count(*), count(DISTINCT person_id), (SELECT count(*) FROM errand.jobs "
        "WHERE kind = 'notification.push') FROM notification.notices", name).split("|")
    if int(notices) != owing or int(people) != owing:
        raise Failed(f"{notices} notices to {people} people, of {owing} who owe")
    return Figure(
        "month end, all notices of 100,000 households queued", "s", took * 100_000 / groups, None,
        None, ("max", 30), f"{groups:,} households",
        f"{owing:,} people owe, {int(jobs):,} jobs of their telephones; took {took:.1f} s")


def spent(place, name, running):
    """CPU seconds so far of the worker, PostgreSQL and Redis, without other processes."""
    folder = place.servers.sql("SHOW data_directory", name)
    with open(f"{folder}/postmaster.pid", encoding="ascii") as file:
        postmaster = int(file.readline())
    redis = re.search(r"process_id:(\d+)", place.servers.redis("INFO", "server"))[1]
    ours = {str(postmaster), redis, str(running.pid)}
    ticks = 0
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="ascii", errors="replace") as file:
                pid, rest = file.read().split(" ", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended, and its parent counts it.
        fields = rest.rsplit(")", 1)[1].split()
        if pid in ours or int(fields[1]) == postmaster:
            # Including its ended children.
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS


def chores(place, ours):
    """The cost of a day of chores: a sample of its occurrences."""
    name, sql = "bench_chores", place.servers.sql
    env = ours.fresh(name)
    count = place.size(100_000, 1_000_000)
    sample = place.size(5_000, 20_000)
    first, rows = 0, []
    for share, rule, days in MIX:
        rows.append(f"({first}, {first + share - 1}, '{rule}', {days})")
        first += share
    per_day = sum(share / 100 / days for share, _, days in MIX) * 1_000_000
    groups = count // 5
    for text in (PEOPLE, CHORES, "VACUUM ANALYZE"):
        sql(text.format(groups=groups, chores=count, mix=", ".join(rows)), name)
    place.servers.settle()
    running = worker(place, env)
    try:
        until(place, "SELECT EXISTS (SELECT FROM errand.workers)", name)
        sql(DUE.format(sample=sample), name)
        before, begun = spent(place, name, running), time.monotonic()
        # Assigned, planned, and notified: no chore of the sample is due and no job is left.
        took = until(
            place, "SELECT NOT EXISTS (SELECT FROM household.chores WHERE next_at <= now()) AND "
            "NOT EXISTS (SELECT FROM errand.jobs WHERE queue = 'household')", name) - begun
        cost = spent(place, name, running) - before
    finally:
        running.end()
    taken, notices = sql(
        "SELECT count(*), (SELECT count(*) FROM notification.notices) FROM household.occurrences",
        name).split("|")
    if int(taken) < sample:
        raise Failed(f"{taken} occurrences of {sample}")
    each = cost / int(taken)
    samples = f"{count:,} chores, {int(taken):,} occurrences"
    return [
        Figure("an ordinary day of 1,000,000 chores, of one core", "%",
               100 * each * per_day / 86_400, None, None, ("max", 5), samples,
               f"{1000 * each:.2f} ms of CPU each, {int(notices):,} people notified; "
               f"{per_day:,.0f} occurrences a day"),
        Figure("occurrences a second, with notices", "1/s", int(taken) / took, None, None, None,
               samples),
    ]


def notes(place, ours):
    """Notes whose time ends at the same second, from then until the last is gone; swept by the
    schedule alone."""
    name, sql = "bench_notes", place.servers.sql
    env = ours.fresh(name)
    groups, count = 1_000, place.size(20_000, 100_000)
    sql(PEOPLE.format(groups=groups), name)
    # The same number of notes that stay.
    sql(NOTES.format(groups=groups, notes=count, at="now() + interval '7 days'"), name)
    at = sql("SELECT date_trunc('second', clock_timestamp()) + interval '15 seconds'", name)
    sql(NOTES.format(groups=groups, notes=count, at=f"'{at}'::timestamptz"), name)
    sql("VACUUM ANALYZE", name)
    running = worker(place, env)
    try:
        until(place, f"SELECT NOT EXISTS (SELECT FROM household.notes WHERE expires_at <= '{at}')",
              name, pause=0.05)
        took = float(sql(f"SELECT extract(epoch FROM clock_timestamp() - '{at}')", name))
    finally:
        running.end()
    if int(sql("SELECT count(*) FROM household.notes", name)) != count:
        raise Failed("notes were deleted before their time")
    return Figure("notes of one second, all gone after", "s", took, None, None, ("max", 5),
                  f"{count:,} notes of {2 * count:,}")


def household(place, ours, _peers):
    """The end of a month, a day of chores, and notes."""
    groups = place.size(10_000, 100_000)
    return [month_end(place, ours, groups), *chores(place, ours), notes(place, ours)]
