"""The queues under test: Errand, the bare loops, and the peers.

Each queue has the same three programs: enqueue, work (until N jobs have started) and
probe (jobs that record when they were sent and when they started).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from measure import Failed, Running, run

HERE = pathlib.Path(__file__).parent


class Place:
    """Where the measurement runs: servers, programs, temporary files."""

    def __init__(self, root, servers, quick, program=None, patterns=False):
        self.root, self.servers, self.quick = pathlib.Path(root), servers, quick
        # Whether workers of many queues get a pattern instead of a list.
        self.patterns = patterns
        self.folder = tempfile.TemporaryDirectory(prefix="errand-bench.")
        # The caller's own program is only tested.
        self.is_trial = program is not None
        self.errand = program or self.root / ".build/release/errand"
        self.bench = self.root / ".build/release/ErrandBench"

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def size(self, quick, full):
        return quick // 10 if self.is_trial else quick if self.quick else full


class Ours:
    """Errand, through its Swift client and a worker in another process."""

    name, label = "errand", "errand"
    ready_after = 1

    def __init__(self, place):
        self.place = place

    def fresh(self, database="bench_ours"):
        return self.place.servers.fresh(database)

    def enqueue(self, env, **flags):
        return run([self.place.bench, "enqueue", *words(flags)], env)[0]

    def work(self, env, **flags):
        return Running([self.place.bench, "work", *words(flags)], env)

    def probe(self, env, **flags):
        return run([self.place.bench, "probe", *words(flags)], env)[0]

    def raw(self, env, name, **flags):
        """A bare loop over the same statements."""
        return run([self.place.bench, f"raw-{name}", *words(flags)], env)[0]


class Sidekiq:
    """Sidekiq from Debian: Redis only, so a crash of its worker loses its running jobs."""

    name = "sidekiq"
    ready_after = 2

    def __init__(self, place):
        self.place = place
        subprocess.run([place.root / "scripts/install-packages", "ruby-sidekiq"], check=True)
        version = subprocess.run(["sidekiq", "--version"], capture_output=True, text=True,
                                 check=True).stdout.split()[-1]
        self.label = f"Sidekiq {version}, 10 threads, not durable"

    def fresh(self):
        self.place.servers.redis("FLUSHALL")
        return self.place.servers.env

    def enqueue(self, env, **flags):
        return run(["ruby", HERE / "peers/sidekiq_peer.rb", "enqueue", *words(flags)], env)[0]

    def work(self, env, queues="default", count=0, record=None):
        # With weights: otherwise Sidekiq processes the queues strictly one after the other.
        listed = [word for name in queues.split(",") for word in ("-q", f"{name},1")]
        asked = {"BENCH_COUNT": str(count)} | ({"BENCH_RECORD": record} if record else {})
        return Running(
            ["sidekiq", "-c", "10", *listed, "-r", HERE / "peers/sidekiq_job.rb"],
            {**env, **asked})

    def probe(self, env, **flags):
        return run(["ruby", HERE / "peers/sidekiq_peer.rb", "probe", *words(flags)], env)[0]


class Pgqueuer:
    """pgqueuer from PyPI: PostgreSQL only, durable, asyncpg and uvloop."""

    name = "pgqueuer"
    ready_after = 2
    PACKAGES = ["pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"]
    DEFAULT_BATCH = 10
    TEMPLATE = "bench_pgqueuer_template"

    def __init__(self, place, batch=1000):
        self.place, self.batch = place, batch
        self.python = subprocess.run(
            [place.root / "scripts/python-with", "bench-peers", *self.PACKAGES],
            check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.label = f"pgqueuer 1.6.0, batches of {batch}, durable"

    def fresh(self):
        servers = self.place.servers
        if self.TEMPLATE not in servers.made:
            env = servers.fresh(self.TEMPLATE, "template1")
            run([self.python, HERE / "peers/pgqueuer_peer.py", "install"], env)
        return servers.fresh("bench_pgqueuer", self.TEMPLATE)

    def _words(self, program, flags):
        return [self.python, HERE / "peers/pgqueuer_peer.py", program, *words(flags)]

    def enqueue(self, env, **flags):
        return run(self._words("enqueue", flags), env)[0]

    def work(self, env, **flags):
        return Running(self._words("work", {"batch": self.batch} | flags), env)

    def probe(self, env, **flags):
        return run(self._words("probe", flags), env)[0]


def words(flags):
    return [word for name, value in flags.items() for word in (f"--{name}", value)]


def peers(place):
    """The available peers, and the number of unavailable ones; prints which, and why."""
    found, missing = [], 0
    for kind in (Sidekiq, Pgqueuer):
        try:
            found.append(kind(place))
        except (OSError, subprocess.CalledProcessError) as error:
            missing += 1
            print(f"bench: without {kind.name} (--no-peers expects none): {error}",
                  file=sys.stderr)
    return found, missing


def drained(queue, env, count, **flags):
    """Drains `count` waiting jobs; returns jobs per second from the first start to the last."""
    worker = queue.work(env, count=count, **flags)
    result = worker.join()
    return result["jobs"] / max(result["seconds"], 1e-9), worker


def starts(path):
    """From a record of starts: number → (sent, started)."""
    with open(path, encoding="ascii") as file:
        rows = [[int(field) for field in line.split()] for line in file]
    return {n: (sent, at) for n, sent, at in rows}


def probed(queue, env, count, rate, queues="default", target="default", by=None, during=None):
    """Probes a worker in another process.

    Returns (ms from before the enqueue to the start, ms from its return to the start, by number
    when sent, what the worker reported).
    """
    place = queue.place
    record, acks = place.file("starts"), place.file("acks")
    worker = queue.work(env, count=count, queues=queues, record=record)
    try:
        time.sleep(queue.ready_after)
        asked = {"by": by} if by else {}
        queue.probe(env, count=count, rate=rate, queue=target, record=acks, **asked)
        reported = worker.join(60)
    finally:
        worker.end()
    sent, returned = starts(record), starts(acks)
    if len(sent) != count:
        raise Failed(f"{queue.name}: {len(sent)} of {count} probes started")
    # The first ones use cold connections and unprepared statements.
    measured = [n for n in sent if n >= count // 20]
    return ([(sent[n][1] - sent[n][0]) / 1e6 for n in measured],
            [(sent[n][1] - returned[n][1]) / 1e6 for n in measured])
