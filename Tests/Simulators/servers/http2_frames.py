"""HTTP/2 over TLS for simulators (RFC 9113), written for speed: frames are read straight from the
buffer, answers are put together by hand, and everything that came in one read is answered in one
write.

A site, shared by all connections, has
    answer(connection, stream)   called when a request is complete; answers now or later, through
                                 the connection's respond, reset, go_away or drop
    flush()                      called before the answers of one read are written
"""
import asyncio
import itertools
import struct

import hpack_decoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW, MORE = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 1, 1, 4, 8, 32
ERRORS = {
    "NO_ERROR": 0, "PROTOCOL_ERROR": 1, "INTERNAL_ERROR": 2, "FLOW_CONTROL_ERROR": 3,
    "STREAM_CLOSED": 5, "FRAME_SIZE_ERROR": 6, "REFUSED_STREAM": 7, "CANCEL": 8,
    "COMPRESSION_ERROR": 9, "ENHANCE_YOUR_CALM": 11,
}
FRAME_SIZE = 16384
WINDOW_SIZE = 65535
OUR_WINDOW = 1 << 20
HEAD = struct.Struct(">HBBBI")


def frame(kind, flags, stream, payload=b""):
    size = len(payload)
    return HEAD.pack(size >> 8, size & 255, kind, flags, stream) + payload


def short(text):
    """A string of HPACK: its length in a prefix of 7 bits, not compressed (RFC 7541, 5.2)."""
    size = len(text)
    if size < 127:
        return bytes((size,)) + text
    size -= 127
    out = bytearray((127,))
    while size >= 128:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out) + text


STATUS = {status: b"\x08" + short(str(status).encode()) for status in range(100, 600)}
STATUS.update({200: b"\x88", 204: b"\x89", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"})
NAMES = {}


def head_block(status, headers):
    block = STATUS[status]
    for name, value in headers:
        known = NAMES.get(name)
        if known is None:
            known = NAMES[name] = b"\x00" + short(name.encode())
        block += known + short(value.encode())
    return block


class Stream:
    """One request, and whether it still may be answered."""

    __slots__ = ("number", "headers", "body", "is_complete", "window", "timer")

    def __init__(self, number, window):
        self.number = number
        self.headers = None
        self.body = b""
        self.is_complete = False
        self.window = window
        self.timer = None


class BadClient(Exception):
    """What the client sent breaks the protocol; the text is the code for its GOAWAY."""


class Connection(asyncio.Protocol):
    """One connection: requests come in, in pieces of any size; answers go out."""

    numbers = itertools.count(1)

    def __init__(self, site, connections, most_streams, trusts_at_once):
        self.site = site
        self.connections = connections
        self.most_streams = most_streams
        self.allowed = most_streams if trusts_at_once else 1
        self.number = next(self.numbers)
        self.memory = {}
        self.buffer = bytearray()
        self.out = bytearray()
        self.reading = False
        self.greeted = False
        self.decoder = hpack_decoder.Decoder()
        self.streams = {}
        self.last_stream = 0
        self.head = None
        self.window = WINDOW_SIZE
        self.stream_window = WINDOW_SIZE
        self.received = 0
        self.unsent = []
        self.leaving = False
        self.transport = None

    # The connection's life

    def connection_made(self, transport):
        self.transport = transport
        self.connections.add(self)
        settings = struct.pack(
            ">HIHI", 3, self.allowed, 4, OUR_WINDOW)
        transport.write(frame(SETTINGS, 0, 0, settings)
                        + frame(WINDOW, 0, 0, struct.pack(">I", (1 << 31) - 1 - WINDOW_SIZE)))

    def connection_lost(self, error):
        self.connections.discard(self)
        for stream in self.streams.values():
            if stream.timer:
                stream.timer.cancel()
        self.streams.clear()

    def data_received(self, data):
        self.buffer += data
        self.reading = True
        try:
            self.read_frames()
        except (BadClient, hpack_decoder.BadBlock, IndexError, struct.error) as error:
            code = str(error) if isinstance(error, BadClient) else "COMPRESSION_ERROR"
            self.out += frame(GOAWAY, 0, 0, struct.pack(">II", self.last_stream, ERRORS[code]))
            self.leaving = True
            self.streams.clear()
        self.reading = False
        self.write()

    def write(self):
        """Writes what has gathered, the records of it first; ends a connection that is leaving."""
        if self.reading or self.transport.is_closing():
            return
        self.site.flush()
        if self.out:
            self.transport.write(bytes(self.out))
            self.out.clear()
        if self.leaving and not self.streams and not self.unsent:
            self.transport.close()

    # What comes in

    def read_frames(self):
        buffer = self.buffer
        place = 0
        if not self.greeted:
            if len(buffer) < len(PREFACE):
                return
            if not buffer.startswith(PREFACE):
                raise BadClient("PROTOCOL_ERROR")
            self.greeted = True
            place = len(PREFACE)
        while len(buffer) - place >= 9:
            high, low, kind, flags, number = HEAD.unpack_from(buffer, place)
            end = place + 9 + (high << 8 | low)
            if end - place - 9 > FRAME_SIZE:
                raise BadClient("FRAME_SIZE_ERROR")
            if len(buffer) < end:
                break
            self.take(kind, flags, number & 0x7FFFFFFF, bytes(buffer[place + 9:end]))
            place = end
            if self.transport.is_closing():
                break
        del buffer[:place]

    def take(self, kind, flags, number, payload):
        if kind == DATA:
            self.take_data(flags, number, payload)
        elif kind == HEADERS:
            if flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if flags & PRIORITISED:
                payload = payload[5:]
            self.head = (number, flags & END_STREAM, payload)
            if flags & END_HEADERS:
                self.take_head()
        elif kind == MORE:
            if self.head is None or self.head[0] != number:
                raise BadClient("PROTOCOL_ERROR")
            self.head = (number, self.head[1], self.head[2] + payload)
            if flags & END_HEADERS:
                self.take_head()
        elif kind == SETTINGS and not flags & ACK:
            for place in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, place)
                if name == 4:
                    for stream in self.streams.values():
                        stream.window += value - self.stream_window
                    self.stream_window = value
            self.out += frame(SETTINGS, ACK, 0)
            self.send_rest()
        elif kind == WINDOW:
            (more,) = struct.unpack(">I", payload)
            if number == 0:
                self.window += more
            elif number in self.streams:
                self.streams[number].window += more
            self.send_rest()
        elif kind == PING and not flags & ACK:
            self.out += frame(PING, ACK, 0, payload)
        elif kind == RST_STREAM:
            self.forget(number)

    def take_head(self):
        number, is_end, block = self.head
        self.head = None
        headers = self.decoder.decode(block)
        if number in self.streams:
            raise BadClient("PROTOCOL_ERROR")  # trailers are not for requests like these
        if number % 2 == 0 or number <= self.last_stream:
            raise BadClient("PROTOCOL_ERROR")
        if self.leaving:
            return  # above the last stream that GOAWAY promised to look at
        if len(self.streams) >= self.allowed:
            self.last_stream = number
            self.out += frame(RST_STREAM, 0, number, struct.pack(">I", ERRORS["REFUSED_STREAM"]))
            return
        self.last_stream = number
        stream = self.streams[number] = Stream(number, self.stream_window)
        stream.headers = headers
        if is_end:
            self.complete(stream)

    def take_data(self, flags, number, payload):
        self.received += len(payload)
        if self.received > OUR_WINDOW:
            self.out += frame(WINDOW, 0, 0, struct.pack(">I", self.received))
            self.received = 0
        stream = self.streams.get(number)
        if stream is None:
            return
        if flags & PADDED:
            payload = payload[1:len(payload) - payload[0]]
        stream.body = stream.body + payload if stream.body else payload
        if len(stream.body) > OUR_WINDOW:
            self.reset(stream, "FLOW_CONTROL_ERROR")
        elif flags & END_STREAM:
            self.complete(stream)

    def complete(self, stream):
        stream.is_complete = True
        self.site.answer(self, stream)

    # What goes out

    def respond(self, stream, status, headers=(), body=b""):
        if stream.number not in self.streams:
            return
        block = head_block(status, headers)
        if not body:
            self.out += frame(HEADERS, END_HEADERS | END_STREAM, stream.number, block)
            self.forget(stream.number)
        else:
            self.out += frame(HEADERS, END_HEADERS, stream.number, block)
            size = len(body)
            if size <= FRAME_SIZE and size <= self.window and size <= stream.window \
                    and not self.unsent:
                self.window -= size
                self.out += frame(DATA, END_STREAM, stream.number, body)
                self.forget(stream.number)
            else:
                self.unsent.append((stream, body))
                self.send_rest()
        self.write()

    def send_rest(self):
        """Sends what waited for the client's windows to open."""
        waiting = []
        for stream, body in self.unsent:
            while stream.number in self.streams:
                size = min(len(body), FRAME_SIZE, self.window, stream.window)
                if size <= 0 and body:
                    waiting.append((stream, body))
                    break
                is_end = size == len(body)
                self.out += frame(DATA, END_STREAM if is_end else 0, stream.number, body[:size])
                self.window -= size
                stream.window -= size
                body = body[size:]
                if is_end:
                    self.forget(stream.number)
        self.unsent = waiting
        self.write()

    def reset(self, stream, code):
        self.out += frame(RST_STREAM, 0, stream.number, struct.pack(">I", ERRORS[code]))
        self.forget(stream.number)
        self.write()

    def go_away(self, last_stream, reason=b""):
        """Says which streams are still looked at; the later ones go unanswered."""
        self.out += frame(
            GOAWAY, 0, 0, struct.pack(">II", last_stream, ERRORS["NO_ERROR"]) + reason)
        for number in [number for number in self.streams if number > last_stream]:
            self.forget(number)
        self.leaving = True
        self.write()

    def drop(self):
        """Closes the connection in the middle; the answers given before have gone out."""
        self.site.flush()
        if self.out and not self.transport.is_closing():
            self.transport.write(bytes(self.out))
            self.out.clear()
        self.transport.abort()

    def forget(self, number):
        stream = self.streams.pop(number, None)
        if stream and stream.timer:
            stream.timer.cancel()

    def trust(self):
        """From now on as many streams as the server ever allows."""
        if self.allowed != self.most_streams:
            self.allowed = self.most_streams
            self.out += frame(SETTINGS, 0, 0, struct.pack(">HI", 3, self.allowed))
