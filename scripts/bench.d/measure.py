"""Measures processes and the machine: duration, memory, CPU."""
import json
import os
import statistics
import subprocess
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


def machine_seconds():
    """CPU seconds of the whole machine so far, without waiting."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    user, nice, system, _idle, _wait, irq, softirq = fields[:7]
    return (user + nice + system + irq + softirq) / TICKS


def busy_share(seconds):
    """The share of the machine that other processes use now: 1 is all of it."""
    before, start = machine_seconds(), time.monotonic()
    time.sleep(seconds)
    spent = machine_seconds() - before
    return spent / (time.monotonic() - start) / os.cpu_count()


def process_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid, name="VmRSS"):
    """The memory of a process in bytes; VmHWM is its peak."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Failed(Exception):
    """A program failed."""


class Running:
    """A process, with its output and peak memory."""

    def __init__(self, words, env):
        self.words = [str(word) for word in words]
        self.started, self.before = time.monotonic(), machine_seconds()
        self.process = subprocess.Popen(
            self.words, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.peak = 0
        self.watch = threading.Thread(target=self._watch, daemon=True)
        self.watch.start()

    def _watch(self):
        while self.process.poll() is None:
            self.peak = max(self.peak, memory(self.pid, "VmHWM"))
            time.sleep(0.05)

    def join(self, limit=600):
        """Waits for its end; returns the JSON of its last line."""
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as error:
            self.end()
            raise Failed(f"{' '.join(self.words[:3])}: no end within {limit} s") from error
        except BaseException:
            self.end()
            raise
        self.wall = time.monotonic() - self.started
        self.machine = machine_seconds() - self.before
        if self.process.returncode:
            raise Failed(f"{' '.join(self.words)}: exit {self.process.returncode}\n{err[-2000:]}")
        lines = [line for line in out.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def end(self):
        """Stops it if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()


def run(words, env, limit=600):
    """Runs a process to its end; returns its report, and the process with its figures."""
    running = Running(words, env)
    return running.join(limit), running


def percentile(values, share):
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    if not ordered:
        raise Failed("a percentile requires at least one value")
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


median = statistics.median
