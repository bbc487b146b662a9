"""A checkout for the checks: its files, their code, and the findings."""
import hashlib
import os
import subprocess
from functools import cached_property

from linting import sql_source, swift_source


class Tree:
    """The tracked and untracked, not ignored files of a checkout, and the findings."""

    def __init__(self, root):
        self.root = root
        self.findings = set()
        listed = self.run(
            "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
        self.paths = sorted(
            {p for p in listed.split("\0") if p and os.path.isfile(os.path.join(root, p))})
        self.texts = {}
        for path in self.paths:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                self.texts[path] = file.read()

    @cached_property
    def swift(self):
        """Each Swift file's `swift_source.Source`."""
        return {p: swift_source.Source(t) for p, t in self.texts.items() if p.endswith(".swift")}

    @cached_property
    def sql(self):
        """Each SQL file's `sql_source.Script`."""
        return {p: sql_source.Script(t) for p, t in self.texts.items() if p.endswith(".sql")}

    def checksum(self, path):
        """The SHA-256 of a file, as sha256sum prints it."""
        with open(os.path.join(self.root, path), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def add(self, path, line, rule, text):
        self.findings.add((path, int(line), rule, text))

    def run(self, *command):
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True)

    def start(self, *command):
        """Starts a process in the background; `communicate()` waits for it."""
        return subprocess.Popen(
            command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
