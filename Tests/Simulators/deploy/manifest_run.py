#!/usr/bin/env python3
"""Runs the command of every container of deploy/kubernetes without Kubernetes.

    manifest_run.py FOLDER BINARY DATABASE_URL REDIS_URL

Each has the variables and the secrets that its manifest gives it, and nothing else. Probes are
asked as the kubelet would ask them, a Deployment's process has to end in order within its time,
and the queries of the scalers are put to the database. Exit 0 only if all is well.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from kustomized import render
from manifest_rules import PROBES, environment, pod_of

PATH = "/usr/local/bin:/usr/bin:/bin"


class Trouble(Exception):
    pass


def output(*words, **options):
    run = subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
    if run.returncode:
        raise Trouble(f"{words}: exit {run.returncode}: {run.stdout}{run.stderr}")
    return run.stdout


def write_secrets(folder, binary, database, redis):
    """A file for each secret that any manifest mounts."""
    def key(*options):
        return output("openssl", "genpkey", *options)

    account = {
        "type": "service_account", "project_id": "trial", "private_key_id": "1",
        "client_email": "trial@trial.iam.example.com",
        "private_key": key("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
        "token_uri": "https://127.0.0.1:9/token",
    }
    secrets = {
        "errand/database-url": database + "\n",
        "errand/redis-url": redis + "\n",
        "errand-keys/keys": output(binary, "key", "new", env={"PATH": PATH}),
        "errand-channels/smtp-url": "smtp://user:password@127.0.0.1:9?starttls=required\n",
        "errand-channels/apns.p8": key("-algorithm", "EC", "-pkeyopt",
                                       "ec_paramgen_curve:P-256"),
        "errand-channels/fcm.json": json.dumps(account),
    }
    for path, content in secrets.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o400)) as file:
            file.write(content)


def free_port():
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        return attempt.getsockname()[1]


def status(port, path):
    """What a probe sees: the code of the answer, or 0 for none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class Container:
    """The only container of a workload, as a process on this machine."""

    def __init__(self, document, configs, secrets, binary):
        self.name = f"{document['kind']} {document['metadata']['name']}"
        self.spec = pod_of(document)["spec"]
        container = self.spec["containers"][0]
        self.container = container
        self.port = free_port()
        self.variables = {"PATH": PATH} | {
            name: value.replace("/run/secrets", secrets)
            for name, value in environment(container, configs).items()}
        if "ERRAND_LISTEN" in self.variables:
            self.variables["ERRAND_LISTEN"] = f"127.0.0.1:{self.port}"
        self.words = [binary] + container["args"]

    def finish(self):
        """Runs a command that ends by itself."""
        output(*self.words, env=self.variables, cwd="/")
        print(self.name, "did its work:", " ".join(self.words[1:]))

    def live(self):
        """Starts a process, asks its probes, and ends it as Kubernetes does."""
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                self.words, env=self.variables, cwd="/", stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT)
            try:
                self.look(process)
            except Trouble as trouble:
                log.seek(0)
                raise Trouble(f"{self.name}: {trouble}\n{log.read()[-3000:]}") from None
            finally:
                process.kill()
                process.wait()
        print(self.name, "came up, answered its probes and ended in order:",
              self.variables.get("ERRAND_QUEUES", " ".join(self.words[1:])))

    def look(self, process):
        start = self.container["startupProbe"]
        end = time.monotonic() + start["periodSeconds"] * start["failureThreshold"]
        for probe in PROBES:
            path = self.container[probe]["httpGet"]["path"]
            while (code := status(self.port, path)) != 200:
                if process.poll() is not None:
                    raise Trouble(f"ended with {process.returncode}")
                if time.monotonic() > end:
                    raise Trouble(f"{probe} is {code} in the end")
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(self.spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            raise Trouble("is killed before it has ended") from None
        if code:
            raise Trouble(f"ended with {code}")


def ask_scalers(documents, database):
    for document in documents:
        for trigger in document["spec"]["triggers"]:
            answer = output("psql", "-XAt", "-v", "ON_ERROR_STOP=1", database,
                            "-c", trigger["metadata"]["query"]).strip()
            if not answer.isdigit():
                raise Trouble(f"{document['metadata']['name']}: {trigger['name']}: {answer!r}")
            print("ScaledObject", document["metadata"]["name"], trigger["name"], answer)


def run(root, binary, database, redis):
    base, production = render(root, "base"), render(root, "production")
    with tempfile.TemporaryDirectory() as secrets:
        write_secrets(secrets, binary, database, redis)
        for documents, kinds in ((base, ("Job", "CronJob")), (production, ("Deployment",))):
            configs = {d["metadata"]["name"]: d["data"]
                       for d in documents if d["kind"] == "ConfigMap"}
            for kind in kinds:
                for document in documents:
                    if document["kind"] == kind:
                        container = Container(document, configs, secrets, binary)
                        container.live() if kind == "Deployment" else container.finish()
    ask_scalers([d for d in production if d["kind"] == "ScaledObject"], database)


if __name__ == "__main__":
    try:
        run(*sys.argv[1:])
    except Trouble as trouble:
        sys.exit(str(trouble))
