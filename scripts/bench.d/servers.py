"""The private PostgreSQL and Redis of all measurements."""
import os
import re
import shlex
import subprocess
import time

PSQL = "/usr/lib/postgresql/15/bin/psql"


class Servers:
    """An instance of scripts/services, with a database for each measurement."""

    def __init__(self, root, errand=None, name="bench"):
        self.root, self.env, self.made, self.name = root, {}, set(), name
        self.errand = errand or f"{root}/.build/release/errand"

    def start(self):
        root = self.root
        printed = subprocess.run(
            [f"{root}/scripts/services", "start", "--name", self.name],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        self.env = dict(
            shlex.split(line)[1].split("=", 1) for line in printed.splitlines())
        for name in self.sql("SELECT datname FROM pg_database WHERE datname LIKE 'bench%'",
                             database="errand").split():
            self.drop(name)
        self._create("bench_template")
        subprocess.run(
            [self.errand, "migrate"], check=True,
            env={**os.environ, **self.of("bench_template"), "ERRAND_MODULES": "all"},
            stdout=subprocess.DEVNULL)
        # The program's own schedules would become due during a measurement.
        self.sql("DELETE FROM errand.schedules", "bench_template")

    def stop(self):
        subprocess.run([f"{self.root}/scripts/services", "stop", "--name", self.name], check=True,
                       stderr=subprocess.DEVNULL)

    def of(self, database):
        """The environment variables with the URLs of the servers."""
        url = self.env["DATABASE_URL"].replace("@/errand?", f"@/{database}?")
        return {**self.env, "DATABASE_URL": url}

    def sql(self, text, database):
        return subprocess.run(
            [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.of(database)["DATABASE_URL"],
             "-c", text], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def _create(self, name, template="template1"):
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy", "errand")
        self.made.add(name)

    def drop(self, name):
        self.sql(f"DROP DATABASE {name} WITH (FORCE)", "errand")
        self.made.discard(name)

    def fresh(self, name, template="bench_template"):
        """An empty database and an empty Redis; returns their variables."""
        if name in self.made:
            self.drop(name)
        self._create(name, template)
        self.redis("FLUSHALL")
        self.settle()
        return self.of(name)

    def settle(self):
        """Keeps earlier writes out of the next measurement."""
        self.sql("CHECKPOINT", "errand")

    def redis(self, *words):
        path = self.env["REDIS_URL"].removeprefix("unix://")
        return subprocess.run(["redis-cli", "-s", path, *words], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def wal_bytes(self):
        return int(self.sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn", "errand"))

    def row_versions(self, database):
        """Updates, of these heap-only, deletes and dead rows left of errand.jobs."""
        time.sleep(1.2)
        row = self.sql(
            "SELECT n_tup_upd, n_tup_hot_upd, n_tup_del, n_dead_tup FROM pg_stat_user_tables "
            "WHERE relid = 'errand.jobs'::regclass", database)
        return [int(field) for field in row.split("|")]

    def versions(self):
        redis = re.search(r"redis_version:(\S+)", self.redis("INFO", "server"))[1]
        shown = self.sql(
            "SELECT current_setting('server_version'), current_setting('fsync'), "
            "current_setting('synchronous_commit'), current_setting('full_page_writes'), "
            "current_setting('shared_buffers')", "errand").split("|")
        return (f"PostgreSQL {shown[0].split()[0]} (fsync {shown[1]}, synchronous_commit "
                f"{shown[2]}, full_page_writes {shown[3]}, shared_buffers {shown[4]}), "
                f"Redis {redis} (no persistence), unix sockets")
