"""A minimal Swift scanner for scripts/lint: code, strings, functions."""
import re

STRING = re.compile(r'(#*)("""|")')
# Where something begins or ends that is not plain code; and where a string may go on otherwise.
TURN_OF_CODE = re.compile(r'//|/\*|#*"')
TURN_OF_INTERPOLATION = re.compile(r'//|/\*|#*"|[()]')
TURN_OF_STRING = re.compile(r'[\\"]')
# The text between two literals that are joined by +.
JOINED = re.compile(r'"+#*\s*\+\s*#*"+')


class Source:
    """One Swift text.

    code: comments and the contents of strings blanked, letter for letter; what stands in an
    interpolation stays, it is code.
    """

    def __init__(self, text):
        self.text = text
        # Where the contents of each string begin and end, and their pieces that are no escapes.
        self._strings, self._words = [], []
        self.code = self._scan()

    def _scan(self):
        text = self.text
        pieces = []
        # What surrounds the current place: each open string as [quote, hashes, open parentheses
        # of the interpolation being read, where its contents begin].
        strings = []
        place = 0

        def keep(end):
            nonlocal place
            pieces.append(text[place:end])
            place = end

        def blank(end):
            nonlocal place
            pieces.append(blanked(text[place:end]))
            place = end

        while place < len(text):
            if strings and strings[-1][2] == 0:
                quote, hashes, _, begin = strings[-1]
                turn = TURN_OF_STRING.search(text, place)
                end = turn.start() if turn else len(text)
                self._words.append((place, end))
                blank(end)
                if text.startswith("\\" + hashes + "(", place):
                    blank(place + len(hashes) + 1)
                    keep(place + 1)
                    strings[-1][2] = 1
                elif text.startswith("\\" + hashes, place):
                    blank(place + len(hashes) + 2)
                elif text.startswith(quote + hashes, place):
                    self._strings.append((begin, place))
                    strings.pop()
                    keep(place + len(quote + hashes))
                else:
                    self._words.append((place, place + 1))
                    blank(place + 1)
                continue
            turn = (TURN_OF_INTERPOLATION if strings else TURN_OF_CODE).search(text, place)
            keep(turn.start() if turn else len(text))
            if text.startswith("//", place):
                end = text.find("\n", place)
                blank(len(text) if end < 0 else end)
            elif text.startswith("/*", place):
                blank(end_of_comment(text, place))
            elif match := STRING.match(text, place):
                strings.append([match[2], match[1], 0, match.end()])
                keep(match.end())
            elif turn:
                strings[-1][2] += 1 if turn[0] == "(" else -1
                keep(place + 1)
        return "".join(pieces)

    def line(self, place):
        return self.text.count("\n", 0, place) + 1

    def literals(self):
        """Each string literal, or several joined by +: (where it begins, its contents).

        Code in interpolations is blanked; a literal in it is part of the one around it.
        """
        pieces, place = [], 0
        for begin, end in self._words:
            pieces += [blanked(self.text[place:begin]), self.text[begin:end]]
            place = end
        contents = "".join(pieces)
        joined = []
        for begin, end in sorted(self._strings):
            if joined and begin < joined[-1][1]:
                continue
            if joined and JOINED.fullmatch(self.code, joined[-1][1], begin):
                joined[-1][1] = end
            else:
                joined.append([begin, end])
        for begin, end in joined:
            yield begin, contents[begin:end]


def blanked(text):
    """The text with every character except line breaks replaced by a space."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def end_of_comment(text, place):
    """The end of a block comment, which may contain others."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, place):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


# It begins with a letter, which makes it fast: what stands before is looked at afterwards.
DECLARATION = re.compile(
    r"(func(?<![.\w`]func)\s+(`[^`]+`|[^\s(<]+)|init(?<![.\w`]init)\b"
    r"|deinit(?<![.\w`]deinit)\b|subscript(?<![.\w`]subscript)\b)")
NEXT_MEMBER = re.compile(r"\b(func|var|let|init|deinit|subscript|case|static|typealias)\b")


def functions(code):
    """Each function with a body: (name, place of its declaration, place of its closing brace)."""
    for match in DECLARATION.finditer(code):
        opening = body_of(code, match.end())
        if opening is not None:
            yield match[2] or match[1], match.start(), closing_brace(code, opening)


def body_of(code, place):
    """The start of the body, or None for a requirement of a protocol."""
    depth = 0
    while place < len(code):
        letter = code[place]
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif depth == 0 and letter == "{":
            return place
        elif depth == 0 and (letter == "}" or NEXT_MEMBER.match(code, place)):
            return None
        place += 1
    return None


def closing_brace(code, opening):
    depth = 0
    for match in re.compile("[{}]").finditer(code, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def attributes_before(code, place):
    """The text between the end of the previous member and this place."""
    depth, index = 0, place - 1
    while index >= 0:
        letter = code[index]
        if letter in ")]":
            depth += 1
        elif letter in "([":
            depth -= 1
        elif letter in "{}" and depth <= 0:
            break
        index -= 1
    return code[index + 1:place]


VISIBLE = re.compile(r"\b(?:public|package)\b(?!\s+import)")


def visible_signatures(code):
    """Each declaration others can see, without its body: (place, text)."""
    for match in VISIBLE.finditer(code):
        depth, index = 0, match.end()
        while index < len(code):
            letter = code[index]
            if letter in "([":
                depth += 1
            elif letter in ")]":
                depth -= 1
            elif depth <= 0 and letter in "{}=":
                break
            elif depth <= 0 and letter == "\n" and not re.match(
                    r"\s*(->|where\b|throws\b|async\b|[{:])", code[index:index + 200]):
                break
            index += 1
        yield match.start(), code[match.start():index]
