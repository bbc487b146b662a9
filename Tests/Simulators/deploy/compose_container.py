"""One container of compose_engine.py: a root, a network and a process table of its own.

Started as a program it is the part that is inside of the new namespaces already:

    compose_container.py DESCRIPTION    (JSON; see Container.start)
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time


class Trouble(Exception):
    """What went wrong, for people."""


def call(*words, **rest):
    run = subprocess.run(words, capture_output=True, text=True, **rest)
    if run.returncode:
        raise Trouble(f"{' '.join(words)}: {run.stderr.strip()}")
    return run.stdout


def network():
    """The bridge to which every container is joined; the caller has a network of its own."""
    call("ip", "link", "set", "lo", "up")
    call("ip", "link", "add", "bridge", "type", "bridge")
    call("ip", "address", "add", "10.89.0.1/24", "dev", "bridge")
    call("ip", "link", "set", "bridge", "up")


class Container:
    def __init__(self, **settings):
        self.__dict__.update(settings)
        self.own = os.path.join(self.folder, self.name)
        self.cable = f"veth{self.address.rpartition('.')[2]}"
        self.process = None
        self.inner = None

    def start(self):
        os.makedirs(os.path.join(self.own, "root"), exist_ok=True)
        for source in self.volumes.values():
            if not os.path.isdir(source):
                # An engine copies what the image has there, with its owner.
                os.makedirs(source)
                os.chown(source, *map(int, self.user.split(":")))
        description = {key: value for key, value in self.__dict__.items()
                       if key not in ("process", "inner")}
        with open(os.path.join(self.own, "output"), "w") as output:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--kill-child",
                 "--propagation", "private", sys.executable, os.path.abspath(__file__),
                 json.dumps(description)],
                stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, text=True)
        self.inner = self.find_inner()
        self.join()
        self.process.stdin.write("go\n")
        self.process.stdin.close()
        # Whoever comes after it by `run` must find its root.
        while self.code() is None and self.root_is_ours():
            time.sleep(0.01)

    def root_is_ours(self):
        try:
            return os.readlink(f"/proc/{self.inner}/root") == "/"
        except FileNotFoundError:
            return False

    def find_inner(self):
        """The process that is the first inside; `unshare` has nothing else below it."""
        pid = self.process.pid
        end = time.monotonic() + 20
        while time.monotonic() < end and self.process.poll() is None:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                if children := file.read().split():
                    return int(children[0])
            time.sleep(0.01)
        raise Trouble(f"{self.name} did not start: {self.log()}")

    def join(self):
        inside = ["nsenter", "--target", str(self.inner), "--net"]
        call("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns",
             str(self.inner))
        call("ip", "link", "set", self.cable, "master", "bridge", "up")
        call(*inside, "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        call(*inside, "ip", "link", "set", "eth0", "up")
        call(*inside, "ip", "link", "set", "lo", "up")

    def code(self):
        """How it ended; None while it runs."""
        return self.process.poll()

    def log(self):
        with open(os.path.join(self.own, "output")) as file:
            return file.read()[-4000:]

    def run(self, words, limit):
        """Another program beside it, as `docker exec` starts one."""
        owner, group = self.user.split(":")
        return subprocess.run(
            [shutil.which("nsenter"), "--target", str(self.inner), "--mount", "--net", "--pid",
             "--root", "--wd", "--setgid", group, "--setuid", owner, "--", *words],
            env=self.environment, capture_output=True, text=True, timeout=limit,
            stdin=subprocess.DEVNULL)

    def status(self):
        """Whom the kernel takes its first process for."""
        with open(f"/proc/{self.inner}/status") as file:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        with open(f"/proc/{self.inner}/mounts") as file:
            root = next(line.split()[3] for line in file if line.split()[1] == "/")
        return {
            "name": fields["Name"], "uid": int(fields["Uid"].split()[1]),
            "rights": int(fields["CapEff"], 16), "confined": fields["NoNewPrivs"] == "1",
            "first": fields["NSpid"].split()[-1] == "1",
            "read_only": "ro" in root.split(","),
            "resident": int(fields["VmRSS"].split()[0]) * 1024,
        }

    def stop(self, number, grace):
        if self.code() is None:
            os.kill(self.inner, number)
        try:
            code = self.process.wait(grace)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{self.name} did not end in {grace} s\n{self.log()}") from None
        # Its half of the cable goes with it, but not at once.
        subprocess.run(["ip", "link", "delete", self.cable], capture_output=True)
        return code


# ---- Inside ----------------------------------------------------------------------------------

PASSWD = """root:x:0:0:root:/root:/bin/sh
postgres:x:999:999::/var/lib/postgresql:/bin/sh
errand:x:10001:10001::/nonexistent:/usr/sbin/nologin
"""


def mount(*words):
    call("mount", *words)


def bind(source, target, options="ro,nosuid,nodev"):
    """Binds a file or folder at a path that is made for it, if it is not there."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w"):
            pass
    mount("--bind", source, target)
    mount("-o", f"remount,bind,{options}", target)


def text(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


def libraries(programs):
    """The folders of shared libraries outside of /usr that the programs load."""
    for program in programs:
        run = subprocess.run(["ldd", program], capture_output=True, text=True)
        for path in re.findall(r"=> (/\S+)", run.stdout):
            folder = os.path.dirname(path)
            if not re.match(r"/(usr/)?lib", folder):
                yield folder


def build_root(wanted):
    root = os.path.join(wanted["own"], "root")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink(f"usr/{name}", f"{root}/{name}")
    # Of /etc only what every image has: settings of this machine's servers stay out.
    for path in ("/usr", "/etc/ssl", "/etc/alternatives", "/etc/ld.so.cache",
                 "/etc/nsswitch.conf"):
        bind(path, root + path)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", f"{root}/usr/local/bin")
    for name, path in wanted["programs"].items():
        bind(path, f"{root}/usr/local/bin/{name}", "ro,nosuid,nodev")
    for folder in set(libraries(wanted["programs"].values())):
        bind(folder, root + folder)
    for name, content in (("passwd", PASSWD), ("hosts", wanted["hosts"])):
        text(os.path.join(wanted["own"], name), content)
        bind(os.path.join(wanted["own"], name), f"{root}/etc/{name}")
    for folder in ("proc", "dev", "run", "tmp", "var/lib", "root"):
        os.makedirs(f"{root}/{folder}")
    os.symlink("../run", f"{root}/var/run")
    mount("-t", "proc", "proc", f"{root}/proc")
    for device in ("null", "zero", "random", "urandom"):
        bind(f"/dev/{device}", f"{root}/dev/{device}", "rw,nosuid")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    os.makedirs(f"{root}/dev/shm")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", f"{root}/dev/shm")
    for path in wanted["tmpfs"]:
        target, _, options = path.partition(":")
        target = f"{root}/" + re.sub(r"^/var/run\b", "/run", target)
        os.makedirs(target, exist_ok=True)
        mount("-t", "tmpfs", "-o", options or "mode=1777", "tmpfs", target)
    for target, source in wanted["volumes"].items():
        bind(source, root + target, "rw,nosuid,nodev")
    for target, source in wanted["files"].items():
        bind(source, root + target)
    if wanted["is_read_only"]:
        mount("-o", "remount,bind,ro", root)
    return root


def inside(description):
    wanted = json.loads(description)
    root = build_root(wanted)
    socket.sethostname(wanted["name"])
    # The engine joins the network meanwhile.
    sys.stdin.readline()
    owner, group = wanted["user"].split(":")
    words = [shutil.which("unshare"), f"--root={root}", "--wd=/", f"--setgid={group}",
             f"--setuid={owner}", *wanted["words"]]
    if wanted["drops"]:
        words = [shutil.which("setpriv"), "--no-new-privs", *words]
    os.execve(words[0], words, wanted["environment"])


if __name__ == "__main__":
    try:
        inside(sys.argv[1])
    except Trouble as trouble:
        sys.exit(str(trouble))
