"""Errand's clients of APNs and FCM compared with h2load, against the same local simulator."""
import base64
import json
import pathlib
import re
import statistics
import subprocess
import time

from measure import Failed, run
from report import Figure

AT_ONCE = 100
BODY = json.dumps({
    "aps": {"alert": {
        "title": "A coupon near you",
        "body": "20 % off at the Corner Bakery, 300 m from here, until tonight."},
        "thread-id": "coupons"},
    "branch": "42", "coupon": "1234567",
    "notification_id": "12345678-1234-1234-1234-123456789abc",
})


class Sink:
    """push_sink.py, with its own keys and certificate."""

    def __init__(self, place):
        subprocess.run([place.root / "scripts/install-packages", "nghttp2-client", "openssl",
                        "python3-cryptography", "python3-hpack"], check=True)
        self.folder = pathlib.Path(place.file("push"))
        simulators = place.root / "Tests/Simulators/servers"
        program = ["/usr/bin/python3", simulators / "push_sink.py"]
        subprocess.run(["sh", simulators / "make_cert.sh", self.folder], check=True)
        subprocess.run([*program, "--make-keys", self.folder], check=True)
        self.process = subprocess.Popen(
            [*program, "--folder", self.folder / "seen", "--keys", self.folder,
             "--cert", self.folder / "cert.pem", "--key", self.folder / "key.pem"],
            stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().split(":")
        if said[0] != "LISTENING 127.0.0.1":
            raise Failed("push_sink.py does not listen")
        self.url = f"https://localhost:{int(said[1])}"
        (self.folder / "body").write_text(BODY, encoding="ascii")

    def token(self):
        """A provider token, signed by openssl, not by the measured code."""
        def encoded(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")

        text = b".".join(encoded(json.dumps(part).encode()) for part in (
            {"alg": "ES256", "kid": "ABCDE12345"}, {"iss": "TEAM123456", "iat": int(time.time())}))
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.folder / "apns.p8"],
            input=text, capture_output=True, check=True).stdout
        raw = b""
        place = 2
        for _ in range(2):  # two numbers of DER become two of 32 bytes
            size = signature[place + 1]
            number = int.from_bytes(signature[place + 2:place + 2 + size], "big")
            raw += number.to_bytes(32, "big")
            place += 2 + size
        return (text + b"." + encoded(raw)).decode()

    def end(self):
        self.process.terminate()
        self.process.wait()


def peer(sink, count):
    """h2load's requests per second, with the same headers as Errand's client."""
    headers = {"authorization": "bearer " + sink.token(), "apns-topic": "app.example",
               "apns-push-type": "alert", "apns-priority": "10",
               "apns-collapse-id": "12345678-1234-1234-1234-123456789abc",
               "apns-id": "12345678-1234-1234-1234-123456789abc"}
    words = ["h2load", "-n", str(count), "-c", "1", "-m", str(AT_ONCE),
             "-d", str(sink.folder / "body"), f"{sink.url}/3/device/{'0' * 64}"]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"([\d.]+) req/s", printed)
    if not rate or f"status codes: {count} 2xx" not in printed:
        raise Failed("h2load: " + printed[-500:])
    return float(rate[1])


def own(place, sink, service, key, count):
    result = run([place.bench, "push", "--service", service, "--key", sink.folder / key,
                  "--url", sink.url, "--authority", sink.folder / "ca.pem",
                  "--count", count, "--senders", AT_ONCE], {})[0]
    return result["requests"] / result["seconds"]


def push(place, ours, peers):
    """Notices per second of one client on one connection, with the simulator on the same CPUs."""
    sink = Sink(place)
    rounds, count = place.size(3, 7), place.size(10_000, 40_000)
    apns, fcm, raw = [], [], []
    try:
        # Alternating, so that other load of the machine affects all.
        for _ in range(rounds):
            raw.append(peer(sink, count))
            apns.append(own(place, sink, "apns", "apns.p8", count))
            fcm.append(own(place, sink, "fcm", "account.json", count))
    finally:
        sink.end()
    limit = statistics.median(raw)
    size = f"{rounds} x {count:,}"
    return [
        Figure(f"notices to APNs, {AT_ONCE} at once", "notices/s", statistics.median(apns), limit,
               None, ("min", limit / 2), size, "raw limit: h2load on the APNs simulator"),
        Figure(f"notices to FCM, {AT_ONCE} at once", "notices/s", statistics.median(fcm), limit,
               None, None, size, "raw limit: the same"),
    ]
