"""Renders kustomizations with the kustomize that is in Debian's kubectl, which is an old one (2.0.3).

Kustomizations are written for those of today; the few fields that have other names since are
renamed in a copy. A field that is not known here is refused, as kustomize does.
"""
import os
import shutil
import subprocess
import tempfile

import yaml

KNOWN = {
    "apiVersion", "kind", "namespace", "resources", "images", "configMapGenerator",
    "secretGenerator", "generatorOptions", "patches",
}
GENERATOR = {"name", "envs", "files", "literals", "behavior"}


# In C, which reads ten times as fast.
LOADER = yaml.CSafeLoader


class Refused(Exception):
    pass


def _generator(entry, where):
    if unknown := entry.keys() - GENERATOR:
        raise Refused(f"{where}: generator with {sorted(unknown)}")
    entry = dict(entry)
    envs = entry.pop("envs", [])
    if len(envs) > 1:
        raise Refused(f"{where}: this check takes one file of variables at most")
    return entry | ({"env": envs[0]} if envs else {})


def _older(path):
    """The kustomization of a folder in the words of the old one."""
    with open(path, encoding="utf-8") as file:
        new = yaml.load(file, LOADER)
    if new.get("apiVersion") != "kustomize.config.k8s.io/v1beta1" \
            or new.get("kind") != "Kustomization":
        raise Refused(f"{path}: not a Kustomization of v1beta1")
    if unknown := new.keys() - KNOWN:
        raise Refused(f"{path}: this check does not know {sorted(unknown)}")
    folder = os.path.dirname(path)
    old = {key: new[key] for key in ("namespace", "images", "generatorOptions") if key in new}
    resources = new.get("resources", [])
    old["bases"] = [r for r in resources if os.path.isdir(os.path.join(folder, r))]
    old["resources"] = [r for r in resources if r not in old["bases"]]
    for name in ("configMapGenerator", "secretGenerator"):
        if name in new:
            old[name] = [_generator(entry, path) for entry in new[name]]
    for patch in new.get("patches", []):
        if patch.keys() != {"path"}:
            raise Refused(f"{path}: this check takes patches by path only")
    paths = [patch["path"] for patch in new.get("patches", [])]
    deleted = [(d["kind"], d["metadata"]["name"]) for path in paths
               for d in _documents(os.path.join(folder, path)) if d.get("$patch") == "delete"]
    # The old one does not delete by patches.
    old["patchesStrategicMerge"] = [path for path in paths if not any(
        "$patch" in d for d in _documents(os.path.join(folder, path)))]
    return {key: value for key, value in old.items() if value}, deleted


def _documents(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, LOADER) if document]


def unlisted(folder):
    """Files of a kustomization's folder that it does not name."""
    with open(os.path.join(folder, "kustomization.yaml"), encoding="utf-8") as file:
        text = file.read()
    return [name for name in sorted(os.listdir(folder))
            if name not in text and name not in ("kustomization.yaml", ".gitignore")]


def render(root, folder):
    """The resources that `kubectl apply -k` of the folder below the root makes.

    Throws Refused with what kustomize says.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "copy")
        shutil.copytree(root, copy)
        deleted = []
        for name in os.listdir(copy):
            path = os.path.join(copy, name, "kustomization.yaml")
            if os.path.isfile(path):
                old, gone = _older(path)
                deleted += gone if name == folder else []
                with open(path, "w", encoding="utf-8") as file:
                    yaml.safe_dump(old, file)
        run = subprocess.run(
            [os.environ.get("KUBECTL", "kubectl"), "kustomize", os.path.join(copy, folder)],
            capture_output=True, text=True)
        if run.returncode:
            raise Refused(run.stderr.strip())
        made = [document for document in yaml.load_all(run.stdout, LOADER) if document]
        for kind, name in deleted:
            left = [d for d in made if (d["kind"], d["metadata"]["name"]) != (kind, name)]
            if len(left) == len(made):
                raise Refused(f"{folder} deletes {kind} {name}, which nothing makes")
            made = left
        return made
