"""A server that refuses everybody, as one that starts up does; prints its port.

    refuser.py postgres SQLSTATE MESSAGE
    refuser.py redis MESSAGE
"""
import socketserver
import struct
import sys

# The requests for encryption that come before the startup message.
ENCRYPTION = {80877103, 80877104}


def fields(sqlstate, message):
    """Returns an ErrorResponse of PostgreSQL's protocol 3."""
    body = b"".join(
        kind + text.encode() + b"\0"
        for kind, text in [(b"S", "FATAL"), (b"V", "FATAL"), (b"C", sqlstate), (b"M", message)]
    ) + b"\0"
    return b"E" + struct.pack("!i", len(body) + 4) + body


class Postgres(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            head = self.rfile.read(8)
            if len(head) < 8:
                return
            length, code = struct.unpack("!ii", head)
            self.rfile.read(length - 8)
            if code not in ENCRYPTION:
                self.wfile.write(fields(*sys.argv[2:4]))
                return
            self.wfile.write(b"N")


class Redis(socketserver.StreamRequestHandler):
    def handle(self):
        # A command is an array of bulk strings.
        while head := self.rfile.readline():
            for _ in range(int(head[1:])):
                self.rfile.read(int(self.rfile.readline()[1:]) + 2)
            self.wfile.write(f"-{sys.argv[2]}\r\n".encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), {"postgres": Postgres, "redis": Redis}[sys.argv[1]]) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
