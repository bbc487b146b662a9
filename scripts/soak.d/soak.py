"""One soak: two workers under a mixed load, and what grew."""
import json
import os
import subprocess
import time

import dump
import mix
import records
import samples
import workers
from measure import Failed
from usage import Usage

DATABASE = "bench_soak"


class Soak:
    """Runs the load and keeps what was seen of it."""

    def __init__(self, servers, program, folder, minutes, rate, dump_minutes):
        self.servers, self.program, self.folder = servers, str(program), str(folder)
        self.seconds, self.rate = 60 * minutes, rate
        self.dump_seconds = 60 * dump_minutes
        os.makedirs(self.folder, exist_ok=True)
        # Slopes leave out the start: memory and tables first grow to their size.
        self.warm_up = min(600, self.seconds / 6)
        self.longest_delay = max(2, min(60, self.seconds / 6))
        self.interval = max(1, min(10, self.seconds / 12))

    def file(self, name):
        return os.path.join(self.folder, name)

    def run(self):
        """Everything, up to the end of the last job."""
        variables = self.servers.fresh(DATABASE)
        url = variables["DATABASE_URL"]
        # No setting of the caller's shell.
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("ERRAND_") or name.startswith("ERRAND_SERVICES_")} | variables
        self.mix = mix.Mix(url, env, self.program, self.rate, self.longest_delay,
                           lambda name: self.file(f"sent-{name}"))
        self.dump = dump.SlowDump(url, self.dump_seconds)
        self.workers = []
        self.scrapes = workers.Scrapes(self.workers)
        with Usage(self.servers, DATABASE) as usage:
            try:
                for number in (1, 2):
                    self.workers.append(
                        workers.Worker(self.program, env, self.file(f"worker-{number}.log")))
                self.samples = samples.Samples(usage, self.workers, self.file("samples.csv"))
                self.await_workers()
                self.load()
                self.drain(usage)
            finally:
                self.mix.end()
                self.dump.end()
                self.scrapes.end()
                self.codes = [worker.stop() for worker in self.workers]
            self.records = records.Records(usage.session, url, self.mix.files)
            self.verdict = self.records.verdict()
            self.read_waits()
            self.rules = self.retention(env)
        for path in self.mix.files:
            os.remove(path)

    def await_workers(self):
        limit = time.monotonic() + 60
        while not all(worker.is_ready() for worker in self.workers):
            if time.monotonic() > limit:
                raise Failed("the workers are not ready after 60 s: " + self.workers[0].log)
            time.sleep(0.2)

    def load(self):
        """The load for its time, with a sample at each interval and the dump after 60 % of it."""
        start = time.monotonic()
        dump_at = 0.6 * self.seconds if self.dump_seconds else float("inf")
        self.mix.start()
        self.scrapes.start()
        second, due = 0.0, 0.0
        while second < self.seconds:
            self.mix.check()
            if second >= dump_at and not self.dump.ident:
                self.dump.start()
            if second >= due:
                self.samples.take(second, time.time(), sent=self.mix.sent,
                                  dump=int(self.dump.is_running))
                due += self.interval
            time.sleep(0.1)
            second = time.monotonic() - start
        self.samples.take(second, time.time(), sent=self.mix.sent,
                          dump=int(self.dump.is_running))

    def drain(self, usage):
        """Ends the load, then waits for the end of all jobs."""
        self.mix.end()
        self.mix.check()
        self.mix.canceller.cancel()
        limit = time.monotonic() + self.longest_delay + 60
        while (usage.session.number("SELECT count(*) FROM errand.jobs")
               and time.monotonic() < limit):
            time.sleep(0.5)

    def read_waits(self):
        """Waits from the commit or the due time to the claim, beside the dump and otherwise."""
        inside = "started BETWEEN {} AND {}".format(
            self.dump.begun or 0, self.dump.ended or (time.time() if self.dump.begun else 0))
        self.inside = self.records.waits(inside).get("all")
        self.outside = self.records.waits(f"NOT ({inside})").get("all")
        self.by_way = self.records.waits(f"NOT ({inside})", "way")
        rows = self.samples.rows
        for number, (_, p50, p99, _) in self.records.by_interval(
                [row["at"] for row in rows]).items():
            if 0 < int(number) < len(rows):
                rows[int(number)] |= {"wait_p50_ms": round(p50, 2), "wait_p99_ms": round(p99, 2)}
        self.samples.write()

    def retention(self, env):
        """The rule of each table; nothing from a program that does not list them."""
        shown = subprocess.run(
            [self.program, "db", "retention", "--output", "json"], env=env, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = [json.loads(line) for line in shown.stdout.splitlines() if line.startswith("{")]
        return {row["table"]: row["kept"] for row in found}

    @property
    def is_correct(self):
        return all(wanted is None or number == wanted for _, number, wanted in self.verdict) \
            and all(code == 0 for code in self.codes) and self.dump.code in (None, 0)
