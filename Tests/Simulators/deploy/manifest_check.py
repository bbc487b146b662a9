#!/usr/bin/env python3
"""Checks deploy/kubernetes: schemas, references, grace, security, queues.

    manifest_check.py FOLDER QUEUE…             prints what is wrong; exit 1 if anything is
    manifest_check.py --self-test FOLDER QUEUE… plants faults in a copy; each must be found
"""
import functools
import json
import os
import re
import shutil
import sys
import tempfile

import kubernetes_validate
import kubernetes_validate.utils
from cloudcoil.models.keda.v1alpha1 import ScaledObject, TriggerAuthentication
from cloudcoil.models.prometheus_operator.v1 import PodMonitor

from kustomized import Refused, render, unlisted
from manifest_rules import Rules
from planted_faults import missed

FOLDERS = ("base", "scheduler", "autoscaling", "monitoring", "secrets", "production")
# The oldest that has all that is used here, and the newest that the package has.
VERSIONS = ("1.31", "1.37")
MODELS = {"ScaledObject": ScaledObject, "TriggerAuthentication": TriggerAuthentication,
          "PodMonitor": PodMonitor}

# It would read the definitions of everything for each resource.
kubernetes_validate.utils.schema_contents = functools.cache(
    kubernetes_validate.utils.schema_contents)

# (file, what stands there, what is put there, what must be said about it)
FAULTS = [
    ("base/worker-default.yaml", "automountServiceAccountToken", "automountServiceAcountToken",
     "automountServiceAcountToken"),
    ("base/worker-default.yaml", "replicas: 2", "replicas: two", "integer"),
    ("base/worker-default.yaml", "terminationGracePeriodSeconds: 45",
     "terminationGracePeriodSeconds: 28", "is killed after 28 s"),
    ("base/worker-money.yaml", "value: 2m", "value: 200s", "is killed after 150 s"),
    ("base/worker-default.yaml", "path: /livez", "path: /readyz", "livenessProbe does not ask"),
    ("base/worker-default.yaml", "port: http", "port: metrics", "of a port of its own"),
    ("base/errand.env", "9464", "9465", "ERRAND_LISTEN and the port differ"),
    ("base/errand.env", "[::]:", "", "ERRAND_LISTEN is open to the pod alone"),
    ("base/worker-default.yaml", "secretName: errand-keys", "secretName: keys",
     "nothing makes the secret keys"),
    ("base/worker-default.yaml", "errand/redis-url", "errand/redis", "no secret has"),
    ("base/worker-default.yaml", "name: errand\n          env:", "name: settings\n          env:",
     "there is no ConfigMap settings"),
    ("base/service-account.yaml", "name: errand\n  labels", "name: worker\n  labels",
     "service account is not made"),
    ("base/worker-default.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false",
     "its container has rights"),
    ("base/worker-notices.yaml", "runAsUser: 10001", "runAsUser: 0", "user of the image"),
    ("base/worker-notices.yaml", ",fcm:64", "", "queues without a worker"),
    ("base/worker-notices.yaml", "mail:16", "votes:16", "two classes"),
    ("base/disruption.yaml", "component: worker-money\n---", "component: money\n---",
     "has 0 disruption budgets"),
    ("base/network.yaml", "component: worker-webhooks", "component: webhooks", "selects no pod"),
    ("base/network.yaml", "podSelector: {}\n  policyTypes: [Ingress, Egress]",
     "podSelector: {}\n  policyTypes: [Ingress]", "nothing is denied"),
    ("base/network.yaml", "cidr: 0.0.0.0/0", "cird: 0.0.0.0/0", "'cidr' is a required"),
    ("base/tick.yaml", "concurrencyPolicy: Allow", "concurrencyPolicy: [Allow]",
     "is not of type 'string'"),
    ("base/kustomization.yaml", "  - tick.yaml\n", "", "is not named"),
    ("base/kustomization.yaml", "namespace: errand\nresources", "resources",
     "is not in the namespace"),
    ("base/kustomization.yaml", "images:", "pictures:", "does not know"),
    ("autoscaling/worker-default.yaml", "pollingInterval", "poolingInterval", "poolingInterval"),
    ("autoscaling/worker-default.yaml", "maxReplicaCount: 6", "maxReplicaCount: six",
     "maxReplicaCount"),
    ("autoscaling/worker-default.yaml", "    name: worker-default\n  minR",
     "    name: worker\n  minR", "scales nothing"),
    ("autoscaling/worker-notices.yaml", "'apns', ", "", "other queues"),
    ("autoscaling/authentication.yaml", "key: database-url", "key: url", "secret is not made"),
    ("monitoring/pod-monitor.yaml", "port: http", "port: https", "that no pod has"),
    ("monitoring/pod-monitor.yaml", "interval: 15s", "intervall: 15s", "intervall"),
    ("autoscaling/worker-notices.yaml", "maxReplicaCount: 4", "maxReplicaCount: 9",
     "are not what the README says"),
    ("README.md", "job/migrate", "job/migration", "names job/migration"),
    ("production/replicas.yaml", "replicas: null", "replicas: 3", "both say"),
    ("production/no-tick.yaml", "name: tick", "name: tock", "which nothing makes"),
    ("secrets/kustomization.yaml", "      - keys\n", "      - other=keys\n", "no secret has"),
]


def secrets_of(root):
    """The secrets that the folder `secrets` makes, with their keys, once its files are there.

    And those that a comment tells the reader to make by hand.
    """
    with open(os.path.join(root, "secrets/kustomization.yaml"), encoding="utf-8") as file:
        names = re.findall(r"^ +- (?:[\w.-]+=)?([\w.-]+)$", file.read(), re.M)
    try:
        render(root, "secrets")
        raise Refused("secrets: is made without its files")
    except Refused as refusal:
        if "no such file" not in str(refusal):
            raise
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "copy")
        shutil.copytree(root, copy)
        for name in names:
            with open(os.path.join(copy, "secrets", name), "w", encoding="utf-8") as file:
                file.write("placeholder\n")
        made = render(copy, "secrets")
    secrets = {d["metadata"]["name"]: set(d["data"]) for d in made}
    for path, text in files(root):
        for line in re.findall(r"create secret generic (.*)", text):
            secrets[line.split()[0]] = set(re.findall(r"--from-file=([\w.-]+)", line))
    return secrets


def files(root):
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".yaml", ".md")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield path, file.read()


@functools.cache
def against_schemas(text):
    """What the published schemas say against a resource, given as JSON."""
    return list(differing(json.loads(text)))


def differing(document):
    where = f"{document['kind']} {document['metadata']['name']}"
    if model := MODELS.get(document["kind"]):
        try:
            read = model.model_validate(document)
        except ValueError as error:
            yield f"{where}: {error}"
            return
        back = read.model_dump(by_alias=True, exclude_unset=True, mode="json")
        if unknown := set(paths(document)) - set(paths(back)):
            yield f"{where}: no such field: {sorted(unknown)}"
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except (kubernetes_validate.ValidationError,
                kubernetes_validate.SchemaNotFoundError) as error:
            yield f"{where}: Kubernetes {version}: {error.message}"


def paths(value, path=""):
    """The paths of all fields."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from paths(inner, f"{path}[{place}]")
    yield path


def said(root, documents, most):
    """What the README names is there, and it tells how many connections the example may need."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    if f" {most} connections" not in readme:
        yield f"production: {most} connections are not what the README says"
    for folder in re.findall(r"(?:apply|delete) -k deploy/kubernetes/(\S+)", readme):
        if folder not in FOLDERS:
            yield f"the README applies {folder}, which there is not"
    made = {f"{d['kind'].lower()}/{d['metadata']['name']}" for d in documents}
    for name in re.findall(r"\b(?:deployment|job)/[\w-]+", readme):
        if name not in made:
            yield f"the README names {name}, which nothing makes"


def check(root, queues, folders=FOLDERS, secrets=None):
    findings = []
    try:
        for folder in folders:
            findings += [f"{folder}/{name}: is not named by its kustomization"
                         for name in unlisted(os.path.join(root, folder))]
        secrets = secrets or secrets_of(root)
        for folder in folders:
            if folder == "secrets":
                continue
            documents = render(root, folder)
            for document in documents:
                text = json.dumps(document, sort_keys=True)
                findings += [f"{folder}: {text}" for text in against_schemas(text)]
            # Parts refer to what is in others: only what can be used alone is looked at whole.
            if folder in ("base", "production") and not findings:
                rules = Rules(documents, secrets, set(queues))
                findings += [f"{folder}: {text}" for text in rules.check()]
                if folder == "production":
                    findings += said(root, documents, rules.most_connections())
    except Refused as refusal:
        findings.append(str(refusal))
    return findings


def self_test(root, queues):
    secrets = secrets_of(root)

    def check_copy(copy, path):
        folder = os.path.dirname(path)
        return check(copy, queues, {folder or "base", "production"},
                     None if folder == "secrets" else secrets)

    return missed(root, FAULTS, check_copy)


if __name__ == "__main__":
    is_self_test = sys.argv[1] == "--self-test"
    place, *names = sys.argv[2 if is_self_test else 1:]
    wrong = (self_test if is_self_test else check)(place, names)
    print("\n".join(wrong) or "nothing is wrong")
    sys.exit(1 if wrong else 0)
