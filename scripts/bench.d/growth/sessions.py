"""A lasting session of psql, for statements that follow each other without a new connection."""
import subprocess

from measure import Failed
from servers import PSQL


class Session:
    """One connection. A failed statement ends it."""

    END = "-- end --"

    def __init__(self, url):
        self.psql = subprocess.Popen(
            [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def rows(self, sql):
        """Runs statements; returns the rows of all of them, each as a list of texts."""
        found = []
        try:
            self.psql.stdin.write(f"{sql};\n\\echo '{self.END}'\n")
            self.psql.stdin.flush()
            for line in self.psql.stdout:
                line = line.rstrip("\n")
                if line == self.END:
                    return [row.split("|") for row in found]
                found.append(line)
        except BrokenPipeError:
            found += self.psql.stdout.read().splitlines()
        raise Failed("psql: " + " ".join(found[-3:]))

    def row(self, sql):
        return self.rows(sql)[0]

    def number(self, sql):
        return float(self.row(sql)[0])

    def close(self):
        try:
            self.psql.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.psql.wait(10)
        except subprocess.TimeoutExpired:
            self.psql.kill()
            self.psql.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
