"""Checks the layout of folders, and the number of files in each."""
import os
import re
from collections import Counter

from linting.targets import FLOORS

FILES = 15
COUNTED = re.compile(r"(Sources|Tests|migrations|scripts|deploy)(/|$)")

# Folders that may contain more files, with the reason.
LARGER = {
    r"scripts": "a file for each command of the project",
    r"migrations/household/routines": "a file for each subject, with the pages of its functions",
    r"Sources/Modules/\w+/Notices/\w+": "a file for each kind of notice and channel, all alike",
}

# The allowed folders of the package, and of its first level.
ALLOWED = {
    "": {"Sources", "Tests", "deploy", "migrations", "scripts", "docs", "Examples",
         # SwiftPM's folder of plugins.
         "Plugins"},
    "Sources": set(FLOORS),
    "Tests": {*FLOORS, "Crash", "Services", "Bench", "Simulators", "Packages", "Examples",
              "Documentation"}
             - {"C", "errand"},
}


def check(tree):
    counts = Counter(os.path.dirname(path) for path in tree.paths)
    for folder, count in counts.items():
        if COUNTED.match(folder) and count > FILES:
            if not any(re.fullmatch(name, folder) for name in LARGER):
                tree.add(folder, 1, "folders",
                         f"{count} files, {FILES} allowed: divide it into folders by subject")
    folders = {"/".join(parts[:n]) for parts in (p.split("/") for p in tree.paths)
               for n in range(1, min(3, len(parts)))}
    for folder in folders:
        parent, name = os.path.split(folder)
        if not name.startswith(".") and name not in ALLOWED.get(parent, {name}):
            tree.add(folder, 1, "folders",
                     f"{parent or 'the package'} has no such folder by design: see ALLOWED in "
                     "scripts/linting/folders.py")
