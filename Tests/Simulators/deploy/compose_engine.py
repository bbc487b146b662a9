"""Stands in for a container engine: brings a Compose file up with this machine's programs.

    unshare --net --mount --pid --fork --kill-child --mount-proc \
        python3 compose_engine.py COMPOSE --errand BINARY --folder SCRATCH < steps

Each service gets a network, a process table and a root of its own, which is read-only but for
what the file says, its user, its secrets and no rights; it is started by the words of the file,
after what it depends on, and is healthy when its own health check says so. In place of the images
stand the programs of Debian: PostgreSQL 15, Redis 7, and the given errand with what deploy/
Dockerfile says of it.

When all is up, each line of standard input is a step: {"in": service, "run": words, "until":
text}, repeated until its output has the text, for a minute at most; or {"stop": service},
{"start": service}. Then everything is stopped in order. What was seen is printed as JSON; what
went wrong ends it with 1 and the words.
"""
import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import yaml

from compose_container import Container, Trouble, network

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HERE = os.path.dirname(os.path.abspath(__file__))


def dockerfile_settings(path):
    """What the last stage of a Dockerfile says of whoever is run."""
    with open(path) as file:
        text = re.sub(r"\\\n\s*", "", file.read()).rpartition("\nFROM ")[2]

    def words(name):
        found = re.findall(rf"(?m)^{name} (.*)$", text)
        if not found:
            return []
        shell = not found[-1].startswith("[")
        return ["/bin/sh", "-c", found[-1]] if shell else json.loads(found[-1])

    return {
        "user": re.findall(r"(?m)^USER (.*)$", text)[-1],
        "entrypoint": words("ENTRYPOINT"), "command": words("CMD"),
        "environment": dict(pair.split("=", 1) for line in re.findall(r"(?m)^ENV (.*)$", text)
                            for pair in shlex.split(line)),
    }


def image_of(name, compose, errand):
    """What an image brings along: programs, entry point, environment."""
    if name.startswith("errand:"):
        settings = dockerfile_settings(os.path.join(os.path.dirname(compose), "Dockerfile"))
        return {**settings, "programs": {"errand": errand}, "path": PATH}
    if re.match(r"postgis/postgis:15-", name):
        return {"entrypoint": ["compose-postgres"], "command": ["postgres"], "user": "0:0",
                "environment": {"PGDATA": "/var/lib/postgresql/data"},
                "programs": {"compose-postgres": os.path.join(HERE, "compose_postgres.sh")},
                "path": "/usr/lib/postgresql/15/bin:" + PATH}
    if re.match(r"redis:7\.", name):
        return {"entrypoint": [], "command": ["redis-server"], "user": "0:0", "environment": {},
                "programs": {}, "path": PATH}
    raise Trouble(f"nothing here stands in for the image {name}")


def seconds(text):
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(n) * units[u] for n, u in re.findall(r"([\d.]+)(ms|s|m|h)", str(text)))


class Project:
    """The services of one file, and the containers that run of them."""

    def __init__(self, arguments):
        self.path = os.path.abspath(arguments.compose)
        with open(self.path) as file:
            self.compose = yaml.safe_load(file)
        self.services = self.compose["services"]
        self.folder = os.path.abspath(arguments.folder)
        self.errand = os.path.abspath(arguments.errand)
        self.containers = {}
        self.seen = {}
        names = [(name, number) for name, service in self.services.items()
                 for number in range(service.get("deploy", {}).get("replicas", 1))]
        self.addresses = {each: f"10.89.0.{place}" for place, each in enumerate(names, 2)}
        self.hosts = "127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for (name, number), address in self.addresses.items()
            if number == 0)

    def start(self, name):
        service = self.services[name]
        image = image_of(service["image"], self.path, self.errand)
        beside = os.path.dirname(self.path)
        files = {}
        for kind, folder in (("secrets", "/run/secrets"), ("configs", "/")):
            for use in service.get(kind, []):
                source = use if isinstance(use, str) else use["source"]
                target = source if isinstance(use, str) else use.get("target", source)
                files[os.path.join(folder, target)] = os.path.join(
                    beside, self.compose[kind][source]["file"])
        volumes = {}
        for volume in service.get("volumes", []):
            source, target = volume.split(":")[:2]
            volumes[target] = os.path.join(self.folder, "volumes", source)
        command = service.get("command", image["command"])
        self.containers[name] = []
        for number in range(service.get("deploy", {}).get("replicas", 1)):
            container = Container(
                name=f"{name}-{number}", folder=self.folder,
                user=service.get("user", image["user"]),
                words=service.get("entrypoint", image["entrypoint"])
                + (shlex.split(command) if isinstance(command, str) else command),
                environment={"PATH": image["path"], "HOSTNAME": f"{name}-{number}",
                             **image["environment"],
                             **{key: str(value) for key, value
                                in (service.get("environment") or {}).items()}},
                programs=image["programs"], files=files, volumes=volumes,
                tmpfs=service.get("tmpfs", []), is_read_only=service.get("read_only", False),
                drops="ALL" in service.get("cap_drop", [])
                and "no-new-privileges:true" in service.get("security_opt", []),
                address=self.addresses[name, number], hosts=self.hosts)
            container.start()
            self.containers[name].append(container)

    def is_met(self, name, condition):
        if name not in self.containers:
            return False
        if condition == "service_completed_successfully":
            codes = [each.code() for each in self.containers[name]]
            if any(code not in (None, 0) for code in codes):
                raise Trouble(f"{name} ended with {codes}\n{self.containers[name][0].log()}")
            return all(code == 0 for code in codes)
        if condition == "service_healthy":
            return all(self.is_healthy(name, each) for each in self.containers[name])
        return True

    def is_healthy(self, name, container):
        if container.code() is not None:
            raise Trouble(f"{name} has ended with {container.code()}\n{container.log()}")
        check = self.services[name].get("healthcheck", {})
        if check.get("disable"):
            raise Trouble(f"{name} is waited for and has no health check")
        test = check["test"]
        words = ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]
        run = container.run(words, seconds(check["timeout"]))
        self.seen.setdefault(name, {})["health"] = (run.stdout + run.stderr).strip()
        return run.returncode == 0

    def up(self):
        waiting = dict(self.services)
        end = time.monotonic() + 120
        while waiting:
            for name, service in list(waiting.items()):
                needs = service.get("depends_on", {})
                if all(self.is_met(each, need["condition"]) for each, need in needs.items()):
                    self.start(name)
                    del waiting[name]
            self.need_time(end, "to start " + ", ".join(waiting))
        for name, service in self.services.items():
            while "healthcheck" in service and not service["healthcheck"].get("disable"):
                if self.is_met(name, "service_healthy"):
                    break
                self.need_time(end, f"for {name} to be healthy")

    def need_time(self, end, what):
        if time.monotonic() > end:
            raise Trouble(f"there was no time {what}\n" + "\n".join(
                f"-- {each.name}\n{each.log()}" for all in self.containers.values()
                for each in all) + json.dumps(self.seen))
        time.sleep(0.2)

    def step(self, step):
        if "stop" in step:
            return self.stop(step["stop"])
        if "start" in step:
            return self.start(step["start"])
        end = time.monotonic() + 60
        container = self.containers[step["in"]][step.get("replica", 0)]
        while True:
            run = container.run(step["run"], 60)
            if run.returncode == 0 and step.get("until", "") in run.stdout:
                return run.stdout
            if "until" not in step or run.returncode not in (0, 1):
                raise Trouble(f"{step}: {run.returncode}\n{run.stdout}{run.stderr}")
            self.need_time(end, f"for {step}: {run.stdout}{run.stderr}")

    def down(self):
        """Stops in the opposite order of the starts."""
        for name in reversed(list(self.containers)):
            self.stop(name)

    def stop(self, name):
        service = self.services[name]
        number = getattr(signal, service.get("stop_signal", "SIGTERM"))
        ends = self.seen.setdefault(name, {}).setdefault("containers", [])
        for each in self.containers.pop(name):
            status = each.status() if each.code() is None else {}
            ends.append({**status, "code": each.stop(
                number, seconds(service.get("stop_grace_period", "10s")))})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compose")
    parser.add_argument("--errand", required=True)
    parser.add_argument("--folder", required=True)
    arguments = parser.parse_args()
    steps = [json.loads(line) for line in sys.stdin if line.strip()]
    try:
        network()
        project = Project(arguments)
        project.up()
        outputs = [project.step(step) for step in steps]
        project.down()
    except (Trouble, subprocess.TimeoutExpired) as trouble:
        print(f"compose_engine: {trouble}", file=sys.stderr)
        return 1
    print(json.dumps({"services": project.seen, "steps": outputs}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
