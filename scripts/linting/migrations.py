"""Checks migrations: numbered table files that never change after their release, and routines that
can be applied again at any time."""
import re

from linting.schemas import NEEDS

PLACE = re.compile(r"migrations/([^/]+)/(tables|routines)/([^/]+)\.sql")
RECORD = "migrations/released.txt"
FUNCTION_LINES = 70

ROUTINE = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:CONSTRAINT|MATERIALIZED|RECURSIVE|TEMP\w*)\s+)*"
    r"(FUNCTION|PROCEDURE|VIEW|TRIGGER|AGGREGATE|RULE)\b", re.IGNORECASE)
REAPPLICABLE = re.compile(
    r"CREATE OR REPLACE (FUNCTION|PROCEDURE|VIEW|TRIGGER)\b|COMMENT ON\b|GRANT\b|REVOKE\b|DO\b"
    r"|DROP TRIGGER IF EXISTS\b|ALTER DEFAULT PRIVILEGES\b"
    # The engine's own function, which can be called again.
    r"|SELECT ERRAND\.GRANT_RIGHTS\("
    r"|ALTER TABLE (ONLY )?\S+ ENABLE ALWAYS TRIGGER \S+$")
# A trigger's name, and its table.
TRIGGER = re.compile(
    r"(?:CREATE (?:OR REPLACE )?(?:CONSTRAINT )?|DROP )TRIGGER (?:IF EXISTS )?(\S+)"
    r" (?:.*? )?ON (\S+)")
VIEW = re.compile(r"CREATE OR REPLACE VIEW (\S+)")
CALL = re.compile(r"(?<![\w.$])([a-z_]\w*\.[a-z_]\w*)\s*\(")
# Words after which a name and a parenthesis are not a call.
BEFORE_TABLE = re.compile(r"\b(INTO|TABLE|REFERENCES|ON|UPDATE|EXISTS)\s*$", re.IGNORECASE)


def check_places(tree):
    """Checks that each file is in its module's tables or routines, and tables have no gaps."""
    numbered = {}
    for path in tree.sql:
        if not path.startswith("migrations/"):
            continue
        match = PLACE.fullmatch(path)
        if not match or match[1] not in NEEDS:
            tree.add(path, 1, "migrations",
                     "goes to migrations/MODULE/tables or routines, of a module that "
                     "scripts/linting/schemas.py names")
        elif match[2] == "tables":
            numbered.setdefault(match[1], []).append((match[3], path))
    for files in numbered.values():
        for place, (name, path) in enumerate(sorted(files), 1):
            if not re.fullmatch(rf"{place:03d}_[a-z0-9_]+", name):
                tree.add(path, 1, "migrations", f"number {place:03d} belongs here")


def check_tables(tree, path, script, routines):
    """Checks that a table file defines no routines, and calls none: those are applied later."""
    for match in ROUTINE.finditer(script.run_code):
        tree.add(path, script.line(match.start()), "migrations",
                 f"{match[1].lower()}: it goes to the module's routines")
    for match in CALL.finditer(script.run_code):
        before = script.run_code[max(0, match.start() - 40):match.start()]
        if match[1] in routines and not BEFORE_TABLE.search(before):
            tree.add(path, script.line(match.start()), "migrations",
                     f"a table step calls no routine, and {match[1]} is one")


def check_routines(tree, path, script):
    """Checks that a routine file can be applied again."""
    dropped = set()
    for statement in script.statements:
        head = script.head(statement)
        trigger = TRIGGER.match(head)
        if trigger and head.startswith("DROP"):
            dropped.add(trigger.groups())
        if REAPPLICABLE.match(head):
            continue
        if trigger and head.startswith("CREATE CONSTRAINT TRIGGER"):
            if trigger.groups() not in dropped:
                tree.add(path, script.line(statement[0]), "migrations",
                         "DROP TRIGGER IF EXISTS goes before a constraint trigger")
            continue
        words = " ".join(head.split()[:3])
        tree.add(path, script.line(statement[0]), "migrations",
                 f"{words} … cannot be applied again: it goes to the module's tables")


def defined(script):
    """Yields the definitions of a script: (name that must be unique, line)."""
    for name, types, first, _ in script.functions():
        yield f"{name}({types})", first
    for statement in script.statements:
        head = script.head(statement).lower()
        if match := VIEW.match(head.upper()):
            yield f"view {match[1].lower()}", script.line(statement[0])
        elif head.startswith("create") and (match := TRIGGER.match(head.upper())):
            yield f"trigger {match[1]} on {match[2]}".lower(), script.line(statement[0])


def check_once(tree):
    places = {}
    for path, script in tree.sql.items():
        if not path.startswith("migrations/"):
            continue
        for what, line in defined(script):
            if what in places:
                tree.add(path, line, "migrations", f"{what} is defined in {places[what]} already")
            else:
                places[what] = f"{path}:{line}"


def check_sizes(tree):
    for path, script in tree.sql.items():
        for name, _, first, last in script.functions():
            if last - first + 1 > FUNCTION_LINES:
                tree.add(path, first, "size",
                         f"{name} has {last - first + 1} lines, {FUNCTION_LINES} allowed: split it")


def check_released(tree):
    """Checks that released table files are unchanged; routines may change."""
    released = set()
    for number, line in enumerate(tree.texts.get(RECORD, "").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        checksum, _, name = line.strip().partition("  ")
        path = f"migrations/{name}"
        released.add(path)
        match = PLACE.fullmatch(path)
        if not match or match[2] != "tables":
            tree.add(RECORD, number, "migrations",
                     f"{name}: only table files are recorded, as MODULE/tables/NNN_name.sql")
        elif path not in tree.texts:
            tree.add(RECORD, number, "migrations", f"{name} was released and is gone")
        elif tree.checksum(path) != checksum:
            tree.add(path, 1, "migrations",
                     "changed since its release: put it back and write a new one")
    tag = tree.run("git", "describe", "--tags", "--match", "v*", "--abbrev=0").stdout.strip()
    if tag:
        tagged = tree.run("git", "ls-tree", "-r", "--name-only", tag, "migrations/").stdout
        for path in sorted(set(tagged.split()) - released):
            match = PLACE.fullmatch(path)
            if match and match[2] == "tables":
                tree.add(RECORD, 1, "migrations",
                         f"{path} was released in {tag}: add a line of sha256sum for it")


def check(tree):
    check_places(tree)
    routines = set()
    for path, script in tree.sql.items():
        if (match := PLACE.fullmatch(path)) and match[2] == "routines":
            routines |= {name for name, *_ in script.functions()}
            check_routines(tree, path, script)
    for path, script in tree.sql.items():
        if (match := PLACE.fullmatch(path)) and match[2] == "tables":
            check_tables(tree, path, script, routines)
    check_once(tree)
    check_sizes(tree)
    check_released(tree)
