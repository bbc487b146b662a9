#!/usr/bin/env python3
"""Follows deploy/systemd/README.md, command by command, under a systemd that it boots.

    systemd_trial.py CHECKOUT BINARY DATABASE_URL REDIS_URL

Needs root, and the servers of `scripts/services start`. The commands run as they stand there: only
the program, the addresses of the servers and what is marked as for a second machine are replaced
or left out. In between it looks at the processes from outside. Prints what it saw; exit 0 only if
all was as it has to be.
"""
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1
UNITS = ("errand-scheduler", "errand-worker@default", "errand-worker@notices")


class Trouble(Exception):
    pass


def by_network(checkout, database, redis):
    """The servers' URLs for a user who cannot enter the folder of their sockets."""
    status = subprocess.run([os.path.join(checkout, "scripts/services"), "status"],
                            capture_output=True, text=True).stdout
    addresses = re.findall(r" on (127\.0\.0\.1:\d+)", status)
    file = re.search(r"^password .*: (.*)$", status, re.M)
    if len(addresses) != 2 or not file or addresses[0].split(":")[1] not in database:
        raise Trouble(f"these are not the servers of scripts/services: {status}")
    with open(file[1], encoding="utf-8") as content:
        password = urllib.parse.quote(content.read().strip(), safe="")
    name = re.search(r"@/(\w+)\?", database)[1]
    number = re.search(r"(?:\?db=(\d+))?$", redis)[1] or "0"
    return (f"postgresql://errand:{password}@{addresses[0]}/{name}",
            f"redis://{addresses[1]}/{number}")


def blocks(text):
    """The heading and content of each block of shell commands, in their order."""
    heading, inside, lines, name = "", False, [], ""
    for line in text.split("\n"):
        if not inside and line.startswith("## "):
            heading = line[3:]
        elif not inside and line.startswith("```sh"):
            inside, name, lines = True, line[5:].strip(), []
        elif inside and line == "```":
            inside = False
            if not name:
                yield heading, "\n".join(lines) + "\n"
        elif inside:
            lines.append(line)


class Machine:
    """A systemd in namespaces and a cgroup of its own."""

    def __init__(self, checkout):
        self.checkout = checkout
        self.folder = tempfile.mkdtemp(prefix="errand-systemd-", dir="/var/tmp")
        mounted = next(line.split()[1] for line in open("/proc/mounts")
                       if line.split()[2] == "cgroup2")
        self.cgroup = os.path.join(mounted, os.path.basename(self.folder))
        os.mkdir(self.cgroup)
        self.log = open(os.path.join(self.folder, "..", os.path.basename(self.folder) + ".log"),
                        "w+")
        os.unlink(self.log.name)
        self.process = subprocess.Popen(
            ["unshare", "--fork", "--pid", "--mount", "--ipc", "--uts", "--cgroup",
             "--kill-child", "bash", os.path.join(HERE, "systemd_boot.sh"), self.folder, checkout],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            preexec_fn=self.enter)
        self.first = None
        try:
            self.await_boot()
        except BaseException:
            self.close()
            raise

    def enter(self):
        with open(os.path.join(self.cgroup, "cgroup.procs"), "w") as file:
            file.write("0")
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def await_boot(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
            children = open(path).read().split()
            if children and "systemd" in open(f"/proc/{children[0]}/cmdline").read():
                self.first = children[0]
                state = self.run("systemctl is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.1)
        self.log.seek(0)
        raise Trouble("no systemd came up:\n" + self.log.read()[-3000:])

    def run(self, script):
        return subprocess.run(
            ["nsenter", "-t", self.first, "-m", "-p", "-i", "-u", "-C", "-r", "-w",
             "bash", "-euo", "pipefail", "-c", f"cd '{self.checkout}'\n{script}"],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "LC_ALL": "C.UTF-8", "HOME": "/root", "SYSTEMD_PAGER": ""},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    def need(self, script):
        run = self.run(script)
        if run.returncode:
            logs = self.run("journalctl --no-pager -q -u 'errand*' -n 40").stdout
            raise Trouble(f"$ {script}\nexit {run.returncode}\n{run.stdout}{run.stderr}\n{logs}")
        return run.stdout.strip()

    def show(self, unit, name):
        return self.need(f"systemctl show --value -p {name} '{unit}'")

    def until(self, what, condition):
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                logs = self.run("journalctl --no-pager -q -u 'errand*' -n 40").stdout
                raise Trouble(f"{what} did not come about\n{logs}")
            time.sleep(0.2)

    def close(self):
        if self.first:
            # The first process of a namespace takes all others with it.
            os.kill(int(self.first), signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for _ in range(100):
            try:
                for folder, _, _ in os.walk(self.cgroup, topdown=False):
                    os.rmdir(folder)
                break
            except OSError:
                time.sleep(0.1)
        os.rmdir(self.folder)


def expect(is_so, what):
    if not is_so:
        raise Trouble(f"not so: {what}")


def look_at_processes(machine, unit):
    """What the kernel says of the unit's main process."""
    number = machine.show(unit, "MainPID")
    status = dict(line.split(":", 1) for line in
                  machine.need(f"cat /proc/{number}/status").split("\n") if ":" in line)
    user = machine.need("id -u errand")
    expect(status["Uid"].split()[0] == user, f"{unit} runs as errand")
    expect(status["NoNewPrivs"].strip() == "1", f"{unit} can gain no privileges")
    expect(status["Seccomp"].strip() == "2", f"{unit} has its system calls filtered")
    for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        expect(int(status[name], 16) == 0, f"{name} of {unit} is empty")
    expect(machine.run(f"nsenter -t {number} -m touch /etc/errand/x").returncode,
           f"{unit} cannot write in /etc")
    expect(machine.run(f"nsenter -t {number} -m ls /etc/errand/secrets/keys").returncode,
           f"{unit} does not see the secrets of others")


def look_at_life(machine):
    """Killed it comes again, told to stop it ends in order, and a setting that is wrong stays."""
    unit = "errand-worker@default"
    before = machine.show(unit, "MainPID")
    machine.need(f"kill -KILL {before}")
    machine.until("a new worker after a kill", lambda: machine.show(unit, "MainPID") not in (
        before, "0"))
    expect(machine.show(unit, "NRestarts") == "1", "one restart was counted")
    machine.need("systemctl stop errand.target")
    machine.until("the end of all", lambda: all(
        machine.show(name, "ActiveState") == "inactive" for name in UNITS))
    for name in UNITS:
        expect(machine.show(name, "Result") == "success", f"{name} ended in order")
    machine.need("systemctl start errand.target")
    machine.until("all of errand.target", lambda: all(
        machine.show(name, "ActiveState") == "active" for name in UNITS))
    machine.need("systemctl start errand-tick.service")
    expect(machine.show("errand-tick.service", "Result") == "success", "a tick by hand")
    machine.need("systemctl start errand-tick.timer")
    expect(machine.show("errand-scheduler", "ActiveState") in ("inactive", "deactivating"),
           "timer and scheduler exclude each other")
    # The timer in its place comes and goes with all of errand.target, too.
    machine.need("systemctl disable errand-scheduler; systemctl enable --now errand-tick.timer")
    for verb, state in (("stop", "inactive"), ("start", "active")):
        machine.need(f"systemctl {verb} errand.target")
        machine.until(f"the timer {state}", lambda: machine.show(
            "errand-tick.timer", "ActiveState") == state)
    machine.need("systemctl disable --now errand-tick.timer")
    machine.need("systemctl enable --now errand-scheduler")
    # What would start again and again, were it not for its exit code.
    machine.need("sed 's/QUEUES=.*/QUEUES=a,a/' /etc/errand/worker-notices.env "
                 "> /etc/errand/worker-odd.env; systemctl start errand-worker@odd")
    machine.until("the failure of a wrong setting", lambda: machine.show(
        "errand-worker@odd", "ActiveState") == "failed")
    expect(machine.show("errand-worker@odd", "ExecMainStatus") == "2", "it is a usage error")
    machine.need("systemctl reset-failed; rm /etc/errand/worker-odd.env")


def look_at_cron(machine):
    """The crontab, by the real cron, until both of its lines have worked."""
    def errand(words):
        secrets = "/etc/errand/secrets"
        return machine.need(f"DATABASE_URL_FILE={secrets}/worker.database-url "
                            f"REDIS_URL_FILE={secrets}/worker.redis-url errand {words}")

    machine.need("systemctl start cron")
    errand("schedule add trial.cron '@every 1s' --kind ledger.prove --queue default")
    job = errand("enqueue ledger.prove --queue default --output name")
    errand(f"job wait --timeout 150s {job}")
    machine.until("a tick by cron", lambda: errand("schedule history trial.cron -ojson"))
    errand("schedule rm trial.cron --yes")
    machine.need("systemctl stop cron")


def trial(checkout, binary, database, redis):
    database, redis = by_network(checkout, database, redis)
    text = open(os.path.join(checkout, "deploy/systemd/README.md"), encoding="utf-8").read()
    machine = Machine(checkout)
    try:
        print("booted", machine.need("systemctl --version").split("\n")[0])
        for heading, script in blocks(text):
            script = script.replace(".build/release/errand", binary)
            # What the machine has is good enough, whether there is something newer or not.
            script = script.replace("apt-get install", "apt-get install --no-upgrade")
            script = re.sub(r"postgresql://\S+@db\.example\.com\S*", lambda _: database, script)
            script = re.sub(r"redis://\S+@redis\.example\.com\S*", lambda _: redis, script)
            expect("example.com" not in script, "the addresses of all servers are replaced")
            machine.need(script)
            print("followed", heading, f"({len(script.splitlines())} lines)", flush=True)
            if heading.startswith("4 "):
                for unit in UNITS:
                    machine.until(f"{unit} active", lambda: machine.show(
                        unit, "ActiveState") == "active")
                if "systemctl is-active" in script:
                    for unit in UNITS:
                        look_at_processes(machine, unit)
                    look_at_life(machine)
            if heading.startswith("By cron"):
                for unit in UNITS:
                    expect(machine.show(unit, "ActiveState") == "inactive", f"{unit} has ended")
                    expect(machine.run(f"systemctl is-enabled {unit}").returncode,
                           f"{unit} does not come back at the next start")
                look_at_cron(machine)
        expect(not machine.run("id errand").returncode == 0, "the user is removed")
        left = machine.need("systemctl list-units --all --no-legend --plain 'errand*'")
        expect(not left, f"no unit is left: {left}")
        left = machine.need("find /etc /usr/local/bin /usr/local/share -name 'errand*'")
        expect(not left, f"no file is left: {left}")
    finally:
        machine.close()


if __name__ == "__main__":
    if os.geteuid():
        sys.exit("systemd_trial.py boots a systemd: run it as root")
    try:
        trial(*sys.argv[1:])
    except Trouble as trouble:
        sys.exit(str(trouble))
