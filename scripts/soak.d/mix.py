"""The load of a soak: several ways to enqueue, each in a thread with a connection of its own."""
import subprocess
import threading
import time

from measure import Failed
from servers import PSQL
from sessions import Session

TICK = 0.1
# The shares of the full rate, in jobs a second at 1,500.
FULL = 1_500
CANCELLED = "soak-cancel"


class Quota:
    """The number of jobs that are due at a rate; what was missed by more than a tick is dropped."""

    def __init__(self, rate):
        self.rate, self.owed, self.asked = rate, 0.0, time.monotonic()

    def take(self):
        now = time.monotonic()
        self.owed = min(self.owed + self.rate * (now - self.asked), 2 * TICK * self.rate + 1)
        self.asked = now
        due = int(self.owed)
        self.owed -= due
        return due


class Sender(threading.Thread):
    """Calls `tick` ten times a second, and records `id way committed` of each job.

    `committed` is the server's clock just before the commit.
    """

    def __init__(self, url, path):
        super().__init__(daemon=True)
        self.url, self.path = url, path
        self.ended, self.failure, self.sent = threading.Event(), None, 0

    def run(self):
        try:
            with open(self.path, "w", encoding="ascii") as self.file:
                self.work()
        except (Failed, OSError, subprocess.SubprocessError) as error:
            self.failure = error

    def work(self):
        with Session(self.url) as self.session:
            self.ticks()

    def ticks(self):
        due = time.monotonic()
        while not self.ended.wait(max(0, due - time.monotonic())):
            self.tick()
            due = max(due + TICK, time.monotonic() - TICK)

    def tick(self):
        raise NotImplementedError

    def record(self, rows):
        """Rows of a way and its ids, then one with the time."""
        *ways, (_, at) = rows
        for way, ids in ways:
            for job in ids.split(",") if ids else []:
                self.file.write(f"{job}\t{way}\t{at}\n")
                self.sent += 1

    def transaction(self, selects, sleep=0.0):
        self.record(self.session.rows(
            "BEGIN;" + "".join(f"{text};" for text in selects)
            + f"SELECT 'at', extract(epoch FROM clock_timestamp()) FROM pg_sleep({sleep}); COMMIT"))


def select(way, count, kind, rest="", args="{}"):
    return (f"SELECT '{way}', string_agg(errand.enqueue('{kind}', '{args}'{rest})::text, ',') "
            f"FROM generate_series(1, {count}) AS n")


class LongTransactions(Sender):
    """No-ops in transactions that stay open for a while after they have enqueued."""

    def __init__(self, url, path, queue, rate):
        super().__init__(url, path)
        self.queue, self.quota = queue, Quota(rate)

    def tick(self):
        self.transaction(
            [select("transaction", self.quota.take(), "demo.noop", f", queue => '{self.queue}'")],
            sleep=0.03)


class Various(Sender):
    """Jobs that fail, sleep, wait, have unique keys, are cancelled, or write to the ledger."""

    def __init__(self, url, path, scale, longest):
        super().__init__(url, path)
        self.longest, self.keys = longest, 0
        rates = {"fail": 140, "delayed": 180, "unique": 180, "sleep": 50, "ledger": 30,
                 "cancel": 40}
        self.quotas = {name: Quota(rate * scale) for name, rate in rates.items()}
        self.quotas["dead"] = Quota(1)

    def tick(self):
        due = {name: quota.take() for name, quota in self.quotas.items()}
        once = due["fail"] // 2
        third = due["unique"] // 3
        key = f"' || {self.keys} + n / 3"
        self.keys += third // 3 + 1
        self.transaction([
            select("short", once, "demo.fail", args='{"times": 1}'),
            select("short", due["fail"] - once, "demo.fail", args='{"times": 3}'),
            select("delayed", due["delayed"], "demo.noop",
                   f", delay => make_interval(secs => 1 + random() * {self.longest - 1})"),
            select("unique", third, "demo.noop",
                   f", unique_key => 'unfinished-{key}, unique_while => 'unfinished'"),
            select("unique", third, "demo.noop",
                   f", unique_key => 'within-{key}, unique_within => '30 s'"),
            select("unique", third, "demo.noop",
                   f", unique_key => 'replaced-{key}, on_duplicate => 'replace', delay => '2 s'"),
            select("short", due["sleep"], "demo.sleep", args='{"ms": 50}'),
            select("ledger", due["ledger"], "demo.ledger"),
            select("cancelled", due["cancel"], "demo.noop",
                   f", delay => '1 hour', tags => '{{{CANCELLED}}}'"),
            select("dead", due["dead"], "demo.fail", ", max_attempts => 1", '{"times": 99}'),
        ])


class Lone(Sender):
    """One job at a time, each on a fresh connection."""

    def work(self):
        self.ticks()

    def tick(self):
        printed = subprocess.run(
            [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c",
             "SELECT errand.enqueue('demo.noop'), extract(epoch FROM clock_timestamp())"],
            check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
        job, at = printed.strip().split("|")
        self.record([("lone", job), ("at", at)])


class Canceller(Sender):
    """Cancels in bulk, with the command of operators."""

    def __init__(self, url, path, program, env):
        super().__init__(url, path)
        self.words = [program, "job", "cancel", "--tag", CANCELLED, "--yes", "--quiet"]
        self.env = env

    def work(self):
        while not self.ended.wait(10):
            self.cancel()

    def cancel(self):
        done = subprocess.run(
            self.words, env=self.env, check=False, timeout=120, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            raise Failed(f"job cancel: exit {done.returncode}: {done.stderr[-500:]}")


class Mix:
    """All senders together."""

    def __init__(self, url, env, program, rate, longest, file):
        scale = rate / FULL
        self.canceller = Canceller(url, file("canceller"), program, env)
        self.senders = [
            LongTransactions(url, file("default"), "default", 440 * scale),
            LongTransactions(url, file("mail"), "mail", 440 * scale),
            Various(url, file("various"), scale, longest),
            Lone(url, file("lone")),
            self.canceller,
        ]

    @property
    def sent(self):
        return sum(sender.sent for sender in self.senders)

    @property
    def files(self):
        return [sender.path for sender in self.senders]

    def start(self):
        for sender in self.senders:
            sender.start()

    def check(self):
        for sender in self.senders:
            if sender.failure:
                raise Failed(f"{type(sender).__name__}: {sender.failure}")

    def end(self):
        for sender in self.senders:
            sender.ended.set()
        for sender in self.senders:
            if sender.ident:
                sender.join(150)
