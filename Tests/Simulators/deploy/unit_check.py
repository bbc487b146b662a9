#!/usr/bin/env python3
"""Checks deploy/systemd and deploy/cron without running anything of them but systemd's own tools.

    unit_check.py DEPLOY BINARY QUEUE…              prints what is wrong; exit 1 if anything is
    unit_check.py --self-test DEPLOY BINARY QUEUE…  plants faults in a copy; each must be found
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from manifest_rules import GRACE_AFTER, seconds
from planted_faults import missed

WORST = 1.1  # systemd's exposure level, from 0 to 10; what is left is that Errand has a network.

# (file, what stands there, what is put there, what must be said about it)
FAULTS = [
    ("systemd/system/errand-worker@.service", "Type=exec", "Type=simply", "parse service type"),
    ("systemd/system/errand-worker@.service", "KillSignal", "KilSignal", "KilSignal"),
    ("systemd/system/errand-worker@.service", "TimeoutStopSec=45s", "TimeoutStopSec=25s",
     "is killed after 25 s"),
    ("systemd/etc/worker-money.env", "ERRAND_GRACE=2m", "ERRAND_GRACE=5m", "300 s of grace"),
    ("systemd/system/errand-.service.d/hardening.conf", "PrivateUsers=yes\n", "",
     "is exposed"),
    ("systemd/system/errand-.service.d/hardening.conf", "User=errand\n", "", "is exposed"),
    ("systemd/system/errand-.service.d/hardening.conf", "@system-service", "@sistem-service",
     "sistem"),
    ("systemd/system/errand-migrate.service", "owner.database-url", "admin.database-url",
     "does not make /etc/errand/secrets/admin"),
    ("systemd/system/errand-worker@webhooks.service.d/keys.conf", "=%d/keys", "=%d/key",
     "has no LoadCredential"),
    ("systemd/system/errand-scheduler.service", "scheduler.env", "schedules.env", "there is no"),
    ("systemd/system/errand-tick.timer", "*:*:00", "*:*:61", "parse calendar"),
    ("systemd/etc/worker-notices.env", ":9468", ":9467", "have one port"),
    ("systemd/etc/worker-notices.env", ",fcm:64", "", "queues without a worker"),
    ("systemd/etc/worker-notices.env", "fcm:64", "votes:64", "works the queue votes too"),
    ("systemd/sysusers.d/errand.conf", "u errand", "x errand", "sysusers.d"),
    ("systemd/tmpfiles.d/errand.conf", "0700", "0755", "only root reads"),
    ("cron/errand", "* * * * * errand", "* * * 13 * errand", "bad month"),
    ("cron/errand", "* * * * * errand", "* * * * * root", "not by the user errand"),
]


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def settings(*paths):
    """Name and values of a unit with its drop-ins, in their order."""
    found = {}
    for path in paths:
        for line in lines(path):
            name, is_setting, value = line.partition("=")
            if is_setting:
                found.setdefault(name, []).append(value)
    return found


class Units:
    def __init__(self, deploy, binary, queues):
        self.deploy, self.binary, self.queues = deploy, binary, set(queues)
        self.folder = os.path.join(deploy, "systemd")
        self.findings = []
        self.classes = {
            re.fullmatch(r"worker-(.*)\.env", os.path.basename(path))[1]:
                dict(line.split("=", 1) for line in lines(path))
            for path in sorted(glob.glob(os.path.join(self.folder, "etc/worker-*.env")))}

    def unit(self, name):
        """The settings of a unit, of an instance where it is `errand-worker@CLASS`."""
        stem, at, _ = name.partition("@")
        paths = [os.path.join(self.folder, "system", stem + at + ".service")]
        for folder in ("errand-.service.d", f"{name}.service.d"):
            paths += sorted(glob.glob(os.path.join(self.folder, "system", folder, "*.conf")))
        return settings(*paths)

    def services(self):
        for path in sorted(glob.glob(os.path.join(self.folder, "system/*.service"))):
            name = os.path.basename(path).removesuffix(".service")
            yield from ([name + c for c in self.classes] if name.endswith("@") else [name])

    def check(self):
        for folder in glob.glob(os.path.join(self.folder, "system/errand-worker@*.service.d")):
            name = re.search(r"@(.*)\.service\.d$", folder)[1]
            if name not in self.classes:
                self.findings.append(f"{name}: there is no worker-{name}.env")
        with tempfile.TemporaryDirectory() as scratch:
            self.verify(scratch)
            self.make_user(scratch)
        worked, ports = {}, {}
        for name in self.services():
            unit = self.unit(name)
            self.check_files(name, unit)
            variables = self.variables(unit, name)
            port = variables.get("ERRAND_LISTEN")
            if port and port in ports:
                self.findings.append(f"{name} and {ports[port]} have one port")
            ports[port] = name
            if "@" in name:
                self.check_worker(name, unit, variables, worked)
        if self.queues != set(worked):
            differing = " ".join(sorted(self.queues ^ set(worked)))
            self.findings.append(f"queues without a worker, or that do not exist: {differing}")
        self.check_crontab()
        return self.findings

    def variables(self, unit, name):
        found = {}
        for path in unit.get("EnvironmentFile", []):
            file = os.path.basename(path).replace("%i", name.partition("@")[2])
            path = os.path.join(self.folder, "etc", file)
            if os.path.isfile(path):
                found |= dict(line.split("=", 1) for line in lines(path))
        return found

    def check_worker(self, name, unit, variables, worked):
        grace = seconds(variables.get("ERRAND_GRACE", "20s"))
        limit = int(unit["TimeoutStopSec"][-1].removesuffix("s"))
        if limit < grace + GRACE_AFTER + 5:
            self.findings.append(
                f"{name} is killed after {limit} s: {grace} s of grace need more")
        for queue in variables.get("ERRAND_QUEUES", "default").split(","):
            queue = queue.split(":")[0]
            if queue in worked:
                self.findings.append(f"{name}: {worked[queue]} works the queue {queue} too")
            worked[queue] = name

    def check_files(self, name, unit):
        """Settings and secrets that a unit names are there, or said in the README."""
        with open(os.path.join(self.folder, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        for path in unit.get("EnvironmentFile", []):
            path = path.replace("%i", name.partition("@")[2])
            if not os.path.isfile(os.path.join(self.folder, "etc", os.path.basename(path))):
                self.findings.append(f"{name}: there is no {path} for it")
        loaded = {}
        for value in unit.get("LoadCredential", []):
            credential, _, path = value.partition(":")
            loaded[credential] = path
            if path not in readme:
                self.findings.append(f"{name}: the README does not make {path}")
        for value in unit.get("Environment", []):
            if (used := re.search(r"=%d/(.*)", value)) and used[1] not in loaded:
                self.findings.append(f"{name}: {value} has no LoadCredential")

    def verify(self, scratch):
        """What systemd says of the units, with the program where this machine has it."""
        copy = os.path.join(scratch, "system")
        shutil.copytree(os.path.join(self.folder, "system"), copy)
        for path in glob.glob(os.path.join(copy, "*.service")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("/usr/local/bin/errand", self.binary))
        names = [os.path.join(copy, f"{name}.service") for name in self.services()]
        for name in names:
            if "@" in name:
                os.symlink(re.sub(r"@.*\.", "@.", os.path.basename(name)), name)
        names += glob.glob(os.path.join(copy, "*.t*")) + glob.glob(os.path.join(copy, "*.slice"))
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", *names],
                             capture_output=True, text=True)
        self.findings += [line for line in (run.stdout + run.stderr).split("\n") if line]
        for name in names:
            if not name.endswith(".service"):
                continue
            run = subprocess.run(["systemd-analyze", "security", "--offline=true", name],
                                 capture_output=True, text=True)
            level = re.search(r"exposure level for (\S+): ([\d.]+)", run.stdout)
            if not level:
                self.findings.append(f"{name}: {run.stderr}")
                continue
            print("exposure level", level[2], level[1])
            if float(level[2]) > WORST:
                self.findings.append(f"{level[1]} is exposed: {level[2]}")

    def make_user(self, scratch):
        """The user and the folders, in a root of their own."""
        root = os.path.join(scratch, "root")
        os.makedirs(os.path.join(root, "etc"))
        for words in (["systemd-sysusers", f"--root={root}"],
                      ["systemd-tmpfiles", "--create", f"--root={root}"]):
            kind = words[0].removeprefix("systemd-") + ".d"
            target = os.path.join(root, "etc", kind)
            os.makedirs(target)
            shutil.copy(os.path.join(self.folder, kind, "errand.conf"), target)
            run = subprocess.run(words + ["errand.conf"], capture_output=True, text=True)
            if run.returncode:
                self.findings.append(f"{kind}: {run.stderr}")
        users = os.path.join(root, "etc/passwd")
        if not os.path.isfile(users) or not any(
                re.match("errand:.*nologin$", line) for line in lines(users)):
            self.findings.append("sysusers.d makes no user without a shell")
        secrets = os.path.join(root, "etc/errand/secrets")
        if not os.path.isdir(secrets) or os.stat(secrets).st_mode & 0o777 != 0o700:
            self.findings.append("tmpfiles.d makes no folder for secrets that only root reads")

    def check_crontab(self):
        """As crontab reads it, without the column of users that /etc/cron.d has."""
        kept = []
        for line in lines(os.path.join(self.deploy, "cron/errand")):
            if re.match(r"\w+ *=", line):
                kept.append(line)
                continue
            fields = line.split(None, 6)
            if fields[5:6] != ["errand"]:
                self.findings.append(f"crontab: not by the user errand: {line}")
            if "%" in line:
                self.findings.append(f"crontab: cron takes % for the end of the line: {line}")
            kept.append(" ".join(fields[:5] + fields[6:]))
        run = subprocess.run(["crontab", "-n", "-"], input="\n".join(kept) + "\n",
                             capture_output=True, text=True)
        if run.returncode:
            self.findings.append(f"crontab: {run.stderr.strip()}")


def self_test(deploy, binary, queues):
    return missed(deploy, FAULTS, lambda copy, _: Units(copy, binary, queues).check())


if __name__ == "__main__":
    if is_self_test := sys.argv[1] == "--self-test":
        del sys.argv[1]
    folder, program, *names = sys.argv[1:]
    wrong = self_test(folder, program, names) if is_self_test \
        else Units(folder, program, names).check()
    print("\n".join(wrong) or "nothing is wrong")
    sys.exit(1 if wrong else 0)
