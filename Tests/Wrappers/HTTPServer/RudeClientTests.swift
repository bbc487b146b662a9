import ErrandHTTP
import ErrandHTTPServer
import ErrandTestServices
import Testing

/// Clients that do not keep to the rules, written in Python over bare sockets.
@Suite("Rude clients of the HTTP server") struct RudeClientTests {
    /// Runs a script with `port` set and `connect()` and `rest(socket)` defined; returns what it
    /// prints.
    private func python(_ port: String, _ script: String) async throws -> String {
        let head = """
            import socket, struct, sys, time
            port = int(sys.argv[1])
            def connect(source=None):
                return socket.create_connection(
                    ("127.0.0.1", port), 120, source_address=source and (source, 0))
            def rest(made):
                data = b""
                while True:
                    try:
                        part = made.recv(65536)
                    except ConnectionResetError:
                        return data
                    if not part:
                        return data
                    data += part
            """
        let program = try Program(
            "/usr/bin/env", ["python3", "-c", head + "\n" + script, port])
        let end = try await program.end(within: .seconds(300))
        guard end == .exited(0) else { throw Program.Trouble(program.errors) }
        return program.output
    }

    private func port(_ url: String) -> String { String(url.split(separator: ":").last ?? "") }

    @Test func `one who leaves before the answer harms nobody`() async throws {
        let long = String(repeating: "x", count: 4 << 20)
        var limits = HTTPListener.Limits()
        limits.connectionsPerAddress = 64
        try await withListener(limits: limits) { question in
            question.path == "/long"
                ? .now(HTTPServerResponse(200, long))
                : .later {
                    try? await Task.sleep(for: .milliseconds(20))
                    return HTTPServerResponse(200, long)
                }
        } _: { url, client in
            _ = try await python(
                port(url),
                """
                for number in range(40):
                    made = connect()
                    path = b"/long" if number % 2 else b"/later"
                    made.sendall(b"GET " + path + b" HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                    if number % 4 < 2:
                        made.recv(10)
                    # A reset instead of an end.
                    made.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    made.close()
                """)
            #expect(try await client.get(url + "/later").body.count == long.utf8.count)
            #expect(try await client.get(url + "/long").body.count == long.utf8.count)
        }
    }

    @Test func `more connections than allowed wait until others end`() async throws {
        var limits = HTTPListener.Limits()
        limits.connections = 4
        limits.idleSeconds = 60
        try await withListener(limits: limits) { _ in
            .now(HTTPServerResponse(200, "x"))
        } _: { url, _ in
            let output = try await python(
                port(url),
                """
                request = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
                held = [connect() for _ in range(4)]
                for made in held:
                    made.sendall(request)
                    assert made.recv(4096).startswith(b"HTTP/1.1 200"), "one of the four"
                late = connect()
                late.sendall(request)
                late.settimeout(0.5)
                try:
                    print("early" if late.recv(4096) else "closed")
                except TimeoutError:
                    print("waits")
                for made in held:
                    made.close()
                late.settimeout(20)
                print(late.recv(4096)[:12].decode())
                """)
            #expect(output == "waits\nHTTP/1.1 200\n")
        }
    }

    @Test func `half requests of one address do not starve another`() async throws {
        var limits = HTTPListener.Limits()
        limits.headerSeconds = 3_600
        limits.idleSeconds = 3_600
        try await withListener(limits: limits) { _ in
            .now(HTTPServerResponse(200, "alive"))
        } _: { url, _ in
            let output = try await python(
                port(url),
                """
                held, closed = [], 0
                for _ in range(193):
                    made = connect("127.0.0.2")
                    try:
                        made.sendall(b"GET /livez HTTP/1.1\\r\\nHo")
                    except OSError:
                        pass
                    held.append(made)
                probe = connect()
                probe.sendall(b"GET /livez HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                print(probe.recv(4096)[:12].decode())
                # The server takes connections in order: those above the limit are closed by now.
                for made in held:
                    made.setblocking(False)
                    try:
                        closed += made.recv(1) == b""
                    except ConnectionResetError:
                        closed += 1
                    except BlockingIOError:
                        pass
                print(closed)
                """)
            #expect(output == "HTTP/1.1 200\n\(193 - limits.connectionsPerAddress)\n")
        }
    }

    @Test func `half a header has less time than an idle connection`() async throws {
        var limits = HTTPListener.Limits()
        #expect(limits.headerSeconds <= 2)
        limits.headerSeconds = 1
        limits.idleSeconds = 3_600
        try await withListener(limits: limits) { _ in
            .now(HTTPServerResponse(200, "x"))
        } _: { url, _ in
            let output = try await python(
                port(url),
                """
                request = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
                idle = connect()
                idle.sendall(request)
                print(idle.recv(4096)[:12].decode())
                half = connect()
                half.sendall(request[:-2])
                rest(half)
                idle.sendall(request)
                print(idle.recv(4096)[:12].decode())
                """)
            #expect(output == "HTTP/1.1 200\nHTTP/1.1 200\n")
        }
    }

    @Test func `an idle connection is closed`() async throws {
        var limits = HTTPListener.Limits()
        limits.idleSeconds = 1
        try await withListener(limits: limits) { _ in
            .now(HTTPServerResponse(200, "x"))
        } _: { url, _ in
            let output = try await python(
                port(url),
                """
                made = connect()
                made.sendall(b"GET / HTTP/1.1\\r\\nHo")
                print(rest(made)[:12].decode() or "closed")
                """)
            #expect(output == "closed\n" || output.hasPrefix("HTTP/1.1 408"))
        }
    }

    @Test func `what is too long, or has a body, is not taken`() async throws {
        try await withListener { _ in
            .now(HTTPServerResponse(200, "fine"))
        } _: { url, client in
            let output = try await python(
                port(url),
                """
                for request in (
                    b"GET / HTTP/1.1\\r\\nHost: x\\r\\nX-Long: " + b"y" * 100000 + b"\\r\\n\\r\\n",
                    b"GET /" + b"z" * 100000 + b" HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n",
                    b"GET / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 3\\r\\n\\r\\nabc",
                    b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 9999999\\r\\n\\r\\nabc",
                    b"nonsense\\r\\n\\r\\n",
                    b"\\x16\\x03\\x01\\x02\\x00\\x01",
                ):
                    made = connect()
                    try:
                        made.sendall(request)
                        made.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass
                    answer = rest(made)
                    print(answer[9:12].decode() or "closed")
                """)
            let words = output.split(separator: "\n")
            #expect(words.count == 6)
            #expect(!words.contains("200"), "\(words)")
            #expect(words[3] == "405")
            #expect(try await client.get(url).text == "fine")
        }
    }
}
