"""Notices: one event to many people, notices to a provider, and position reports."""
import re
import subprocess
import time

import pushing
from measure import run
from report import Figure
from servers import PSQL

PEOPLE = """
    INSERT INTO people.people (id, email, birth_date, age_verified_at, location_consent_at,
        quiet_from, quiet_until)
    SELECT n, n || '@example.org', '1990-01-01', '2026-01-01Z', '2026-01-01Z', NULL, NULL
    FROM generate_series(1, {people}) AS n
    """
DEVICES = """
    INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
    SELECT n, 'survey', 'apns', 'production', 'example.survey', lpad(to_hex(n), 64, '0')
    FROM generate_series(1, {people}) AS n
    """
INTEND = """
    SELECT count(notification.intend('coupon.nearby', n, 'coupon:' || n,
        '{{"title": "Two for one", "branch": "Main Street", "distance": 120,
          "last_day": "2099-01-31"}}', 'nearby:' || n, now() + interval '1 day'))
    FROM generate_series({first}::bigint, {last}) AS n
    """
ENDED = "SELECT count(*) FROM notification.notices WHERE status = 'sent'"
TOWN = (
    "ALTER TABLE coupons.coupons SET UNLOGGED",
    "INSERT INTO establishments.establishments (id, name)"
    " SELECT n, 'Chain ' || n FROM generate_series(1, 2000) AS n",
    """
    INSERT INTO establishments.branches (establishment_id, name, place)
    SELECT 1 + n % 2000, 'Branch ' || n,
        ST_SetSRID(ST_MakePoint(-74 + random(), 45 + random()), 4326)::geography
    FROM generate_series(1, {branches}) AS n
    """,
    # Skips foreign key checks, which would take longest, for generated data.
    """
    SET session_replication_role = replica;
    INSERT INTO coupons.coupons (person_id, establishment_id, title, radius_m, valid_from,
        expires_at)
    SELECT 1 + n % {people}, 1 + (n * 7919::bigint) % 2000, 'Coupon ' || n, 150,
        '2026-01-01Z', '2099-01-01Z'
    FROM generate_series(1, {coupons}) AS n
    """,
    "VACUUM ANALYZE",
)
# One in twenty is at a branch where one of the person's coupons is valid.
REPORT = """
    SELECT count(coupons.report_position(n, coalesce(ST_X(b.place::geometry), -74 + random()),
        coalesce(ST_Y(b.place::geometry), 45 + random()), 20, now()))
    FROM generate_series({{first}}::bigint, {{last}}) AS n
    LEFT JOIN establishments.branches b
        ON n % 20 = 0 AND b.id = 2000 + (n - 1 + {people}) * 7919 % 2000
    """
PLAN = """
    PREPARE look AS {statement};
    SET plan_cache_mode = force_custom_plan;
    EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE look({arguments}, now())
    """


def fan_out(place, ours, _peers):
    """One event to all people, from the event to the jobs of their devices."""
    people = place.size(20_000, 100_000)
    figures = []
    for kind in ("urgent", "promotional"):
        env = ours.fresh("bench_notices")
        found = run([place.bench, "fan-out", "--people", people, "--kind", kind], env)[0]
        seconds = found["seconds"] * 100_000 / people
        figures.append(Figure(
            f"{kind} event to 100,000 people, their jobs in the queue", "s", seconds, None, None,
            ("max", 3), f"{people:,} people, {found['jobs']:,.0f} jobs"))
    return figures


def in_parts(servers, text, count, size=1_000):
    """Runs a statement for the ids from 1 to `count`, in transactions of N ids; seconds."""
    statements = ";\n".join(text.format(first=first, last=min(first + size - 1, count))
                            for first in range(1, count + 1, size))
    start = time.monotonic()
    subprocess.run([PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d",
                    servers["DATABASE_URL"]], check=True, input=statements + ";", text=True,
                   stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def drain(place, env, queues):
    """The seconds of a worker that drains all jobs."""
    start = time.monotonic()
    run([place.errand, "work", "--drain", "--queues", queues], env)
    return time.monotonic() - start


def notices(place, ours, _peers):
    """From notification.intend() to APNs' recorded response, with a local simulator."""
    count = place.size(6_000, 30_000)
    sink = pushing.Sink(place)
    try:
        env = {**ours.fresh("bench_notices"), "ERRAND_APNS_KEY_FILE": str(sink.folder / "apns.p8"),
               "ERRAND_APNS_KEY_ID": "ABCDE12345", "ERRAND_APNS_TEAM_ID": "TEAM123456",
               "ERRAND_APNS_URL": sink.url, "ERRAND_APNS_CA": str(sink.folder / "ca.pem"),
               "ERRAND_LOG": "error"}
        sql = place.servers.sql
        for text in (PEOPLE, DEVICES):
            sql(text.format(people=count), "bench_notices")
        sql("VACUUM ANALYZE", "bench_notices")
        recorded = in_parts(env, INTEND, count)
        worked = drain(place, env, "notices:1000,apns:256")
        sent = int(sql(ENDED, "bench_notices"))
        if sent != count:
            raise RuntimeError(f"{sent} of {count} notices were sent")
    finally:
        sink.end()
    return [
        Figure("notices from the intent to the recorded answer", "notices/s",
               count / (recorded + worked), None, None, ("min", 3_000), f"{count:,}",
               f"intents from SQL in {recorded:.1f} s, then one worker and push_sink.py in "
               f"{worked:.1f} s, the worker's start and end with it"),
        Figure("of this, from the decision on", "notices/s", count / worked, None, None, None,
               f"{count:,}"),
    ]


def a_batch(people, size=500):
    """The input of one batch: numbers, people, longitudes, latitudes, accuracies."""
    numbers = range(size)
    columns = (numbers, [1 + n * 397 % people for n in numbers],
               [-74 + n * 97 % size / size for n in numbers],
               [45 + n * 89 % size / size for n in numbers], [20] * size)
    return ", ".join("'{" + ",".join(map(str, column)) + "}'" for column in columns)


def positions(place, ours, _peers):
    """Position reports, matched with all live coupons."""
    sizes = {"people": place.size(20_000, 200_000), "coupons": place.size(100_000, 1_000_000),
             "branches": place.size(10_000, 100_000)}
    count = place.size(20_000, 200_000)
    env = ours.fresh("bench_notices")
    sql = place.servers.sql
    for text in (PEOPLE, *TOWN):
        sql(text.format(**sizes), "bench_notices")
    path = place.root / "Sources/Modules/Coupons/Positions/Proximity.swift"
    source = path.read_text(encoding="utf-8")
    statement = re.search(r'static let statement = """\n(.*?)"""', source, re.DOTALL)[1]
    print(sql(PLAN.format(statement=statement, arguments=a_batch(sizes["people"])),
              "bench_notices"))
    reported = in_parts(env, REPORT.format(**sizes), count)
    worked = drain(place, {**env, "ERRAND_LOG": "error"}, "coupons:1000,notices:500")
    left = int(sql("SELECT count(*) FROM errand.jobs WHERE kind = 'coupons.position'",
                   "bench_notices"))
    if left:
        raise RuntimeError(f"{left} of {count} reports were not looked at")
    near = int(sql("SELECT count(*) FROM notification.notices", "bench_notices"))
    if near < count / 20:
        raise RuntimeError(f"{near} notices came of {count / 20:.0f} reports at a branch")
    samples = (f"{count:,} reports, {sizes['coupons']:,} live coupons, "
               f"{sizes['branches']:,} branches")
    return [
        Figure("position reports looked at", "reports/s", count / worked, None, None,
               ("min", 10_000), samples,
               f"{near:,} notices came of them; one worker, its start and end with it; "
               f"they were taken in at {count / reported:,.0f}/s by report_position() in SQL"),
    ]
