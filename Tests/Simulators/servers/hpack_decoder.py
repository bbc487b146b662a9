"""Reads header blocks of HTTP/2 (HPACK, RFC 7541), several times as fast as python3-hpack does.

The static table and the machine for Huffman codes are python3-hpack's; that machine eats four
bits at a step, and here two steps are remembered as one.
"""
import collections

from hpack.huffman_table import (
    HUFFMAN_COMPLETE, HUFFMAN_EMIT_SYMBOL, HUFFMAN_FAIL, HUFFMAN_TABLE)
from hpack.table import HeaderTable

STATIC = HeaderTable.STATIC_TABLE
STATIC_SIZE = len(STATIC)
TABLE_LIMIT = 4096


class BadBlock(Exception):
    """A block that cannot be read; the connection is of no more use after it."""


class Steps(dict):
    """From a state and a byte: the next state, what comes out, and whether it may end here."""

    def __missing__(self, key):
        state, out = key >> 8, b""
        for part in (key >> 4 & 15, key & 15):
            state, flags, symbol = HUFFMAN_TABLE[state * 16 + part]
            if flags & HUFFMAN_FAIL:
                raise BadBlock("no code of Huffman's")
            if flags & HUFFMAN_EMIT_SYMBOL:
                out += bytes((symbol,))
        step = self[key] = (state << 8, out, bool(flags & HUFFMAN_COMPLETE))
        return step


STEPS = Steps()


def huffman(data):
    state, may_end, parts = 0, True, []
    for byte in data:
        state, out, may_end = STEPS[state | byte]
        parts.append(out)
    if not may_end:
        raise BadBlock("a code of Huffman's is cut short")
    return b"".join(parts)


class Decoder:
    """What one side of a connection has said so far."""

    def __init__(self):
        self.entries = collections.deque()
        self.size = 0
        self.limit = TABLE_LIMIT

    def decode(self, block):
        """The headers of a block, as pairs of bytes."""
        headers = []
        place = 0
        while place < len(block):
            first = block[place]
            if first & 0x80:
                index, place = self.number(block, place, 0x7F)
                headers.append(self.entry(index))
            elif first & 0x40:
                header, place = self.literal(block, place, 0x3F)
                headers.append(header)
                self.remember(header)
            elif first & 0x20:
                self.limit, place = self.number(block, place, 0x1F)
                if self.limit > TABLE_LIMIT:
                    raise BadBlock("a table above the limit")
                self.forget()
            else:
                header, place = self.literal(block, place, 0x0F)
                headers.append(header)
        return headers

    @staticmethod
    def number(block, place, mask):
        value = block[place] & mask
        place += 1
        if value < mask:
            return value, place
        for shift in range(0, 28, 7):
            byte = block[place]
            place += 1
            value += (byte & 0x7F) << shift
            if byte < 0x80:
                return value, place
        raise BadBlock("a number too large")

    def literal(self, block, place, mask):
        index, place = self.number(block, place, mask)
        if index:
            name = self.entry(index)[0]
        else:
            name, place = self.text(block, place)
        value, place = self.text(block, place)
        return (name, value), place

    def text(self, block, place):
        is_coded = block[place] & 0x80
        size, place = self.number(block, place, 0x7F)
        end = place + size
        if end > len(block):
            raise BadBlock("a text cut short")
        data = block[place:end]
        return (huffman(data) if is_coded else data), end

    def entry(self, index):
        if 0 < index <= STATIC_SIZE:
            return STATIC[index - 1]
        if STATIC_SIZE < index <= STATIC_SIZE + len(self.entries):
            return self.entries[index - STATIC_SIZE - 1]
        raise BadBlock("no such entry")

    def remember(self, header):
        self.entries.appendleft(header)
        self.size += 32 + len(header[0]) + len(header[1])
        self.forget()

    def forget(self):
        while self.size > self.limit:
            name, value = self.entries.pop()
            self.size -= 32 + len(name) + len(value)
