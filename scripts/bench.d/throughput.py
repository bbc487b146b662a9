"""Jobs per second: drained and enqueued."""
import json

from measure import machine_seconds, median, run
from programs import drained
from report import Figure

ARGS = json.dumps({"payload": "x" * 84})


def fill(place, env, count):
    """Enqueues noops with the real command."""
    run([place.errand, "enqueue", "demo.noop", ARGS, "--count", count, "--output", "json"], env)


def drain_once(place, env):
    """Drains with the real command; its summary and the process."""
    return run(
        [place.errand, "work", "--queues", "default", "--drain", "--output", "json"], env)


def drain(place, ours, peers):
    """No-op jobs with 100 bytes of arguments, all waiting before the worker starts."""
    count, rounds = place.size(150_000, 500_000), place.size(2, 3)
    rates, raws, wal, costs, raw_costs, peak, walls = [], [], [], [], [], 0, []
    # Alternating, each round on a separate database: other load of the machine affects both.
    for _ in range(rounds):
        env = ours.fresh("bench_drain")
        before = place.servers.wal_bytes()
        fill(place, env, count)
        place.servers.settle()
        summary, process = drain_once(place, env)
        wal.append((place.servers.wal_bytes() - before) / count)
        rates.append(summary["completed"] / summary["seconds"])
        walls.append(summary["completed"] / process.wall)
        costs.append(process.machine / count * 1e6)
        peak = max(peak, process.peak)
        env = ours.fresh("bench_drain_raw")
        fill(place, env, count)
        place.servers.settle()
        before = machine_seconds()
        result = ours.raw(env, "drain", count=count)
        raw_costs.append((machine_seconds() - before) / count * 1e6)
        raws.append(result["jobs"] / result["seconds"])
    updates, hot, deletes, left = place.servers.row_versions("bench_drain")
    place.servers.drop("bench_drain")
    place.servers.drop("bench_drain_raw")
    peer_rates, peer_costs = {}, {}
    jobs, peer_rounds = place.size(25_000, 100_000), place.size(1, 2)
    for peer in peers:
        peer_rates[peer.name], peer_costs[peer.name] = drain_peer(place, peer, jobs, peer_rounds)
    samples = f"{rounds} x {count:,}"
    of_peers = f"; the peers: {peer_rounds} x {jobs:,}" if peers else ""
    return [
        Figure("drain", "jobs/s", median(rates), median(raws), peer_rates, ("min", 75_000),
               samples, f"rounds {[round(rate) for rate in rates]}, raw "
               f"{[round(rate) for rate in raws]}; by the clock around the whole process "
               f"{round(median(walls)):,}; raw: pop 1,000, claim while the last are completed, "
               f"Redis filled beforehand{of_peers}"),
        Figure("machine time", "us/job", median(costs), median(raw_costs), peer_costs, None,
               samples, "processor time of all processes; of short runs it includes the start"
               + of_peers),
        Figure("WAL, enqueue to history", "bytes/job", median(wal), None, None, None, samples,
               "full-page images after the checkpoint between the two included"),
        Figure("row versions left behind", "per job", (updates + deletes) / count, None,
               None, None, f"{count:,}", f"{updates / count:.2f} by updates, of which "
               f"{hot / max(updates, 1):.0%} heap-only, {deletes / count:.2f} by deletes; "
               f"{left:,} dead rows were left when it ended"),
        Figure("memory while draining", "MiB", peak / 2**20, None, None, ("max", 100), samples),
    ]


def drain_peer(place, peer, count, rounds):
    """Jobs per second and the machine's microseconds per job, median of the rounds."""
    rates, costs = [], []
    for _ in range(rounds):
        env = peer.fresh()
        peer.enqueue(env, count=count, batch=1_000)
        place.servers.settle()
        rate, process = drained(peer, env, count)
        rates.append(rate)
        costs.append(process.machine / count * 1e6)
    return median(rates), median(costs)


def enqueue(place, ours, peers):
    """Enqueued jobs: in batches, one by one, by eight callers, and from a file."""
    many, few = place.size(150_000, 1_000_000), place.size(6_000, 40_000)
    cases = [
        ("batches of 1,000", many, 1_000, 1, 150_000),
        ("one at a time, one connection", few, 1, 1, 5_000),
        ("one at a time, 8 callers", few * 3, 1, 8, 15_000),
    ]
    figures = []
    for name, count, batch, callers, aim in cases:
        flags = {"batch": batch, "callers": callers}
        rates, raws = [], []
        for _ in range(2):
            env = ours.fresh("bench_enqueue")
            result = ours.enqueue(env, count=count, **flags)
            rates.append(result["jobs"] / result["seconds"])
            env = ours.fresh("bench_enqueue")
            result = ours.raw(env, "enqueue", count=count, **flags)
            raws.append(result["jobs"] / result["seconds"])
        others = {}
        jobs = min(count, place.size(20_000, 100_000)) // (place.size(4, 1) if batch == 1 else 1)
        for peer in peers:
            result = peer.enqueue(peer.fresh(), count=jobs, **flags)
            others[peer.name] = result["jobs"] / result["seconds"]
        figures.append(Figure(
            name, "jobs/s", sum(rates) / 2, sum(raws) / 2, others, ("min", aim),
            f"2 x {count:,}", "durable on return, except Sidekiq's"
            + (f"; the peers: 1 x {jobs:,}" if peers else "")))
    figures.append(bulk(place, ours))
    place.servers.drop("bench_enqueue")
    return figures


def bulk(place, ours):
    count = place.size(200_000, 1_000_000)
    path = place.file("jobs.ndjson")
    line = f'{{"kind": "demo.noop", "args": {ARGS}}}\n'
    with open(path, "w", encoding="ascii") as file:
        for _ in range(count // 1000):
            file.write(line * 1000)
    env = ours.fresh("bench_enqueue")
    _, process = run([place.errand, "enqueue", "--bulk", path, "--output", "json"], env)
    env = ours.fresh("bench_enqueue")
    raw = ours.raw(env, "copy", count=count)
    return Figure(
        "--bulk from NDJSON", "jobs/s", count / process.wall, raw["jobs"] / raw["seconds"], None,
        ("min", 200_000), f"{count:,}",
        f"the whole process by the clock, {process.peak / 2**20:.0f} MiB at most; raw: COPY of "
        "rows that were encoded beforehand; the peers have nothing of the kind")
