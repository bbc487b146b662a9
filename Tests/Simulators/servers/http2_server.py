#!/usr/bin/env -S /usr/bin/python3
"""A small HTTP/2 server over TLS that does what the path asks, for the tests of the HTTP client.

    http2_server.py --cert FILE --key FILE [--plain] [--http1] [--streams N] [--with-parent]

Prints LISTENING HOST:PORT. Paths, each for any method:

    /echo           200; the body is JSON: connection, stream, method, headers, body, live streams
    /status/N       status N; 3xx with a location
    /bytes/N        200 with N bytes
    /slow/MS        200 after so many milliseconds
    /hang/NAME      never; counts like /once/NAME
    /refuse/N       resets the first N streams of this path with REFUSED_STREAM, then 200
    /reset          resets the stream with INTERNAL_ERROR
    /drop           cuts the connection
    /goaway/HOW     200, and GOAWAY for all later streams on that connection; HOW: together, apart
    /goaway-unread/N  the first N times GOAWAY that says that no stream was read, then 200
    /seen/NAME      200; the body is how many requests had that NAME
    /once/NAME      counts, then cuts the connection, unless it is the connection's first
"""
import argparse
import asyncio
import collections
import itertools
import json
import ssl
import struct
from socket import SO_LINGER, SOL_SOCKET

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

import serving

numbers = itertools.count(1)
seen = collections.Counter()
refusals = collections.Counter()


class Connection(asyncio.Protocol):
    """One client: HTTP/2 frames in, answers out."""

    def __init__(self, streams):
        self.number = next(numbers)
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.streams = streams
        self.requests, self.unsent = {}, {}
        self.served = 0
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        if self.streams:
            self.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: self.streams})
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        if not self.transport.is_closing():
            self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:
            self.transport.close()
            return
        for event in events:
            if isinstance(event, RequestReceived):
                self.requests[event.stream_id] = (dict(event.headers), bytearray())
            elif isinstance(event, DataReceived):
                self.requests[event.stream_id][1].extend(event.data)
                self.h2.acknowledge_received_data(
                    event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamReset):
                self.requests.pop(event.stream_id, None)
                self.unsent.pop(event.stream_id, None)
            elif isinstance(event, WindowUpdated):
                for stream in list(self.unsent):
                    self.send_rest(stream)
            elif isinstance(event, StreamEnded):
                self.serve(event.stream_id)
        self.flush()

    def answer(self, stream, status=200, body=b"", extra=(), flush=True):
        if stream not in self.requests or self.transport.is_closing():
            return
        if self.requests[stream][0][":method"] == "HEAD":
            body = b""
        self.h2.send_headers(
            stream, [(":status", str(status)), ("x-connection", str(self.number)), *extra])
        self.unsent[stream] = bytes(body)
        self.send_rest(stream)
        if flush:
            self.flush()

    def send_rest(self, stream):
        while True:
            rest = self.unsent[stream]
            size = min(self.h2.local_flow_control_window(stream),
                       self.h2.max_outbound_frame_size, len(rest))
            if size < len(rest) and size == 0:
                return
            last = size == len(rest)
            self.h2.send_data(stream, rest[:size], end_stream=last)
            self.unsent[stream] = rest[size:]
            if last:
                del self.unsent[stream]
                self.requests.pop(stream, None)
                return

    def cut(self):
        """Ends the connection by a reset, which libcurl takes for a reason to send again."""
        socket = self.transport.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def serve(self, stream):
        if stream not in self.requests:
            return
        self.served += 1
        headers, body = self.requests[stream]
        _, name, argument = (headers[":path"] + "//").split("/")[:3]
        if name == "status":
            extra = [("location", "/echo")] if argument.startswith("3") else []
            self.answer(stream, int(argument), b"", extra)
        elif name == "bytes":
            self.answer(stream, 200, b"x" * int(argument))
        elif name == "slow":
            asyncio.get_running_loop().call_later(
                int(argument) / 1000, self.answer, stream, 200, b"")
        elif name == "hang":
            seen[argument] += 1
        elif name == "refuse" and refusals[headers[":path"]] < int(argument):
            refusals[headers[":path"]] += 1
            self.reset(stream, ErrorCodes.REFUSED_STREAM)
        elif name == "reset":
            self.reset(stream, ErrorCodes.INTERNAL_ERROR)
        elif name == "drop":
            self.cut()
        elif name == "once":
            seen[argument] += 1
            if self.served > 1:
                self.cut()
            else:
                self.answer(stream)
        elif name == "seen":
            self.answer(stream, 200, str(seen[argument]).encode())
        elif name == "goaway":
            # In one write, so that the client reads both at once, or in two.
            self.answer(stream, flush=argument == "apart")
            self.h2.close_connection()
            self.flush()
        elif name == "goaway-unread" and refusals[headers[":path"]] < int(argument):
            refusals[headers[":path"]] += 1
            # By hand: the library would take its own streams for closed.
            self.transport.write(
                self.h2.data_to_send() + b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
        else:
            told = {"connection": self.number, "stream": stream, "headers": headers,
                    "method": headers[":method"], "body": body.decode("latin-1"),
                    "live": len(self.requests)}
            self.answer(stream, 200, json.dumps(told).encode(),
                        [("content-type", "application/json"), ("x-empty", "")])

    def reset(self, stream, code):
        self.requests.pop(stream, None)
        self.h2.reset_stream(stream, code)


class Old(asyncio.Protocol):
    """A client that got HTTP/1.1: only /once and /seen differ from 200 with the method."""

    def connection_made(self, transport):
        self.number, self.transport, self.got, self.served = next(numbers), transport, b"", 0

    def data_received(self, data):
        self.got += data
        while b"\r\n\r\n" in self.got:
            head, _, rest = self.got.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:]
                          if b": " in line)
            size = int(fields.get(b"content-length", b"0"))
            if len(rest) < size:
                return
            self.got = rest[size:]
            self.served += 1
            body, path = head.split(b" ")[:2]
            _, name, argument = (path.decode() + "//").split("/")[:3]
            if name == "once":
                seen[argument] += 1
                if self.served > 1:
                    self.transport.abort()
                    return
            elif name == "seen":
                body = str(seen[argument]).encode()
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nX-Connection: %d\r\nContent-Length: %d\r\n\r\n%s"
                % (self.number, len(body), body))


async def serve(options):
    context = None
    if not options.plain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        context.set_alpn_protocols(["http/1.1"] if options.http1 else ["h2"])
    await serving.run(
        Old if options.http1 else lambda: Connection(options.streams), options, context=context)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--plain", action="store_true", help="without TLS")
    parser.add_argument("--http1", action="store_true", help="HTTP/1.1 instead")
    parser.add_argument("--streams", type=int, help="streams at once that the server allows")
    parser.add_argument("--with-parent", action="store_true",
                        help="end when the process that started this one has ended")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
