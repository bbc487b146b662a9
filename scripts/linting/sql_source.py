"""A minimal SQL scanner for scripts/lint: code, statements, functions."""
import re
from functools import cached_property

from linting.swift_source import blanked

TURN_OF_CODE = re.compile(r"--|/\*|'|(?<![\w$])\$(?:[A-Za-z_]\w*)?\$")
# A string that is executed, or that names an object.
STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CALL|CREATE|ALTER|DROP|GRANT|REVOKE|LOCK|TRUNCATE|COPY)"
    r"\s")
OBJECT_NAME = re.compile(r"'\s*::\s*reg[a-z]+")


class Script:
    """One SQL text.

    - code: comments and strings blanked, letter for letter; bodies in dollar quotes are code
    - run_code: the same, with the strings that are themselves statements or names of objects
    - outline: the code without the bodies
    """

    def __init__(self, text):
        self.text = text
        self.bodies = []
        self.code = self._scan(0, len(text), keeps_statements=False)
        self.run_code = (
            self._scan(0, len(text), keeps_statements=True) if "'" in text else self.code)
        self.outline = self.code
        for begin, end in self.bodies:
            self.outline = (
                self.outline[:begin] + blanked(self.outline[begin:end]) + self.outline[end:])

    def _scan(self, place, end, keeps_statements, depth=0):
        text, pieces = self.text, []
        while turn := TURN_OF_CODE.search(text, place, end):
            pieces.append(text[place:turn.start()])
            begin, place = turn.span()
            if turn[0] == "--":
                place = text.find("\n", begin, end)
                place = end if place < 0 else place
                pieces.append(blanked(text[begin:place]))
            elif turn[0] == "/*":
                place = end_of_comment(text, begin, end)
                pieces.append(blanked(text[begin:place]))
            elif turn[0] == "'":
                place = end_of_string(text, begin, end)
                inner = text[begin + 1:place - 1]
                kept = keeps_statements and (
                    STATEMENT.match(inner) or OBJECT_NAME.match(text, place - 1, end))
                pieces.append("'" + (inner if kept else blanked(inner)) + text[place - 1:place])
            else:
                close = text.find(turn[0], place, end)
                close = end if close < 0 else close
                if depth == 0 and not keeps_statements:
                    self.bodies.append((place, close))
                pieces += [turn[0], self._scan(place, close, keeps_statements, depth + 1)]
                pieces.append(text[close:close + len(turn[0])])
                place = close + len(turn[0])
        pieces.append(text[place:end])
        return "".join(pieces)

    @cached_property
    def statements(self):
        """The ranges of the statements."""
        found, place = [], 0
        for piece in self.outline.split(";"):
            if piece.strip():
                begin = place + len(piece) - len(piece.lstrip())
                found.append((begin, place + len(piece.rstrip())))
            place += len(piece) + 1
        return found

    def line(self, place):
        return self.text.count("\n", 0, place) + 1

    def head(self, statement):
        """The statement's outline on one line, in upper case."""
        return " ".join(self.outline[statement[0]:statement[1]].split()).upper()

    def functions(self):
        """Each function: (schema.name, types of its arguments, first line, last line)."""
        for begin, end in self.statements:
            match = FUNCTION.match(self.outline, begin, end)
            if not match:
                continue
            name = re.sub(r'[\s"]', "", match[1]).lower()
            closing = closing_parenthesis(self.outline, match.end() - 1)
            types = argument_types(self.outline[match.end():closing])
            last = max((e for b, e in self.bodies if begin < b < end), default=end)
            yield name, types, self.line(begin), self.line(last)


FUNCTION = re.compile(
    r'CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+([\w".]+)\s*\(', re.IGNORECASE)


def end_of_comment(text, place, end):
    """The end of a block comment, which may contain others."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, place, end):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return end


def end_of_string(text, begin, end):
    """After the quote that closes the string which opens here."""
    escaped = re.search(r"(?<![\w$])[eE]$", text[max(0, begin - 2):begin])
    place = begin + 1
    while place < end:
        if text[place] == "'":
            if not text.startswith("''", place):
                return place + 1
            place += 1
        elif escaped and text[place] == "\\":
            place += 1
        place += 1
    return end


def closing_parenthesis(text, opening):
    depth = 0
    for match in re.compile("[()]").finditer(text, opening):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return len(text)


TWO_WORDS = re.compile(
    r"(double precision|(character|bit) varying|time(stamp)? with(out)? time zone)(\[\])*$")
SAME_TYPES = {
    "int": "integer", "int4": "integer", "int8": "bigint", "int2": "smallint", "bool": "boolean",
    "float8": "double precision", "float4": "real", "decimal": "numeric",
    "varchar": "character varying", "timestamp with time zone": "timestamptz",
}


def argument_types(arguments):
    """The types that distinguish overloaded functions in PostgreSQL, without names and results."""
    types, depth, piece = [], 0, ""
    for letter in arguments + ",":
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter != "," or depth:
            piece += letter
            continue
        words = re.split(r"\bDEFAULT\b|:?=", piece, maxsplit=1, flags=re.IGNORECASE)[0]
        words = re.sub(r"\([^)]*\)", "", words).lower().split()
        piece = ""
        mode = words.pop(0) if words and words[0] in {"in", "out", "inout", "variadic"} else "in"
        if not words or mode == "out":
            continue
        if len(words) > 1 and not TWO_WORDS.match(" ".join(words)):
            words = words[1:]
        name, brackets, _ = " ".join(words).partition("[]")
        types.append(SAME_TYPES.get(name, name) + brackets)
    return ", ".join(types)
