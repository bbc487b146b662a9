"""Checks which schemas each module's SQL may name: the layers of the SQL.

A module names its own schema, that of the engine, and those of the modules that it needs, each of
which is written out. Its Swift declares the same (`needs` of its MigrationLine).
"""
import re

from linting import sql_source

# Modules in the order of their application, with the modules that each needs besides the engine.
NEEDS = {
    "engine": "",
    "people": "",
    "notification": "people",
    "accounts": "notification people",
    "ledger": "notification people",
    "payouts": "ledger notification people",
    "establishments": "ledger people",
    "badges": "establishments notification people",
    "coupons": "badges establishments notification people",
    "missions": "coupons establishments notification ledger people",
    "surveys": "badges coupons establishments ledger missions notification people",
    "reports": "coupons establishments ledger missions notification people surveys",
    "news": "notification people",
    "inquiries": "missions notification people",
    "votes": "notification people",
    "household": "notification ledger people",
    "custody": "people",
}


def schema_of(module):
    return "errand" if module == "engine" else module


def needs_of(module):
    """The modules with SQL that a module needs besides the engine; none for one without SQL."""
    return set(NEEDS.get(module, "").split())


def schemas_for(module):
    """The known schemas that the SQL of a module may name."""
    own = {schema_of(module)} if module in NEEDS else set()
    return {"errand"} | own | needs_of(module)


SCHEMAS = {schema_of(module) for module in NEEDS}
ANY_SCHEMA = "|".join(sorted(SCHEMAS))
# schema.name, and the lists after SCHEMA and search_path. `schema.*` is an alias's columns.
NAME = re.compile(rf'({ANY_SCHEMA})"?\.(?=["%a-z_])')
LIST = re.compile(
    r"\b(?:SCHEMA|search_path)\s*(?:=|TO\b|\s)\s*(?:IF\s+NOT\s+EXISTS\s+|IF\s+EXISTS\s+)?"
    r"([\w\"]+(?:\s*,\s*[\w\"]+)*)", re.IGNORECASE)
CREATED = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+){0,2}?"
    r"(?:FUNCTION|PROCEDURE|VIEW|TABLE|TYPE|DOMAIN|SEQUENCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf'"?({ANY_SCHEMA})"?\.', re.IGNORECASE)
# A Swift literal with one of these words is treated as SQL.
SQL_WORD = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|WHERE|VALUES|RETURNING|EXISTS|CALL|LOCK|TRUNCATE"
    r"|ALTER|CREATE|DROP|GRANT|REVOKE|WITH|EXECUTE|PERFORM|COPY|UNION|LATERAL|INTO|AND|OR|AS|ON"
    r"|NULL|CASE|WHEN|ORDER BY|GROUP BY)\b")


def named(code):
    """Yields each known schema in a SQL text: (place, schema)."""
    for match in NAME.finditer(code):
        before = code[max(0, match.start() - 2):match.start()]
        if not re.search(r'[\w.$]"?$', before):
            yield match.start(1), match[1]
    for match in LIST.finditer(code):
        for word in re.finditer(r"\w+", match[1]):
            if word[0] in SCHEMAS:
                yield match.start(1) + word.start(), word[0]


def check_scripts(tree):
    """Checks the SQL of migrations/MODULE."""
    for path, script in tree.sql.items():
        module = path.split("/")[1]
        if not path.startswith("migrations/") or module not in NEEDS:
            continue
        allowed = schemas_for(module)
        for place, schema in named(script.run_code):
            if schema not in allowed:
                tree.add(path, script.line(place), "schemas",
                         f"{module} may not name the schema {schema}: it does not need it")
        for match in CREATED.finditer(script.run_code):
            if match[1] in allowed - {schema_of(module)}:
                tree.add(path, script.line(match.start(1)), "schemas",
                         f"{module} makes nothing in the schema {match[1]}, only in its own")


def check_literals(tree):
    """Checks the SQL in Swift files of Sources, except the program itself, which has none."""
    for path, source in tree.swift.items():
        match = re.match(r"Sources/(Wrappers|Basics|Engine|Operator|Modules/(\w+))/", path)
        if not match:
            continue
        allowed = schemas_for((match[2] or "engine").lower())
        if match[1] in {"Wrappers", "Basics"}:
            allowed = set()
        if not NAME.search(source.text) and not LIST.search(source.text):
            continue
        for begin, contents in source.literals():
            if not SQL_WORD.search(contents):
                continue
            for place, schema in named(sql_source.Script(contents).run_code):
                if schema not in allowed:
                    tree.add(path, source.line(begin + place), "schemas",
                             f"{match[2] or match[1]} may not name the schema {schema}")


NEEDED = re.compile(r"\bneeds\s*(?::\s*(?:\[String\]|Set<String>)\s*)?[:={]\s*(\[)")
MODULE = re.compile(r"\bmodule\s*[:=]\s*(\")")


def check_needs(tree):
    """Compares the Swift declaration of each module with NEEDS."""
    for path, source in tree.swift.items():
        match = re.fullmatch(r"Sources/Modules/(\w+)/\1Module\.swift", path)
        if not match:
            continue
        module = match[1].lower()
        if name := MODULE.search(source.code):
            declared = re.match(r"\w*", source.text[name.end():])[0]
            if declared != module:
                tree.add(path, source.line(name.start()), "schemas",
                         f"the folder {match[1]} holds the module {module}, not {declared}")
        if module not in NEEDS:
            continue
        needed, line = set(), 1
        if list_ := NEEDED.search(source.code):
            end = source.code.index("]", list_.end())
            needed = set(re.findall(r'"(\w+)"', source.text[list_.start(1):end]))
            line = source.line(list_.start())
        if needed - {"engine"} != needs_of(module):
            tree.add(path, line, "schemas",
                     "what it needs and scripts/linting/schemas.py differ about "
                     + " ".join(sorted((needed - {"engine"}) ^ needs_of(module))))


def check(tree):
    check_scripts(tree)
    check_literals(tree)
    check_needs(tree)
