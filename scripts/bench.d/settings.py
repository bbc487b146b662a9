"""The effect of each setting of deploy/postgres/postgresql.conf.

PostgreSQL runs with the file's settings and, in turns, with one of them (or two that belong
together) as PostgreSQL has it by default or as somebody might set it, on an empty database: jobs
are enqueued in batches and drained, and enqueued one at a time by eight callers; for what sorts
and plans, the notices of a month's end are made.
"""
import os
import pathlib
import re
import subprocess

import household
from measure import Failed, median
from report import Figure
from servers import PSQL
from throughput import drain_once, fill

PG_CTL = pathlib.Path(PSQL).with_name("pg_ctl")

FILE = "deploy/postgres/postgresql.conf"
# The changed setting, its other value, and the loads that it may affect. Settings of logging and
# timeouts are omitted.
CASES = [
    ("synchronous_commit", {"synchronous_commit": "off"}, "queue"),
    ("full_page_writes", {"full_page_writes": "off"}, "queue"),
    ("wal_compression", {"wal_compression": "off"}, "queue"),
    ("max_wal_size, checkpoint_timeout",
     {"max_wal_size": "128MB", "checkpoint_timeout": "30s"}, "queue"),
    ("wal_buffers", {"wal_buffers": "-1"}, "queue"),
    ("autovacuum_naptime", {"autovacuum_naptime": "1min"}, "queue"),
    ("pg_stat_statements, track_io_timing",
     {"shared_preload_libraries": "", "track_io_timing": "off"}, "queue"),
    ("client_connection_check_interval", {"client_connection_check_interval": "0"}, "queue"),
    ("shared_buffers", {"shared_buffers": "128MB"}, "queue, month"),
    ("work_mem", {"work_mem": "4MB"}, "month"),
    ("random_page_cost, effective_io_concurrency",
     {"random_page_cost": "4", "effective_io_concurrency": "1"}, "month"),
    ("jit", {"jit": "on"}, "month"),
]
# Settings of the private server itself, or without effect on its socket.
KEPT = {"ssl", "ssl_min_protocol_version", "listen_addresses", "max_connections",
        "password_encryption", "timezone", "log_timezone"}


def recommended(place):
    """The file's settings, by name."""
    found = {}
    for line in (place.root / FILE).read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(\w+) = '?([^']*)'?", line.strip()):
            found[match[1]] = match[2]
    return {name: value for name, value in found.items() if name not in KEPT}


class Server:
    """The running PostgreSQL, with settings that override those of its start."""

    def __init__(self, place):
        self.servers = place.servers
        self.folder = pathlib.Path(self.servers.sql("SHOW data_directory", "errand"))
        # The options with which only scripts/services starts it.
        self.file = self.folder / "postgresql.auto.conf"
        self.own = self.file.read_text(encoding="utf-8")

    def run_with(self, settings):
        """Applies these settings; raises an error if the server does not use them."""
        lines = [f"{name} = '{value}'\n" for name, value in settings.items()]
        self.file.write_text(self.own + "".join(lines), encoding="utf-8")
        owner = self.folder.owner()
        as_owner = [] if os.geteuid() else ["runuser", "-u", owner, "--"]
        subprocess.run([*as_owner, PG_CTL, "-s", "-w", "-m", "fast", "-D", self.folder, "-l",
                        self.folder / "bench-settings.log", "restart"], check=True, cwd="/")
        wrong = self.servers.sql("SELECT string_agg(name, ', ') FROM pg_file_settings "
                                 "WHERE error IS NOT NULL", "errand")
        if wrong:
            raise Failed(f"PostgreSQL does not accept {wrong}")


def queue(place, ours):
    """Enqueues and drains, then enqueues one by one; returns the figures."""
    count = place.size(40_000, 200_000)
    env = ours.fresh("bench_settings")
    before = place.servers.wal_bytes()
    fill(place, env, count)
    place.servers.settle()
    summary, _ = drain_once(place, env)
    wal = (place.servers.wal_bytes() - before) / count
    env = ours.fresh("bench_settings")
    single = ours.enqueue(env, count=place.size(8_000, 40_000), batch=1, callers=8)
    place.servers.drop("bench_settings")
    return {"drained, jobs/s": summary["completed"] / summary["seconds"],
            "log of changes, bytes/job": wal,
            "enqueued by 8 callers, jobs/s": single["jobs"] / single["seconds"]}


def month(place, ours):
    """The notices of a month end."""
    figure = household.month_end(place, ours, place.size(1_000, 20_000))
    return {"month end of 100,000 households, s": figure.ours}


def settings(place, ours, _peers):
    """Each setting with the file's value; as "raw limit", with the other value."""
    base, figures, rounds = recommended(place), [], max(place.size(1, 2), 1)
    loads, server = {"queue": queue, "month": month}, Server(place)
    try:
        for name, changed, wanted in CASES:
            found = {}
            for _ in range(rounds):
                for place_of, values in ((0, base), (1, {**base, **changed})):
                    server.run_with(values)
                    for load in wanted.split(", "):
                        for unit, value in loads[load](place, ours).items():
                            found.setdefault(unit, ([], []))[place_of].append(value)
            beside = ", ".join(f"{key} {value or 'none'}" for key, value in changed.items())
            figures += [
                Figure(name, unit, median(with_it), median(without), None, None,
                       f"{rounds} x, beside {beside}")
                for unit, (with_it, without) in found.items()]
    finally:
        server.run_with({})
    return figures
