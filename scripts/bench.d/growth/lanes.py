"""The cost of lanes (queues times kinds): declared ones without jobs, and active ones."""
import contextlib
import os
import pathlib
import threading
import time

from fitting import slope
from measure import Failed, percentile
from programs import starts
from report import Figure
from sessions import Session
from usage import Usage, private_bytes

# The kinds that ErrandBench has for its other measurements.
FEW, MANY = 4, 100
DATABASE = "bench_lanes"
ROWS_SENT = """
    SELECT coalesce(sum(rows), 0) FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def lanes(place, ours, peers):
    """A worker that declares N queues and kinds: without jobs, then a job a queue and second."""
    steps = [(10, FEW), (1_000, MANY)] if place.quick or place.is_trial else [
        (queues, kinds) for kinds in (FEW, MANY) for queues in (10, 100, 1_000, 5_000)]
    seconds = place.size(4, 10)
    figures, idle_costs = [], []
    for queues, kinds in steps:
        made, idle = step(place, ours, queues, kinds, max(seconds, 1))
        figures += made
        idle_costs.append((queues * kinds, 1e4 * idle))
    figures.append(Figure(
        "processor time of a declared lane", "us/s", slope(idle_costs), None, None, ("max", 1),
        f"line through {len(idle_costs)} steps",
        "worker, PostgreSQL and Redis together, by the number of lanes; "
        + ", ".join(f"{count:,} lanes {cost / 1e4:.1f} %" for count, cost in idle_costs)))
    figures += few_of_many(place, ours, max(seconds, 1))
    place.servers.drop(DATABASE)
    return figures


def name(number):
    return f"lane-{number:04}"


def listed(place, queues):
    """The queues of a worker, by their names or by a pattern."""
    return "lane-*:4" if place.patterns else ",".join(f"{name(n)}:4" for n in range(queues))


@contextlib.contextmanager
def worker_of(place, ours, queues, kinds):
    """A worker that has started, its use of the machine, and its record of starts."""
    env = ours.fresh(DATABASE)
    record = place.file("starts")
    pathlib.Path(record).unlink(missing_ok=True)
    with Usage(place.servers, DATABASE) as usage:
        usage.session.rows("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        worker = ours.work(env, queues=listed(place, queues), kinds=kinds, record=record)
        try:
            begun = time.monotonic()
            while not usage.session.number("SELECT count(*) FROM errand.workers"):
                if worker.process.poll() is not None or time.monotonic() > begun + 60:
                    worker.join(1)
                    raise Failed(f"no worker of {queues} queues registered")
                time.sleep(0.1)
            time.sleep(2)
            yield env, usage, worker, record
        finally:
            worker.end()


class Load(threading.Thread):
    """Jobs at a rate, one queue after the other, from SQL; each counts from before its enqueue."""

    def __init__(self, url, queues, rate):
        super().__init__(daemon=True)
        self.url, self.queues, self.rate = url, queues, rate
        self.sent, self.ended, self.failure = 0, threading.Event(), None

    def run(self):
        try:
            with Session(self.url) as session:
                # Few jobs a transaction, so that its duration is not most of the wait.
                interval, start = max(0.02, 1 / self.rate), time.monotonic()
                while not self.ended.wait(max(
                        0, start + self.sent / self.rate + interval - time.monotonic())):
                    due = max(int((time.monotonic() - start) * self.rate), self.sent + 1)
                    # After a delay, no transaction is larger than the others.
                    due = min(due, self.sent + max(1, round(2 * interval * self.rate)))
                    self.send(session, due)
        except Failed as error:
            self.failure = error

    def send(self, session, due):
        session.rows(
            "SELECT count(errand.enqueue('bench.probe', jsonb_build_object('n', n, "
            f"'sent', {time.monotonic_ns()}, 'payload', ''), queue => 'lane-' || "
            f"lpad((n % {self.queues})::text, 4, '0'))) "
            f"FROM generate_series({self.sent}, {due - 1}) AS n")
        self.sent = due

    def end(self):
        self.ended.set()
        self.join(30)
        if self.failure:
            raise self.failure


def busy(url, usage, worker, queues, rate, seconds):
    """CPU shares while this load runs, and the number of the first job that counts."""
    load = Load(url, queues, rate)
    load.start()
    try:
        # Connections, plans and the first job of each queue.
        time.sleep(2)
        first = load.sent
        shares = usage.shares([worker.pid], seconds)
    finally:
        load.end()
    limit = time.monotonic() + 2 * seconds
    while usage.session.number("SELECT count(*) FROM errand.jobs") and time.monotonic() < limit:
        time.sleep(0.2)
    return shares, first, load.sent


def waits(record, first):
    """Milliseconds to the start of each job from this one on, and how many jobs started in all."""
    found = starts(record) if os.path.exists(record) else {}
    return [(at - sent) / 1e6 for n, (sent, at) in found.items() if n >= first], len(found)


def delay(delays, share):
    """Nothing if no job has started."""
    return percentile(delays, share) if delays else None


def split(shares):
    return "{:.1f} worker, {:.1f} PostgreSQL, {:.1f} Redis".format(*shares)


def step(place, ours, queues, kinds, seconds):
    """The figures of one number of queues and kinds, and its idle share of a core."""
    title = f"{queues:,} x {kinds}"
    with worker_of(place, ours, queues, kinds) as (env, usage, worker, record):
        rows, begun = usage.session.number(ROWS_SENT), time.monotonic()
        idle = usage.shares([worker.pid], seconds)
        sent = (usage.session.number(ROWS_SENT) - rows) / (time.monotonic() - begun)
        of_idle = memory_of(usage, worker, sent)
        rows, begun = usage.session.number(ROWS_SENT), time.monotonic()
        active, first, jobs = busy(
            env["DATABASE_URL"], usage, worker, queues, queues, seconds)
        sent = (usage.session.number(ROWS_SENT) - rows) / (time.monotonic() - begun)
        of_busy = memory_of(usage, worker, sent)
    delays, count = waits(record, first)
    started = f"{count:,} of {jobs:,} jobs started"
    return [
        Figure(f"{title}, declared", "% of a core", sum(idle), None, None, None, split(idle),
               of_idle),
        Figure(f"{title}, active", "% of a core", sum(active), None, None, None, split(active),
               f"{of_busy}; {started}"),
        Figure(f"{title}, start p50", "ms", delay(delays, 0.5), None, None, None,
               f"{len(delays):,}"),
        Figure(f"{title}, start p99", "ms", delay(delays, 0.99), None, None, None,
               f"{len(delays):,}"),
    ], sum(idle)


def memory_of(usage, worker, rows):
    return (f"worker {private_bytes(worker.pid) / 2**20:.1f} MiB, Redis "
            f"{usage.redis_bytes() / 2**20:.1f} MiB, {usage.advisory_locks():,} advisory locks, "
            f"{rows:,.0f} rows/s from PostgreSQL")


def few_of_many(place, ours, seconds):
    """50 active lanes of 5,000 queues and 100 kinds, beside 50 that are all."""
    used, rate, rounds = 50, 250, place.size(1, 3)
    shares, delays, started = {}, {}, {}
    for _ in range(max(rounds, 1)):
        # Alternating: other load of the machine affects both.
        for queues, kinds in ((used, 1), (5_000, MANY)):
            with worker_of(place, ours, queues, kinds) as (env, usage, worker, record):
                found, first, jobs = busy(
                    env["DATABASE_URL"], usage, worker, used, rate, seconds)
            of_round, count = waits(record, first)
            shares.setdefault(queues, []).append(found)
            delays.setdefault(queues, []).append(delay(of_round, 0.5))
            started[queues] = f"{count:,} of {jobs:,} jobs started"
    few, many = (min(shares[queues], key=sum) for queues in (used, 5_000))
    few_p50, many_p50 = (
        min((ms for ms in delays[queues] if ms is not None), default=None)
        for queues in (used, 5_000))
    title = f"{used} active of {5_000 * MANY:,} lanes"
    samples = f"{len(shares[used])} x {seconds} s"
    return [
        Figure(title, "% of a core", sum(many), sum(few), None, None, samples,
               f"raw: {used} active of {used} declared; {split(many)}, and {split(few)}; of "
               "each the best round"),
        Figure(f"{title}, start p50", "ms", many_p50, few_p50, None, None, samples,
               f"{rate} jobs a second; {started[5_000]}, and {started[used]}"),
    ]
