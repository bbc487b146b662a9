"""Says what is wrong with deploy/compose.yaml and deploy/Dockerfile, one finding a line.

    deploy_check.py compose DEPLOY      against the Compose Specification's schema, and whether
                                        what is named exists, is used, and fits together
    deploy_check.py image DEPLOY ERRAND    by hadolint, and whether the image has what it needs

DEPLOY is the folder; the checkout is the one that this file stands in. Run by the Python that has
check-jsonschema, hadolint and PyYAML.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

from compose_engine import dockerfile_settings, seconds

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
TOOLS = os.path.dirname(sys.executable)


def said(*words):
    """What a linter says, one line each; nothing when it is content."""
    run = subprocess.run(words, capture_output=True, text=True)
    lines = [line.strip() for line in (run.stdout + run.stderr).split("\n") if line.strip()]
    return lines if run.returncode else []


# ---- Compose -----------------------------------------------------------------------------------

def names(things):
    """The names that a list of short and long forms uses."""
    if isinstance(things, dict):
        return set(things)
    return {each if isinstance(each, str) else each["source"] for each in things or []}


def references(compose, deploy):
    services = compose["services"]
    for kind in ("configs", "secrets", "networks"):
        used = set().union(*(names(service.get(kind)) for service in services.values()))
        declared = set(compose.get(kind, {}))
        yield from (f"{kind}: {name} is used and not declared" for name in used - declared)
        yield from (f"{kind}: {name} is declared and not used" for name in declared - used)
    yield from (f"configs: there is no {place['file']}" for place in compose["configs"].values()
                if not os.path.isfile(os.path.join(deploy, place["file"])))
    used = {volume.split(":")[0] for service in services.values()
            for volume in service.get("volumes", [])}
    used = {name for name in used if not name.startswith((".", "/"))}
    declared = set(compose.get("volumes", {}))
    yield from (f"volumes: {name} is used and not declared" for name in used - declared)
    yield from (f"volumes: {name} is declared and not used" for name in declared - used)


def waits(name, service, services):
    for other, need in service.get("depends_on", {}).items():
        if other not in services:
            yield f"{name}: waits for {other}, which there is not"
            continue
        check = services[other].get("healthcheck", {"disable": True})
        if need["condition"] == "service_healthy" and check.get("disable"):
            yield f"{name}: waits for the health of {other}, which has no check"
        completes = need["condition"] == "service_completed_successfully"
        if completes and services[other].get("restart") not in ("on-failure", "no", None):
            yield f"{name}: waits for the end of {other}, which is started again"
    if is_errand(service) and service["command"][0] in ("work", "schedule"):
        need = service.get("depends_on", {}).get("migrate", {})
        if need.get("condition") != "service_completed_successfully":
            yield f"{name}: does not wait for migrate"


def is_errand(service):
    return service["image"].startswith("errand:")


def is_open(listen):
    """Whether others reach the address: Prometheus and the orchestrator are not in the container."""
    return listen.startswith(("[::]:", "0.0.0.0:"))


def confinement(name, service):
    for key, wanted in (("read_only", True), ("cap_drop", ["ALL"]),
                        ("security_opt", ["no-new-privileges:true"])):
        if service.get(key) != wanted:
            yield f"{name}: {key} is not {wanted}"
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    for key in ("cpus", "memory", "pids"):
        if key not in limits:
            yield f"{name}: no limit for {key}"
    for key in ("privileged", "network_mode", "pid", "ipc", "ports", "devices", "cap_add"):
        if key in service:
            yield f"{name}: {key} opens it"
    tag = service["image"].rpartition(":")[2]
    if ":" not in service["image"] or not re.match(r"\d", tag):
        yield f"{name}: the image {service['image']} has no version"
    if "healthcheck" not in service:
        yield f"{name}: no healthcheck"
    elif not service["healthcheck"].get("disable"):
        for key in ("test", "interval", "timeout", "retries", "start_period"):
            if key not in service["healthcheck"]:
                yield f"{name}: the healthcheck has no {key}"


def secrecy(name, service):
    """Secrets come as files, each to whom needs it."""
    variables = {key: str(value) for key, value in (service.get("environment") or {}).items()}
    mentioned = set()
    for key, value in variables.items():
        if re.search(r"(URL|PASSWORD|TOKEN|SECRET)$", key):
            yield f"{name}: {key} holds a secret; use {key}_FILE"
        if key.endswith("_FILE") and not value.startswith("/run/secrets/"):
            yield f"{name}: {key} names no secret"
    words = list(variables.values()) + list(service.get("command", []))
    for word in words:
        mentioned |= set(re.findall(r"/run/secrets/([\w.-]+)", word))
    mounted = {each for each in service.get("secrets", []) if isinstance(each, str)}
    yield from (f"{name}: does not get the secret {each}" for each in mentioned - mounted)
    yield from (f"{name}: gets the secret {each} and has no use" for each in mounted - mentioned)


def errands(name, service, services):
    variables = service.get("environment") or {}
    command = service["command"]
    sources = subprocess.run(
        ["grep", "-rhoE", r'"ERRAND_[A-Z_]+"', os.path.join(ROOT, "Sources")],
        capture_output=True, text=True, check=True).stdout
    known = set(sources.replace('"', "").split()) | {"DATABASE_URL", "REDIS_URL"}
    for key in variables:
        if key not in known and key.removesuffix("_FILE") not in known:
            yield f"{name}: errand knows no variable {key}"
    if command[0] == "work":
        grace = variables.get("ERRAND_GRACE", "20s")
        if "--grace" in command:
            grace = command[command.index("--grace") + 1]
        if seconds(service.get("stop_grace_period", "10s")) < seconds(grace) + 10:
            yield f"{name}: stop_grace_period is no 10 s more than the grace of {grace}"
        leads = any(each["command"][:2] == ["schedule", "run"] for each in services.values()
                    if is_errand(each))
        if leads and "--no-schedules" not in command:
            yield f"{name}: works without --no-schedules beside a scheduler"
    probes = "--probe" in service.get("healthcheck", {}).get("test", [])
    if probes and "ERRAND_LISTEN" not in variables:
        yield f"{name}: its health check asks at ERRAND_LISTEN, which is not set"
    if "ERRAND_LISTEN" in variables and not is_open(variables["ERRAND_LISTEN"]):
        yield f"{name}: ERRAND_LISTEN is open to the container alone"


def made_secrets(compose, deploy):
    """make-secrets has to make each of them, and each must belong to whoever reads it."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([os.path.join(deploy, "compose/make-secrets"), folder],
                             capture_output=True, text=True)
        if run.returncode:
            yield f"make-secrets: {run.stderr.strip()}"
            return
        made = {name: os.stat(os.path.join(folder, name)) for name in os.listdir(folder)}
    for secret, place in compose["secrets"].items():
        name = os.path.basename(place["file"])
        if os.path.dirname(place["file"]) != "./secrets":
            yield f"secrets: {secret} is not in ./secrets"
        elif name not in made:
            yield f"secrets: make-secrets does not make {name}"
        elif made[name].st_mode & 0o077:
            yield f"secrets: {name} is open to others"
        else:
            for service, settings in compose["services"].items():
                user = int(str(settings.get("user", "10001")).split(":")[0])
                if secret in names(settings.get("secrets")) and made[name].st_uid != user:
                    yield f"secrets: {service} may not read {name}"


def check_compose(deploy):
    path = os.path.join(deploy, "compose.yaml")
    yield from said(os.path.join(TOOLS, "check-jsonschema"), "--color", "never",
                    "--builtin-schema", "vendor.compose-spec", path)
    with open(path) as file:
        compose = yaml.safe_load(file)
    services = compose["services"]
    yield from references(compose, deploy)
    yield from made_secrets(compose, deploy)
    for name, service in services.items():
        yield from confinement(name, service)
        yield from secrecy(name, service)
        yield from waits(name, service, services)
        if is_errand(service):
            yield from errands(name, service, services)


# ---- The image ---------------------------------------------------------------------------------

# Every Debian has these.
IN_BASE = {"libc6", "libgcc-s1"}
# No library, and needed: who vouches for servers, and when local time changes.
DATA = {"ca-certificates", "tzdata"}


def library_packages(errand):
    """The packages of the shared libraries that the program asks for, and of all that it loads."""
    headers = subprocess.run(["objdump", "-p", errand], capture_output=True, text=True,
                             check=True).stdout
    needed = set(re.findall(r"NEEDED\s+(\S+)", headers))
    loaded = subprocess.run(["ldd", errand], capture_output=True, text=True, check=True).stdout
    names = {os.path.realpath(path): name
             for name, path in re.findall(r"(\S+) => (/\S+)", loaded)}
    # One search for all: /lib, where some say that they are, is /usr/lib. Swift's own are none of
    # Debian's: a release has them inside.
    found = subprocess.run(
        ["dpkg-query", "-S", *names, *(path.removeprefix("/usr") for path in names)],
        capture_output=True, text=True).stdout
    asked, others = set(), set()
    for package, path in re.findall(r"(?m)^([^:\s]+)\S*: (/\S+)$", found):
        name = names[os.path.realpath(path)]
        (asked if name in needed else others).add(package)
    return asked, asked | others


def check_image(deploy, errand):
    path = os.path.join(deploy, "Dockerfile")
    yield from said(os.path.join(TOOLS, "hadolint"), "--no-color", path)
    with open(path) as file:
        text = re.sub(r"\\\n\s*", " ", file.read())
    stages = re.split(r"(?m)^FROM ", text)
    run_stage = stages[-1]
    for argument, stage in (("BUILD_IMAGE", stages[1]), ("RUN_IMAGE", run_stage)):
        if not re.search(rf"(?m)^ARG {argument}=\S+", stages[0]):
            yield f"Dockerfile: {argument} has no default"
        if not stage.startswith(f"${{{argument}}}"):
            yield f"Dockerfile: a stage does not stand on {argument}"
    installed = re.search(r"apt-get install (.*?) &&", run_stage)
    listed = {word for word in installed[1].split() if not re.match(r"-|DPkg::", word)}
    asked, loaded = library_packages(errand)
    missing = (asked | DATA) - IN_BASE - listed
    yield from (f"Dockerfile: {name} is missing: errand needs it" for name in missing)
    unused = listed - loaded - DATA
    yield from (f"Dockerfile: {name} is installed and not loaded" for name in unused)
    if "--no-install-recommends" not in installed[1]:
        yield "Dockerfile: recommended packages are installed"
    settings = dockerfile_settings(path)
    if settings["user"] != "10001:10001":
        yield f"Dockerfile: USER is {settings['user']}"
    if settings["entrypoint"] != ["errand"] or settings["command"] != ["work"]:
        yield "Dockerfile: it does not start 'errand work'"
    probe = re.search(r"HEALTHCHECK .*?CMD (\[.*?\])", run_stage)
    if not probe or json.loads(probe[1]) != ["errand", "doctor", "--probe", "live"]:
        yield "Dockerfile: HEALTHCHECK does not ask whether it lives"
    if "ERRAND_LISTEN" not in settings["environment"]:
        yield "Dockerfile: the health check asks at ERRAND_LISTEN, which is not set"
    elif not is_open(settings["environment"]["ERRAND_LISTEN"]):
        yield "Dockerfile: ERRAND_LISTEN is open to the container alone"
    if not re.search(r"(?m)^STOPSIGNAL SIGTERM$", run_stage):
        yield "Dockerfile: STOPSIGNAL is not SIGTERM"
    yield from check_context(stages[1])


def check_context(build_stage):
    """.dockerignore lets in what the build copies, and nothing else."""
    with open(os.path.join(ROOT, ".dockerignore")) as file:
        rules = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    copied = {word for line in re.findall(r"(?m)^COPY (.*)$", build_stage)
              for word in line.split()[:-1]}
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    if rules[0] != "*":
        yield ".dockerignore: does not begin by leaving everything out"
    yield from (f".dockerignore: leaves out {name}, which is copied" for name in copied - let_in)
    yield from (f".dockerignore: lets {name} in, which nothing copies" for name in let_in - copied)
    yield from (f"Dockerfile: there is no {name} to copy" for name in copied
                if not os.path.exists(os.path.join(ROOT, name)))


def main():
    kind, *arguments = sys.argv[1:]
    findings = sorted({"compose": check_compose, "image": check_image}[kind](*arguments))
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
