"""Throughput with a long backlog, a long history, or another session's open transaction."""
import subprocess

from measure import median
from programs import drained
from report import Figure
from servers import PSQL
from throughput import ARGS, drain_once, fill

WAITING = """
    INSERT INTO errand.jobs (queue, kind, args, run_at)
    SELECT 'default', 'demo.noop', '{args}', clock_timestamp() + interval '{later}'
    FROM generate_series(1, {count})
"""
FINISHED = """
    INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at, worker,
        keep_until, outcome, duration_ms, priority, attempt, max_attempts, args_version, queue,
        kind, args)
    SELECT -n, now(), now(), now(), now(), 1, (now() AT TIME ZONE 'UTC')::date + (n % 8)::int,
        'completed', 0.1, 2, 1, 20, 1, 'default', 'demo.noop', '{args}'
    FROM generate_series(1, {count}) AS n
"""


def backlog(place, ours, peers):
    """The drain rate with other jobs waiting, scheduled, or finished."""
    # Peers are slow to fill: not with --quick.
    peers = [] if place.quick else peers
    count = place.size(60_000, 200_000)
    waiting, finished = place.size(300_000, 5_000_000), place.size(300_000, 20_000_000)
    plain, raw_plain = with_rows(place, ours, count, None)
    samples = f"{place.size(2, 3)} x {count:,}"
    figures = [Figure("nothing else in the tables", "jobs/s", plain, raw_plain, None, None,
                      samples)]
    for name, rows, text in (
            (f"{waiting:,} waiting behind in the same lane", waiting,
             WAITING.format(args=ARGS, later="0", count=waiting)),
            (f"{waiting:,} scheduled for later", waiting,
             WAITING.format(args=ARGS, later="1 day", count=waiting)),
            (f"{finished:,} finished", finished, FINISHED.format(args=ARGS, count=finished))):
        rate, raw = with_rows(place, ours, count, text)
        figures.append(Figure(
            name, "jobs/s", rate, raw, None, ("min", 0.9 * plain), samples,
            f"{rate / plain:.2f} of the undisturbed rate (raw: {raw / raw_plain:.2f})"))
    for peer in peers:
        jobs, longest = 50_000, 500_000
        rates = []
        for behind in (0, longest):
            env = peer.fresh()
            peer.enqueue(env, count=jobs + behind, batch=1_000)
            place.servers.settle()
            rates.append(drained(peer, env, jobs)[0])
        figures[0].peers[peer.name], figures[1].peers[peer.name] = rates
        figures[1].note += f"; {peer.name} with {longest:,} behind, 1 x {jobs:,}"
    return figures


def with_rows(place, ours, count, text):
    """Our rate and the raw one over the first `count` jobs, median of the rounds."""
    servers = place.servers
    env = ours.fresh("bench_backlog")
    rounds = place.size(2, 3)
    # The oldest jobs run first.
    fill(place, env, count * rounds * 2)
    if text:
        servers.sql(text, "bench_backlog")
    servers.sql("VACUUM (ANALYZE) errand.jobs", "bench_backlog")
    rates, raws = [], []
    for _ in range(rounds):
        servers.settle()
        rates.append(drained(ours, env, count)[0])
        servers.settle()
        result = ours.raw(env, "drain", count=count)
        # From the first start to the last, as for Errand.
        raws.append(result["jobs"] / result["start_seconds"])
    servers.drop("bench_backlog")
    return median(rates), median(raws)


class HeldTransaction:
    """Another session that has read and then stays idle in its transaction."""

    def __init__(self, url):
        self.psql = subprocess.Popen(
            [PSQL, "-XAtq", "-d", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current();\n")
        self.psql.stdin.flush()
        self.psql.stdout.readline()

    def end(self):
        self.psql.stdin.close()
        self.psql.wait(30)


def held(place, ours, peers):
    """The drain rate while another session's transaction holds back vacuum."""
    count, rounds = place.size(80_000, 200_000), place.size(3, 10)
    peers = [] if place.quick else peers
    env = ours.fresh("bench_held")
    free = [drain_round(place, env, count) for _ in range(place.size(2, 3))]
    transaction = HeldTransaction(env["DATABASE_URL"])
    try:
        rates = [drain_round(place, env, count) for _ in range(rounds)]
        raws = [raw_round(place, ours, env, count) for _ in range(2)]
    finally:
        transaction.end()
    raw_free = raw_round(place, ours, env, count)
    place.servers.drop("bench_held")
    peer_free, peer_last = {}, {}
    jobs = 50_000
    for peer in peers:
        env = peer.fresh()
        peer_free[peer.name] = peer_round(place, peer, env, jobs)
        transaction = HeldTransaction(env["DATABASE_URL"])
        try:
            for _ in range(4):
                peer_last[peer.name] = peer_round(place, peer, env, jobs)
        finally:
            transaction.end()
    of_peers = f"; the peers: 4 x {jobs:,}" if peers else ""
    undisturbed, last = median(free), rates[-1]
    return [
        Figure("undisturbed", "jobs/s", undisturbed, raw_free, peer_free, None,
               f"{len(free)} x {count:,}"),
        Figure("transaction held, last round", "jobs/s", last, raws[-1], peer_last,
               ("min", 0.8 * undisturbed), f"{rounds} x {count:,}",
               f"{last / undisturbed:.2f} of the undisturbed rate; rounds "
               f"{[round(rate) for rate in rates]}; Sidekiq uses no database{of_peers}"),
    ]


def drain_round(place, env, count):
    fill(place, env, count)
    place.servers.settle()
    summary, _ = drain_once(place, env)
    return summary["completed"] / summary["seconds"]


def raw_round(place, ours, env, count):
    fill(place, env, count)
    place.servers.settle()
    result = ours.raw(env, "drain", count=count)
    return result["jobs"] / result["seconds"]


def peer_round(place, peer, env, count):
    peer.enqueue(env, count=count, batch=1_000)
    place.servers.settle()
    return drained(peer, env, count)[0]
