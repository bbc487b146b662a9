"""The processor time and memory of a worker, of PostgreSQL and of Redis."""
import re
import time

from measure import TICKS, memory, process_seconds
from sessions import Session


def fields(pid):
    """The fields of /proc/PID/stat from the state on."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()


def tree_seconds(pid):
    """CPU seconds of a process and of its children, those that have ended included."""
    total = sum(int(ticks) for ticks in fields(pid)[11:15]) / TICKS
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        try:
            total += process_seconds(child)
        except (FileNotFoundError, ProcessLookupError):
            # It ended meanwhile; the next reading finds its time with that of its parent.
            pass
    return total


class Usage:
    """What the servers and a database's workers use."""

    def __init__(self, servers, database):
        self.servers = servers
        self.session = Session(servers.of(database)["DATABASE_URL"])
        backend = self.session.row("SELECT pg_backend_pid()")[0]
        self.postgres = int(fields(backend)[1])
        self.redis = int(re.search(r"process_id:(\d+)", servers.redis("INFO", "server"))[1])

    def seconds(self, workers):
        """CPU seconds so far: of each worker, of PostgreSQL and of Redis."""
        return [*(process_seconds(pid) for pid in workers), tree_seconds(self.postgres),
                process_seconds(self.redis)]

    def shares(self, workers, seconds):
        """Percent of a core during this time, in the same order."""
        before, start = self.seconds(workers), time.monotonic()
        time.sleep(seconds)
        lasted = time.monotonic() - start
        return [100 * (now - had) / lasted for now, had in zip(self.seconds(workers), before)]

    def redis_bytes(self):
        return int(re.search(r"used_memory:(\d+)", self.servers.redis("INFO", "memory"))[1])

    def advisory_locks(self):
        return int(self.session.number(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"))

    def close(self):
        self.session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def private_bytes(pid):
    """The memory of a process that no file backs."""
    return memory(pid, "RssAnon")
