"""Tests that each rule of scripts/lint finds its planted violations, and nothing else."""
import hashlib
import os
import shutil
import subprocess
import tempfile

from linting import planted

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "planted",
    targets: [
{targets}
    ]
)
"""


def run(root, check):
    """Plants all violations and runs the checks; returns missing and wrong findings."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(root, ".swift-format"), folder)
        release(folder)
        expected = plant(folder)
        found = check(folder)
    wrong = []
    for path, line, rule, text in found:
        met = {e for e in expected if e[:2] == (path, rule) and e[2] in text}
        if not met:
            wrong.append(f"wrongly found: {path}:{line}: {rule}: {text}")
        expected = {(*e[:3], e[3] or e in met) for e in expected}
    wrong += [f"not found: {rule} in {path}: {word}"
              for path, rule, word, is_met in sorted(expected) if not is_met]
    return wrong


def plant(folder):
    """Writes all files; returns the expected findings: (path, rule, word of the text, False)."""
    expected = []
    for _, _, _, _, *expectations in planted.TARGETS:
        expected += [("Package.swift", text) for text in expectations]
    write(folder, "Package.swift", MANIFEST.format(targets="\n".join(
        declaration(kind, name, uses.split(), path)
        for kind, name, uses, path, *_ in planted.TARGETS)))
    for path, content, *expectations in planted.SWIFT + planted.OTHERS:
        expected += [(path, text) for text in expectations]
        # Append to the record of releases.
        write(folder, path, content, mode="a" if path.endswith("released.txt") else "w")
    parts = ((path, *text.partition(": ")) for path, text in expected + planted.ELSEWHERE)
    return {(path, rule, word, False) for path, rule, _, word in parts}


def declaration(kind, name, uses, path):
    dependencies = ", ".join(f'"{used}"' for used in uses)
    lines = [f'name: "{name}"', f'path: "{path}"']
    if dependencies:
        lines.insert(1, f"dependencies: [{dependencies}]")
    if kind == "plugin":
        lines.insert(1, "capability: .buildTool()")
    return f"        .{kind}(\n" + ",\n".join(f"            {line}" for line in lines) + "),"


def release(folder):
    """Tags a version with the first table step of each module, and records all but one."""
    record = ""
    for name, content in planted.FIRST_STEPS.items():
        write(folder, f"migrations/{name}", content)
        if name != planted.UNRECORDED:
            record += f"{hashlib.sha256(content.encode()).hexdigest()}  {name}\n"
    write(folder, "migrations/released.txt", record)
    for command in ("init -q", "add .", "commit -q -m Planted", "tag v0.1"):
        subprocess.run(
            ["git", "-c", "user.name=lint", "-c", "user.email=lint@localhost",
             "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", *command.split()],
            cwd=folder, check=True)


def write(folder, path, content, mode="w"):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        file.write(content)
