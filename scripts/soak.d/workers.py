"""The workers of a soak, and the scrapes of their metrics."""
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

QUEUES = "default,mail"


def free_port():
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        return attempt.getsockname()[1]


class Worker:
    """A worker with metrics; its log goes to a file."""

    def __init__(self, program, env, log):
        self.port, self.log = free_port(), log
        with open(log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [program, "work", "--queues", QUEUES, "--listen", f"127.0.0.1:{self.port}"],
                env={**env, "ERRAND_DEMO": "1", "ERRAND_LOG": "info",
                     "ERRAND_LOG_FORMAT": "text",
                     # As in the image and the unit of deploy.
                     "GLIBC_TUNABLES": "glibc.malloc.tcache_max=256"},
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    @property
    def pid(self):
        return self.process.pid

    def metrics(self):
        """The series: names with their labels."""
        address = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0] for line in lines if line and not line.startswith("#")}

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10):
                return True
        except OSError:
            return False

    def stop(self):
        """Asks it to end; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def warnings(self):
        """The texts of its warnings and errors, without those of the dead letters of the mix."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = [line.split(maxsplit=2) for line in file]
        return [line[2].rstrip() for line in lines
                if line[1:2] in (["warning"], ["error"]) and "is a dead letter" not in line[2]]


class Scrapes(threading.Thread):
    """Reads the metrics of each worker every five seconds, and watches for series that vanish."""

    EVERY = 5

    def __init__(self, workers):
        super().__init__(daemon=True)
        self.workers, self.ended = workers, threading.Event()
        self.seen = {}
        self.count = self.failed = self.slowest = 0
        self.vanished, self.most = 0, set()

    @property
    def series(self):
        return max(map(len, self.seen.values()), default=0)

    def run(self):
        while not self.ended.wait(self.EVERY):
            for worker in self.workers:
                self.scrape(worker, self.seen.setdefault(worker.pid, set()))

    def scrape(self, worker, seen):
        begun = time.monotonic()
        try:
            found = worker.metrics()
        except OSError:
            self.failed += 1
            return
        self.slowest = max(self.slowest, time.monotonic() - begun)
        self.count += 1
        gone = seen - found
        self.vanished += bool(gone)
        self.most = max(self.most, gone, key=len)
        seen |= found

    def end(self):
        self.ended.set()
        if self.ident:
            self.join(30)
