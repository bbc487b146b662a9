"""Errand's HTTP client compared with h2load, both against the same local nghttpd."""
import os
import pathlib
import re
import socket
import statistics
import subprocess
import time

from measure import Failed, run
from report import Figure

BODY = 300
TOKEN = "bearer " + "t" * 200
SHAPES = ((1, 1), (1, 100), (4, 50))


class Server:
    """nghttpd over TLS, with one worker, on a free port."""

    def __init__(self, place):
        subprocess.run([place.root / "scripts/install-packages", "nghttp2-server",
                        "nghttp2-client", "openssl"], check=True)
        self.folder = pathlib.Path(place.file("http"))
        subprocess.run(["sh", place.root / "Tests/Simulators/servers/make_cert.sh", self.folder],
                       check=True)
        self.authority = self.folder / "ca.pem"
        root = self.folder / "www"
        root.mkdir()
        (root / "index.html").write_text("{}", encoding="ascii")
        (self.folder / "body").write_text("x" * BODY, encoding="ascii")
        # It does not support port 0.
        for self.port in range(20000 + os.getpid() % 10000, 32000, 7):
            self.url = f"https://localhost:{self.port}/index.html"
            self.process = subprocess.Popen(
                ["nghttpd", "-a", "127.0.0.1", "-d", root, str(self.port), self.folder / "key.pem",
                 self.folder / "cert.pem"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.answers():
                return
            self.end()
        raise Failed("nghttpd does not listen")

    def answers(self):
        """Whether it listens, so the port was free."""
        for _ in range(100):
            time.sleep(0.05)
            if self.process.poll() is not None:
                return False
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self.process.poll() is None
        return False

    def end(self):
        self.process.terminate()
        self.process.wait()


def peer(server, count, connections, streams):
    """h2load's requests a second."""
    words = ["h2load", "-n", str(count), "-c", str(connections), "-m", str(streams),
             "-d", str(server.folder / "body"), "-H", f"authorization: {TOKEN}",
             "-H", "apns-topic: app.example", "-H", "apns-push-type: alert", server.url]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"([\d.]+) req/s", printed)
    if not rate or f"{count} succeeded" not in printed:
        raise Failed("h2load: " + printed[-500:])
    return float(rate[1])


def own(place, server, count, connections, streams):
    result = run([place.bench, "http", "--url", server.url, "--authority", server.authority,
                  "--count", count, "--connections", connections, "--streams", streams,
                  "--body", BODY], {})[0]
    return result["requests"] / result["seconds"]


def http(place, ours, peers):
    """Requests a second over HTTP/2 and TLS, one client thread, as pushes are sent."""
    server = Server(place)
    rounds = place.size(3, 7)
    figures = []
    try:
        for connections, streams in SHAPES:
            count = place.size(30_000, 100_000) // (1 if streams > 1 else 5)
            mine, theirs = [], []
            # Alternating, so that other load of the machine affects both.
            for _ in range(rounds):
                theirs.append(peer(server, count, connections, streams))
                mine.append(own(place, server, count, connections, streams))
            raw = statistics.median(theirs)
            figures.append(Figure(
                f"POST, {connections} x {streams} at once", "requests/s",
                statistics.median(mine), raw, None, ("min", raw / 2),
                f"{rounds} x {count:,}", "raw limit: h2load"))
    finally:
        server.end()
    return figures
