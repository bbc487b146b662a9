"""Missions from the database: the time until all have a shopper, and the memory.

Cities lie a degree apart; in each most missions are near the centre. What is measured is the
command, from its start to its last line: the candidates, the search, and, in the last row, the
offers.
"""
import json
import os
import subprocess
import time

from measure import Failed
from report import Figure

# 70 % of the missions lie within 3 km of a centre; a degree of latitude is 111 km.
FILL = """
    SELECT setseed(0.12345);
    UPDATE missions.rules SET candidates = 50;
    INSERT INTO people.people (id, birth_date, age_verified_at)
    SELECT n, '1990-05-17', now() FROM generate_series(1, {shoppers}) n;
    INSERT INTO missions.shoppers (person_id, state, state_since, hired_at, waiting_since, reviewed,
        good, quality, completed, missed, radius_m, daily_capacity, expected_pay, home)
    SELECT n, 'active', now(), now(), now() - random() * interval '40 days', 40,
        25 + (random() * 15)::int, 0.5 + random() * 0.4, (random() * 20)::int, (random() * 2)::int,
        exp(ln(8000) + random() - 0.5), 1 + (random() * 3)::int, 1000 + (random() * 20)::int * 100,
        st_setsrid(st_makepoint(n % {cities} % 20 - 90 + (random() + random() - 1) * 0.16,
            40 + n % {cities} / 20 + (random() + random() - 1) * 0.11), 4326)::geography
    FROM generate_series(1, {shoppers}) n;
    INSERT INTO establishments.establishments (id, name)
    SELECT n, 'Chain ' || n FROM generate_series(1, 100) n;
    INSERT INTO establishments.branches (id, establishment_id, name, place)
    SELECT n, 1 + n % 100, 'Branch ' || n,
        st_setsrid(st_makepoint(n % {cities} % 20 - 90 + (random() - 0.5) * r,
            40 + n % {cities} / 20 + (random() - 0.5) * r * 0.7), 4326)::geography
    FROM (SELECT n, CASE WHEN random() < 0.7 THEN 0.06 ELSE 0.25 END AS r
        FROM generate_series(1, {missions} / {at_branch}) n) b;
    INSERT INTO missions.missions (branch_id, establishment_id, opens_at, closes_at, first_day,
        due_day, paid, pay, rest_days, title, time_zone, place)
    SELECT b.id, b.establishment_id, now(), t.closes_at, current_date, t.closes_at::date,
        4000, 1000 + (b.id + n) % 20 * 100, 90, 'Mission ' || b.id, 'UTC', b.place
    FROM establishments.branches b CROSS JOIN generate_series(1, {at_branch}) n CROSS JOIN LATERAL (
        SELECT now() + interval '1 day' + (b.id + 5 * n) % 13 * interval '1 day' AS closes_at) t;
    """


def assigned(place, env, *flags):
    """The summary of a run, its duration, and its peak memory in MiB."""
    begun = time.monotonic()
    with subprocess.Popen(
            [place.errand, "mission", "assign", "-ojson", *flags], stdout=subprocess.PIPE,
            env={**os.environ, **env}) as process:
        lines = process.stdout.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"mission assign: exit {process.returncode}")
    return json.loads(lines[-1]), time.monotonic() - begun, usage.ru_maxrss / 1024


def town(place, ours, name, **numbers):
    """A database with missions and shoppers; returns its variables."""
    env = ours.fresh(name)
    place.servers.sql(FILL.format(**numbers), name)
    place.servers.sql("VACUUM ANALYZE", name)
    place.servers.settle()
    return env


def missions(place, ours, _peers):
    """Ten thousand missions and five times as many shoppers; then too few of them."""
    name, sql = "bench_missions", place.servers.sql
    count = place.size(2_000, 10_000)
    env = town(place, ours, name, missions=count, shoppers=5 * count, cities=count // 250,
               at_branch=1)
    found, took, peak = assigned(place, env, "--dry-run")
    greedy, greedy_took, _ = assigned(place, env, "--dry-run", "--greedy")
    made, made_took, made_peak = assigned(place, env, "--yes")
    if int(sql("SELECT count(*) FROM missions.assignments", name)) != made["filled"]:
        raise Failed("fewer missions were offered than reported")
    candidates = int(sql("SELECT candidates FROM missions.runs", name))
    samples = f"{count:,} missions, {5 * count:,} shoppers, {candidates:,} candidates"
    # Most of each score is for the slot; the rest distinguishes two ways to fill it.
    above = [row["total_score"] - 10**12 * row["filled"] for row in (found, greedy)]
    bound = found["bound"] - 10**12 * found["filled"]
    proof = "optimal" if found["is_optimal"] else "not proved optimal"
    return [
        Figure("assigned from the database", "s", took, None, None, ("max", 20), samples,
               f"{proof}; {found['filled']:,} slots filled, {found['unfilled']:,} free; greedy "
               f"{greedy_took:.2f} s, {greedy['filled']:,} filled"),
        Figure("memory", "MiB", max(peak, made_peak), None, None, ("max", 1024), samples),
        Figure("share of the bound", "%", 100 * found["total_score"] / found["bound"], None, None,
               ("min", 99.9), samples,
               f"without what each slot gets: {100 * above[0] / bound:.3f} %, greedy "
               f"{100 * above[1] / bound:.3f} %"),
        Figure("assigned and offered", "s", made_took, None, None, None, samples,
               f"{made['filled']:,} offers, each checked again"),
        scarce(place, ours, count),
    ]


def scarce(place, ours, count):
    """As many missions for an eighth as many shoppers, and four at a branch, which rests."""
    env = town(place, ours, "bench_scarce", missions=count, shoppers=count // 8,
               cities=count // 250, at_branch=4)
    found, took, _ = assigned(place, env, "--dry-run")
    greedy, _, _ = assigned(place, env, "--dry-run", "--greedy")
    share, other = (100 * row["total_score"] / found["bound"] for row in (found, greedy))
    samples = f"{count:,} missions, 4 at a branch, {count // 8:,} shoppers"
    return Figure(
        "assigned where shoppers are scarce", "s", took, None, None, ("max", 20), samples,
        f"{found['filled']:,} slots filled, {found['rests']:,} free because all rest; "
        f"greedy {greedy['filled']:,}; {share:.3f} % of the bound, greedy {other:.3f} %")
