"""Checks layers, names and imports against the targets of Package.swift.

A target's floor is its folder below Sources; it depends on its own floor and those below. A file
imports what its target depends on, and of the toolchain what the table here allows.
"""
import json
import os
import re

from linting.schemas import NEEDS, needs_of

FLOORS = ["C", "Wrappers", "Basics", "Engine", "Operator", "Modules", "errand"]
TESTS = len(FLOORS)

# Names that do not follow from the folder.
NAMES = {
    "Sources/Engine/Errand": "Errand",
    "Sources/errand": "ErrandProgram",
    "Tests/Engine/Errand": "ErrandTests",
    "Tests/Services": "ErrandTestServices",
}

# The toolchain's modules that all targets, targets of a folder, or single targets may import.
FREE = {"FoundationEssentials", "Synchronization"}
TOOLCHAIN_BELOW = {
    "Sources/Wrappers/": {"Glibc"},
    "Tests/": {"Dispatch", "Foundation", "Glibc", "Testing"},
}
IN_PLUGINS = {"Foundation", "PackagePlugin"}
TOOLCHAIN = {
    "ErrandThreads": {"Dispatch"},
    # Reads files and terminals with system calls.
    "ErrandDurableFiles": {"Glibc"},
    "ErrandRecurrence": {"Glibc"},
    "ErrandTerminal": {"Glibc"},
    # Signals, exit codes, and the process's own numbers.
    "ErrandCommand": {"Dispatch", "Glibc"},
    "ErrandStatusPage": {"Glibc"},
    # A demo job exits its worker.
    "ErrandDemo": {"Glibc"},
    # Checks whether the output is a terminal.
    "ErrandCoupons": {"Glibc"},
}

IMPORT = re.compile(
    r"import (?:(?:struct|class|enum|protocol|func|var|let|typealias) )?(\w+)")
BEFORE_IMPORT = re.compile(r"[ \t]*([@\w()]+ )*")


class Target:
    def __init__(self, name, kind, path, dependencies):
        self.name, self.kind, self.path = name, kind, path
        self.dependencies = dependencies
        parts = path.split("/")
        self.floor = None
        if parts[0] == "Tests":
            self.floor = TESTS
        elif parts[0] == "Sources" and len(parts) > 1 and parts[1] in FLOORS:
            self.floor = FLOORS.index(parts[1])
        self.module = parts[2].lower() if path.startswith("Sources/Modules/") else None

    @property
    def expected_name(self):
        prefix = "CErrand" if self.floor == 0 else "Errand"
        suffix = "Tests" if self.kind == "test" else ""
        return NAMES.get(self.path) or prefix + os.path.basename(self.path) + suffix

    @property
    def toolchain(self):
        below = (some for folder, some in TOOLCHAIN_BELOW.items()
                 if self.path.startswith(folder))
        plugin = IN_PLUGINS if self.kind == "plugin" else ()
        return FREE.union(TOOLCHAIN.get(self.name, ()), plugin, *below)

    def fault_of_dependency(self, other):
        """Why it may not depend on another target of the package; None if it may."""
        if self.floor is None or other.floor is None:
            return None
        if other.floor == 0 and self.floor != 1 and not (
                self.floor == TESTS and self.kind != "test"):
            return "C is for Wrappers alone"
        if other.floor > self.floor:
            return "imports go downwards only"
        if self.module and other.module in NEEDS and other.module != self.module:
            if other.module not in needs_of(self.module):
                return f"the module {self.module} does not need {other.module}"
        return None


class Manifest:
    """The targets of the package, as SwiftPM dumps them."""

    def __init__(self, tree):
        self.tree = tree
        self.targets = {}
        self._process = tree.start("swift", "package", "dump-package")
        self._by_path = {}

    def wait(self):
        output, errors = self._process.communicate()
        if self._process.returncode:
            self.tree.add("Package.swift", 1, "targets", errors.strip())
            return
        for target in json.loads(output)["targets"]:
            names = (d.get("byName") or d.get("target") or d.get("product")
                     for d in target["dependencies"])
            self.targets[target["name"]] = Target(
                target["name"], target["type"], target.get("path") or "",
                [name[0] for name in names])
        self._by_path = {t.path: t for t in self.targets.values()}

    def target_of(self, path):
        while path := os.path.dirname(path):
            if path in self._by_path:
                return self._by_path[path]
        return None

    def line_of(self, target):
        """Where Package.swift declares a target, by its name or a part of its path."""
        parts = target.path.split("/")
        lines = self.tree.texts["Package.swift"].split("\n")
        for written in (target.name, "/".join(parts[1:]), parts[-1]):
            numbers = [n for n, line in enumerate(lines, 1) if f'"{written}"' in line]
            if numbers:
                # Where a floor and its tests have the same path, the tests stand below.
                return numbers[-1] if target.kind == "test" else numbers[0]
        return 1


def check_manifest(tree, manifest):
    def add(target, rule, text):
        tree.add("Package.swift", manifest.line_of(target), rule, f"{target.name}: {text}")

    for target in manifest.targets.values():
        if not target.name.startswith(("Errand", "CErrand")):
            add(target, "name", "every target's name starts with Errand or CErrand")
        elif target.path and target.name != target.expected_name:
            add(target, "name", f"by its folder it is named {target.expected_name}")
        if target.floor is None and target.kind != "plugin":
            add(target, "targets", "its path is below none of Sources' floors, nor Tests")
        for name in target.dependencies:
            other = manifest.targets.get(name)
            if fault := other and target.fault_of_dependency(other):
                add(target, "targets", f"may not depend on {name}: {fault}")


def check_imports(tree, manifest):
    used = {}
    # Separate packages, such as examples, may import anything.
    others = tuple(path.removesuffix("Package.swift") for path in tree.swift
                   if path.endswith("/Package.swift"))
    for path, source in tree.swift.items():
        if path == "Package.swift" or path.startswith(others):
            continue
        target = manifest.target_of(path)
        if target is None:
            tree.add(path, 1, "imports", "no target of Package.swift holds this file")
            continue
        allowed = target.toolchain.union(target.dependencies)
        for match in IMPORT.finditer(source.code):
            line_begin = source.code.rfind("\n", 0, match.start()) + 1
            if not BEFORE_IMPORT.fullmatch(source.code, line_begin, match.start()):
                continue
            used.setdefault(target.name, set()).add(match[1])
            if match[1] not in allowed:
                tree.add(path, source.line(match.start(1)), "imports",
                         f"{target.name} may not import {match[1]}")
    for name in TOOLCHAIN.keys() & used.keys():
        for module in TOOLCHAIN[name] - used[name]:
            tree.add("scripts/linting/targets.py", 1, "imports",
                     f"{name} does not import {module}: take it out of TOOLCHAIN")


def check(tree, manifest):
    check_manifest(tree, manifest)
    if manifest.targets:
        check_imports(tree, manifest)
