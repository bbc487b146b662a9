"""Checks formatting with swift format, the slowest check: files without findings are recorded in
.build and checked again only when they change."""
import hashlib
import os
import re
import shutil

RECORD = ".build/lint-formatted"
FINDING = re.compile(r"(.*?):(\d+):\d+: (?:error|warning): (.*)")


class Formatting:
    def __init__(self, tree):
        """Starts swift format, which runs in the background until `wait`."""
        self.tree = tree
        compiler = os.path.realpath(shutil.which("swift") or "swift")
        rules = compiler + tree.texts.get(".swift-format", "")
        self.sums = {
            path: hashlib.sha256((rules + tree.texts[path]).encode()).hexdigest()
            for path in tree.swift}
        known = set()
        if os.path.isfile(os.path.join(tree.root, RECORD)):
            with open(os.path.join(tree.root, RECORD), encoding="utf-8") as file:
                known = set(file.read().split())
        changed = [path for path, checksum in self.sums.items() if checksum not in known]
        self.process = changed and tree.start(
            "swift", "format", "lint", "--strict", "--parallel", *changed)

    def wait(self):
        if not self.process:
            return
        _, errors = self.process.communicate()
        wrong = set()
        for line in errors.split("\n"):
            if match := FINDING.match(line):
                path = os.path.relpath(os.path.join(self.tree.root, match[1]), self.tree.root)
                self.tree.add(path, match[2], "format", match[3] + "; swift format -i fixes most")
                wrong.add(path)
        if self.process.returncode not in (0, 1) or (self.process.returncode and not wrong):
            self.tree.add("Package.swift", 1, "format", errors.strip() or "swift format failed")
        else:
            self._remember(path for path in self.sums if path not in wrong)

    def _remember(self, paths):
        record = os.path.join(self.tree.root, RECORD)
        os.makedirs(os.path.dirname(record), exist_ok=True)
        with open(f"{record}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.write("\n".join(self.sums[path] for path in paths))
        os.replace(file.name, record)
