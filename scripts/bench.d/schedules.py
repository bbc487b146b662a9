"""Schedules: the lateness of their jobs, the cost of a tick, the speed of computing times."""
import time

from delays import pair, raw_probe
from footprint import start_up
from measure import Failed, median, percentile, process_seconds, run
from report import Figure
from servers import PSQL

COUNT = 10_000
DATABASE = "bench_schedule"
# Minute crons and intervals, evenly over the seconds and five zones, one in twenty not to overlap.
MINUTELY = """
    INSERT INTO errand.schedules
        (name, recurrence, zone, starts_at, kind, args, overlap, next_at)
    SELECT 'bench-' || n,
        CASE WHEN n % 5 = 0 THEN '@every 60s' ELSE (n / 5) % 60 || ' * * * * *' END,
        ('{{UTC,America/Toronto,Europe/Berlin,Asia/Kolkata,Australia/Lord_Howe}}'::text[])
            [1 + (n / 300) % 5],
        CASE WHEN n % 5 = 0 THEN timestamptz '2026-01-01' + make_interval(secs => (n / 5) % 60) END,
        'bench.due', jsonb_build_object('group', rule), rule, '-infinity'
    FROM (SELECT n, CASE WHEN hashint4(n) % 20 = 0 THEN 'skip' ELSE 'allow' END AS rule
          FROM generate_series(1, {count}) AS n) AS s
"""
YEARLY = """
    INSERT INTO errand.schedules (name, recurrence, zone, kind, next_at)
    SELECT 'bench-' || n, '30 2 ' || 1 + n % 28 || ' ' || month || ' *', 'America/Toronto',
        'demo.noop', '-infinity'
    FROM generate_series(1, {count}) AS n,
        extract(month FROM now() + interval '6 months') AS month
"""
DELAYED = """
    INSERT INTO errand.jobs (queue, kind, args, run_at)
    SELECT 'default', 'bench.due', '{{"group": "delayed"}}', clock_timestamp() + {after}
    FROM generate_series(1, {count}) AS n
"""
PLAN_AGAIN = """
    UPDATE errand.schedules SET replan = 'tzdata', next_at = '-infinity';
    NOTIFY errand_schedules
"""
MAKE_DUE = """
    UPDATE errand.schedules SET next_due = m.at, next_at = m.at
    FROM (SELECT date_trunc('second', now()) - interval '2 s' AS at) AS m
"""
# The writes of a tick, in one statement and without any decision.
RAW_TICK = """
    WITH made AS (
        INSERT INTO errand.jobs (queue, kind, args, run_at, options)
        SELECT 'default', kind, args, clock_timestamp(), jsonb_build_object('occurrence',
            jsonb_build_object('schedule', name, 'due', next_due))
        FROM errand.schedules
    ), noted AS (
        INSERT INTO errand.schedule_occurrences (schedule_id, due_at, job_id, origin, outcome)
        SELECT id, next_due, id, 'schedule', 'enqueued' FROM errand.schedules
    )
    UPDATE errand.schedules SET runs = runs + 1, last_due = next_due,
        next_due = next_due + interval '1 year', next_at = next_at + interval '1 year'
"""
EXPRESSIONS = ["*/5 * * * *", "30 2 * * *", "0 0 29 2 *", "0 0 ? 2 1#5", "@every 90s"]


def schedule(place, ours, peers):
    """Lateness under ten thousand schedules and a million delayed jobs; ticks; timetables."""
    # No peer supports time zones; their figures would not be comparable.
    figures = lateness(place, ours) + leading(place, ours) + ticks(place, ours)
    place.servers.drop(DATABASE)
    return figures + timetables(place)


# ---- Lateness ------------------------------------------------------------------------------------

def lateness(place, ours):
    waiting, lasting = place.size(100_000, 1_000_000), place.size(10, 30)
    env = filled(place, ours, waiting, lasting + 60)
    record = place.file("due")
    begun = time.monotonic()
    worker = ours.work(env, seconds=lasting + 30, record=record)
    try:
        await_plans(place)
        planned = time.monotonic() - begun
        time.sleep(4)
        # Whole seconds only: schedules are due at the start of a second.
        start = float(int(time.time())) + 0.5
        costs = [spent(place, worker)]
        time.sleep(lasting)
        costs.append(spent(place, worker))
        again = time.time()
        replanned = plan_again(place)
        worker.join(60)
    finally:
        worker.end()
    seen = starts(record)
    measured = {group: during(seen, group, start, start + lasting)
                for group in ("allow", "skip", "delayed")}
    raw = raw_probe(ours, ours.fresh(), count=200 * lasting, rate=200, by="sql")
    ours.place.servers.drop("bench_ours")
    own, servers = [100 * (after - before) / lasting for before, after in zip(*costs)]
    figures = []
    for group, title in (("allow", "schedules, overlap allow"), ("skip", "schedules, overlap skip"),
                         ("delayed", "delayed jobs")):
        late = measured[group]
        figures += pair(f"late: {title}", late, raw, {}, (5, 25), f"{len(late):,}",
                        f"max {max(late):.1f}; raw: INSERT and NOTIFY, LISTEN, claim")
    disturbed = during(seen, None, again, again + replanned + 2)
    return [
        *figures,
        Figure("processor: worker", "% of a core", own, None, None, None, f"{lasting} s",
               f"PostgreSQL {servers:.0f} %: {COUNT:,} schedules, about 170 due a second, and 100 "
               f"delayed jobs a second before {waiting:,} that wait"),
        Figure(f"{COUNT:,} new ones planned, from the worker's start", "s", planned, samples="1"),
        Figure(f"{COUNT:,} planned again while others run", "s", replanned, samples="1",
               note=f"what was due meanwhile started late by p50 {percentile(disturbed, 0.5):.1f}, "
               f"p99 {percentile(disturbed, 0.99):.1f}, max {max(disturbed):.1f} ms"),
    ]


def filled(place, ours, waiting, lasting):
    """A database with the schedules, jobs far in the future, and jobs that become due meanwhile."""
    env = ours.fresh(DATABASE)
    sql = place.servers.sql
    sql(DELAYED.format(count=waiting, after="interval '4 h' + random() * interval '4 h'"), DATABASE)
    sql(MINUTELY.format(count=COUNT), DATABASE)
    sql("VACUUM (ANALYZE) errand.jobs, errand.schedules", DATABASE)
    place.servers.settle()
    sql(DELAYED.format(count=100 * lasting, after="make_interval(secs => (n + random()) / 100)"),
        DATABASE)
    return env


def await_plans(place):
    """Waits until every schedule's next time is computed."""
    limit = time.monotonic() + 60
    while place.servers.sql("SELECT EXISTS (SELECT FROM errand.schedules "
                            "WHERE replan IS NOT NULL)", DATABASE) == "t":
        if time.monotonic() > limit:
            raise Failed("the schedules were not planned within 60 s")
        time.sleep(0.05)


def plan_again(place):
    place.servers.sql(PLAN_AGAIN, DATABASE)
    begun = time.monotonic()
    await_plans(place)
    return time.monotonic() - begun


def starts(path):
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file]
    return [(group, float(due), float(at)) for group, due, at in rows]


def during(seen, group, start, end):
    """The lateness of the jobs due in that time, in milliseconds."""
    return [(at - due) * 1e3 for name, due, at in seen
            if start <= due < end and group in (None, name)]


def spent(place, worker):
    """CPU seconds so far of the worker, and of PostgreSQL's processes."""
    pids = place.servers.sql("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
                             DATABASE).split()
    return process_seconds(worker.pid), sum(process_seconds(pid) for pid in pids)


# ---- Leading, and ticks --------------------------------------------------------------------------

def leading(place, ours):
    """The cost of an idle scheduler, compared with a worker without schedules."""
    lasting = place.size(5, 10)
    shares = []
    for schedules in ("on", "off"):
        env = yearly(place, ours)
        worker = ours.work(env, seconds=lasting + 20, schedules=schedules)
        try:
            if schedules == "on":
                await_plans(place)
            time.sleep(5)
            before = spent(place, worker)
            time.sleep(lasting)
            after = spent(place, worker)
        finally:
            worker.end()
        shares.append([100 * (late - early) / lasting for early, late in zip(before, after)])
    (own, servers), (raw, raw_servers) = shares
    note = f"{COUNT:,} schedules; raw: the same worker without a scheduler"
    return [
        Figure("nothing due: worker", "% of a core", own, raw, None, None, f"{lasting} s", note),
        Figure("nothing due: PostgreSQL", "% of a core", servers, raw_servers, None, None,
               f"{lasting} s"),
    ]


def yearly(place, ours):
    """A database with schedules that are not due for months."""
    env = ours.fresh(DATABASE)
    place.servers.sql(YEARLY.format(count=COUNT), DATABASE)
    place.servers.sql("VACUUM (ANALYZE) errand.schedules", DATABASE)
    return env


def ticks(place, ours):
    """`errand schedule tick`, the whole process."""
    env = yearly(place, ours)
    words = [place.errand, "schedule", "tick", "--output", "json"]
    new = run(words, env)[1].wall
    idle, select = idle_ticks(place, env, 20)
    rates, raws = [], []
    for _ in range(place.size(1, 3)):
        place.servers.sql(MAKE_DUE, DATABASE)
        place.servers.settle()
        made, process = run(words, env)
        if made["enqueued"] != COUNT:
            raise Failed(f"the tick created {made['enqueued']:,} jobs of {COUNT:,}")
        rates.append(process.wall)
        time.sleep(1.1)
    opened, _ = idle_ticks(place, env, 5)
    for _ in rates:
        place.servers.sql(MAKE_DUE, DATABASE)
        place.servers.settle()
        begun = time.monotonic()
        place.servers.sql(RAW_TICK, DATABASE)
        raws.append(time.monotonic() - begun)
        time.sleep(1.1)
    due, raw = median(rates), median(raws)
    return [
        Figure("tick, nothing due, p50", "ms", percentile(idle, 0.5), percentile(select, 0.5),
               None, ("max", 50), f"{len(idle)}",
               f"max {max(idle):.0f} (raw: {max(select):.0f}); the whole process, with {COUNT:,} "
               f"schedules; while {len(rates) * COUNT:,} of their jobs wait "
               f"{percentile(opened, 0.5):.0f}; raw: psql -c 'SELECT 1'"),
        Figure(f"tick, {COUNT:,} due", "s", due, raw, None, ("max", 2), f"{len(rates)}",
               f"{COUNT / due:,.0f} jobs/s (raw: {COUNT / raw:,.0f}); raw: one statement for the "
               "same rows, by psql"),
        Figure(f"tick, {COUNT:,} new ones planned", "s", new, samples="1"),
    ]


def idle_ticks(place, env, times):
    """The duration of N ticks, each compared with one SELECT 1, in milliseconds."""
    tick = [place.errand, "schedule", "tick"]
    select = [PSQL, "-XAtq", "-d", env["DATABASE_URL"], "-c", "SELECT 1"]
    run(tick, env)
    found = [(start_up(tick, env), start_up(select, env)) for _ in range(times)]
    return [own for own, _ in found], [raw for _, raw in found]


# ---- Timetables ----------------------------------------------------------------------------------

def timetables(place):
    """The time to compute the next and the previous time of an expression."""
    count, figures = place.size(2_000, 20_000), []
    for text in EXPRESSIONS:
        found = run([place.bench, "timetable", "--expression", text, "--zone", "America/Toronto",
                     "--count", count], {})[0]
        figures += [
            Figure(f"{side} of {text}", "µs", found[side], samples=f"{count:,}",
                   note=f"worst {found[side + '_worst']:.1f}, from moments of twenty years, in "
                   "America/Toronto") for side in ("next", "previous")]
    return figures
