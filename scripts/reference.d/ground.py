"""Private servers with the logins of deploy/postgres/roles.sql and all modules."""
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

PSQL = "/usr/lib/postgresql/15/bin/psql"


class Ground:
    """Servers for one run; 'with' stops them."""

    def __init__(self, root, program):
        self.root, self.program = root, program
        self.worker = None
        self.folder = tempfile.TemporaryDirectory(prefix="errand-reference-")

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        printed = self._services("start", "--throwaway")
        self.env = os.environ | dict(
            shlex.split(line)[1].split("=", 1) for line in printed.splitlines())
        at = self.env["DATABASE_URL"]
        self._psql(
            at.replace("@/errand?", "@/postgres?"), "-v", "database=reference",
            "-f", str(self.root / "deploy/postgres/roles.sql"))
        self.url = at.replace("@/errand?", "@/reference?")
        self._errand("errand_owner", "migrate", "--modules", "all", "--quiet")
        return self

    def __exit__(self, *_):
        if self.worker:
            self.worker.terminate()
            self.worker.wait(60)
        self._services("stop")
        self.folder.cleanup()

    def rows(self, statement):
        """The rows of a statement of the superuser, as JSON text each."""
        done = self._psql(self.url, "-c", f"SELECT to_jsonb(r) FROM ({statement}) AS r")
        return done.stdout.splitlines()

    def script(self, path):
        """Runs a file as the superuser."""
        self._psql(self.url, "-f", str(path))

    def attempt(self, login, statement):
        """Runs a statement with a login; returns the error's SQLSTATE and text, or None."""
        done = subprocess.run(
            [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-d",
             self.url.replace("//errand@", f"//{login}@"), "-f", "-"],
            input=statement, text=True, capture_output=True, check=False)
        return done.stderr.strip() if done.returncode else None

    def work(self):
        """Starts a worker for all queues, with a new key file."""
        keys = pathlib.Path(self.folder.name) / "errand.keys"
        made = subprocess.run(
            [self.program, "key", "new", "--quiet"], check=True, stdout=subprocess.PIPE)
        keys.touch(mode=0o600)
        keys.write_bytes(made.stdout)
        log = open(pathlib.Path(self.folder.name) / "worker.log", "wb")
        self.worker = subprocess.Popen(
            [self.program, "work", "--queues", "*:4"], stderr=log, stdout=log,
            env=self.env | {"DATABASE_URL": self._as("errand_work"),
                            "ERRAND_KEYS_FILE": str(keys)})

    def _as(self, login):
        return self.url.replace("//errand@", f"//{login}@")

    def _errand(self, login, *words):
        subprocess.run(
            [self.program, *words, "--database-url", self._as(login)], check=True,
            stdout=subprocess.DEVNULL, env=self.env)

    def _services(self, *words):
        return subprocess.run(
            [self.root / "scripts/services", *words, "--name", "reference"], check=True,
            stdout=subprocess.PIPE, text=True).stdout

    def _psql(self, url, *words):
        done = subprocess.run(
            [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, *words], text=True,
            capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"reference: {done.stderr.strip()}")
        return done
