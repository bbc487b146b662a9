"""Assignment of missions to shoppers: duration, memory, distance to the optimum.

The instances are made up with a fixed seed: cities as clusters around a centre, most missions near
the centre, and for each mission the 50 nearest shoppers who go so far.
"""
import json
import math
import os
import random
import subprocess
import time

from measure import Failed
from report import Figure

SEED = 12345
CANDIDATES = 50
MISSIONS_PER_CITY = 250
# Kilometres.
CITY_SPREAD, CENTRE, OUTSKIRTS, CELL = 6.0, 3.0, 15.0, 0.5
MEDIAN_RADIUS = 8.0


def city_of(generator, missions, shoppers, first_mission, first_shopper):
    """The rows of one city, far from all others."""
    people = []
    for number in range(shoppers):
        people.append((
            generator.gauss(0, CITY_SPREAD), generator.gauss(0, CITY_SPREAD),
            generator.lognormvariate(math.log(MEDIAN_RADIUS), 0.5),
            generator.randrange(300, 1000), generator.randrange(100, 900),
            {"id": first_shopper + number, "capacity": generator.randint(1, 4)}))
    cells = {}
    for person in people:
        cells.setdefault((int(person[0] // CELL), int(person[1] // CELL)), []).append(person)
    rows, edges = [], []
    for number in range(missions):
        reach = CENTRE if generator.random() < 0.7 else OUTSKIRTS
        angle, distance = generator.random() * 2 * math.pi, reach * math.sqrt(generator.random())
        x, y = distance * math.cos(angle), distance * math.sin(angle)
        mission = {"id": first_mission + number, "slots": generator.randint(1, 3)}
        urgency = generator.randrange(0, 20_000)
        rows.append(mission)
        for far, person in nearest(cells, x, y):
            _, _, _, quality, acceptance, shopper = person
            score = 60_000 + 40 * quality + 20 * acceptance + urgency - int(far * 8_000)
            edges.append(
                {"mission": mission["id"], "shopper": shopper["id"], "score": score})
    return rows, [person[5] for person in people], edges


def nearest(cells, x, y):
    """The nearest people whose radius reaches the place: rings of cells, until enough are near."""
    found, ring = [], 0
    column, row = int(x // CELL), int(y // CELL)
    while ring * CELL < 3 * MEDIAN_RADIUS:
        around = range(-ring, ring + 1)
        for dx in around:
            for dy in around if abs(dx) == ring else (-ring, ring):
                for person in cells.get((column + dx, row + dy), ()):
                    far = math.hypot(person[0] - x, person[1] - y)
                    if far <= person[2]:
                        found.append((far, person[5]["id"], person))
        # The minimum distance of people in the next ring.
        if len(found) >= CANDIDATES and sum(far <= ring * CELL for far, _, _ in found) \
                >= CANDIDATES:
            break
        ring += 1
    return [(far, person) for far, _, person in sorted(found)[:CANDIDATES]]


def instance(missions, shoppers):
    """An instance of cities of the same make."""
    generator = random.Random(SEED)
    cities = max(1, missions // MISSIONS_PER_CITY)
    rows = {"missions": [], "shoppers": [], "edges": []}
    for city in range(cities):
        share = [total * (city + 1) // cities - total * city // cities
                 for total in (missions, shoppers)]
        parts = city_of(generator, *share, len(rows["missions"]) + 1, len(rows["shoppers"]) + 1)
        for name, part in zip(rows, parts):
            rows[name] += part
    return rows


def scarce(rows):
    """The same with few shoppers, so that most slots are contested."""
    generator = random.Random(SEED)
    for shopper in rows["shoppers"]:
        shopper["capacity"] = 1 if generator.random() < 0.15 else 0
    return rows


def solved(place, file, *flags):
    """The summary of a run of the command, its duration, and its peak memory."""
    begun = time.monotonic()
    with subprocess.Popen(
            [place.errand, "mission", "solve", "--instance", file, "-ojson", *flags],
            stdout=subprocess.PIPE) as process:
        lines = process.stdout.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"mission solve: exit {process.returncode}")
    # ru_maxrss is in KiB.
    return json.loads(lines[-1]), time.monotonic() - begun, usage.ru_maxrss / 1024


def figures(place, rows, name, seconds, least=99.9):
    file = os.path.join(place.folder.name, "instance.json")
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(rows, stream, separators=(",", ":"))
    found, took, peak = solved(place, file)
    greedy, greedy_took, _ = solved(place, file, "--greedy")
    os.unlink(file)
    sizes = " x ".join(f"{len(rows[part]):,}" for part in ("missions", "shoppers"))
    samples = f"{sizes}, {len(rows['edges']):,} edges"
    share = 100 * found["total_score"] / found["bound"]
    beside = 100 * greedy["total_score"] / found["bound"]
    proof = "optimal" if found["is_optimal"] else "not proved optimal"
    return [
        Figure(f"{name}, in all", "s", took, None, None, ("max", seconds), samples,
               f"{proof}; {found['filled']:,} slots filled, {found['unfilled']:,} free; greedy "
               f"{greedy_took:.2f} s"),
        Figure(f"{name}, memory", "MiB", peak, None, None, ("max", 1024), samples),
        Figure(f"{name}, share of the bound", "%", share, None, None, ("min", least), samples,
               f"total {found['total_score']:,}; greedy {greedy['total_score']:,}, "
               f"{beside:.2f} %"),
    ]


def matching(place, _ours, _peers):
    """A small instance, then a large one, and one in which shoppers are scarce."""
    # 100 % of the bound is the optimum.
    small = figures(place, instance(1_000, 5_000), "1,000 missions", 1, least=100)
    size = place.size(2_000, 10_000)
    large = instance(size, 5 * size)
    found = figures(place, large, f"{size:,} missions", 20)
    return small + found + figures(place, scarce(large), f"{size:,}, scarce", 20)
