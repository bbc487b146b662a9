"""Checks files of any language: sizes, names, paths, leftovers, shell syntax."""
import re

FILE_LINES, COLUMNS = 400, 100
BAD_NAME = re.compile(
    r"(^|[a-z0-9_-])(Utils?|Helpers?|Managers?|Common|Misc)($|[A-Z+_.-])"
    r"|^(utils?|helpers?|managers?|common|misc)($|[._-])")
# These begin with a letter, which makes them fast: what stands before it is looked at afterwards.
MACHINE_PATH = re.compile(r"/(?<![\w.$}]/)(?:(?:home|Users|work)/\w|root/)")
REGISTRY = re.compile(
    r"pypi\.(?:org|python)|pythonhosted\.org|rubygems\.org|npmjs\.(?:org|com)|ghcr\.io"
    r"|docker\.io|quay\.io|proxy\.golang\.org|crates\.io|deb\.debian\.org"
    r"|security\.debian\.org|artifactory|registry\.[a-z]+\.\w+|--(?:extra-)?index-url")
LEFTOVER = re.compile(r"(?:FIXME(?<!\wFIXME)|XXX(?<!\wXXX))\b")
# It names what it looks for.
OF_LINT = ("scripts/lint", "scripts/linting/")
SHELL = re.compile(r"#!.*\b(ba)?sh\b")


def check_sizes(tree, path, text):
    lines = text.rstrip("\n").split("\n")
    if len(lines) > FILE_LINES:
        tree.add(path, len(lines), "size", f"{len(lines)} lines, {FILE_LINES} allowed: split it")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            tree.add(path, number, "size", f"{len(line)} columns, {COLUMNS} allowed")


def check_words(tree, path, text):
    for pattern, rule, advice in (
            (MACHINE_PATH, "paths", "no path that only one machine has"),
            (REGISTRY, "paths", "no registry's host: its client knows it"),
            (LEFTOVER, "leftover", "finish it or open an issue")):
        for match in pattern.finditer(text):
            tree.add(path, text.count("\n", 0, match.start()) + 1, rule, advice)


def check_names(tree):
    names = {}
    for path in tree.paths:
        parts = path.split("/")
        for depth, part in enumerate(parts):
            names.setdefault("/".join(parts[:depth + 1]), part)
    for path, name in names.items():
        if BAD_NAME.search(name):
            tree.add(path, 1, "name", "name it for what it holds")


def check_shell(tree, path):
    run = tree.run("bash", "-n", path)
    if run.returncode:
        match = re.search(r"line (\d+): (.*)", run.stderr)
        tree.add(path, match[1] if match else 1, "shell", match[2] if match else run.stderr)


def check(tree):
    check_names(tree)
    for path, text in tree.texts.items():
        is_script = path.startswith(("scripts/", ".ci/"))
        if path.endswith((".swift", ".sql")) or is_script:
            check_sizes(tree, path, text)
        if is_script and SHELL.match(text):
            check_shell(tree, path)
        if path != "LICENSE" and not path.startswith(OF_LINT):
            check_words(tree, path, text)
