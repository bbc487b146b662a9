"""What banks' files make of people's names; written from the description of the formats."""
import functools
import unicodedata

LETTERS = {
    "œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i",
    "\u2018": "'", "\u2019": "'", "–": "-", "—": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " ",
}
ALLOWED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789&'()+,-./:#")


class Wrong(Exception):
    """Something in the file that the format does not allow, or that was not asked for."""


@functools.lru_cache(maxsize=4096)
def capitals(text, limit):
    """Capitals of ASCII; what has none is left out, blanks are single and never at the ends."""
    text = "".join(LETTERS.get(letter, letter) for letter in unicodedata.normalize("NFC", text))
    plain = unicodedata.normalize("NFD", text).upper().replace("\t", " ")
    kept = "".join(letter for letter in plain if letter in ALLOWED or letter == " ")
    return " ".join(kept.split())[:limit].rstrip()


def same(found, expected, where):
    if found != expected:
        raise Wrong(f"{where}: found {found!r}, expected {expected!r}")


class Fields:
    """One record, read field by field from the first byte to the last."""

    def __init__(self, record, where):
        self.record, self.where, self.place = record, where, 0

    def take(self, width, name):
        text = self.record[self.place:self.place + width]
        if len(text) != width:
            raise Wrong(f"{self.where} {name}: cut short")
        self.place += width
        return text

    def fixed(self, expected, name):
        same(self.take(len(expected), name), expected, f"{self.where} {name}")

    def text(self, expected, width, name):
        if len(expected) > width:
            raise Wrong(f"{self.where} {name}: {expected!r} is longer than {width}")
        same(self.take(width, name), expected.ljust(width), f"{self.where} {name}")

    def number(self, expected, width, name):
        text = self.take(width, name)
        if not (text.isascii() and text.isdigit()):
            raise Wrong(f"{self.where} {name}: {text!r} is no number")
        same(int(text), expected, f"{self.where} {name}")

    def end(self):
        same(self.place, len(self.record), f"{self.where} length")


def expect_no_blind_spot(data, check):
    """Changes one byte after the other, each of which the check must notice."""
    for place, byte in enumerate(data):
        other = b"7" if byte != ord("7") else b"8"
        try:
            check(data[:place] + other + data[place + 1:])
        except (Wrong, ValueError, IndexError):
            continue
        raise Wrong(f"the check did not notice that byte {place} became {other!r}")
