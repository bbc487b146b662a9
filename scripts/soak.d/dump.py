"""A pg_dump whose reader is slow, so that its snapshot stays open."""
import fcntl
import os
import subprocess
import threading
import time

from servers import PSQL


class SlowDump(threading.Thread):
    """Dumps a database for at least this long, if its output does not fit into the pipe."""

    def __init__(self, url, seconds):
        super().__init__(daemon=True)
        self.url, self.seconds = url, seconds
        self.begun = self.ended = self.code = self.process = None

    @property
    def is_running(self):
        return self.begun is not None and self.ended is None

    def run(self):
        self.begun = time.time()
        self.process = subprocess.Popen(
            [os.path.join(os.path.dirname(PSQL), "pg_dump"), "-d", self.url],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        output = self.process.stdout.fileno()
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, 4096)
        while time.time() < self.begun + self.seconds and os.read(output, 1024):
            time.sleep(0.2)
        while os.read(output, 1 << 20):
            pass
        self.code = self.process.wait()
        self.ended = time.time()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.ident:
            self.join(30)
