import Foundation
import ErrandHTTP
import ErrandTestServices
import Testing

@Suite("HTTP client")
struct ClientTests {
    @Test func `a request arrives as it was written, and its answer comes back`() async throws {
        try await withServer { server, client in
            let response = try await client.send(
                server.request(
                    "/echo?a=b%20c", body: "payload",
                    headers: [
                        ("apns-topic", "app.example"), ("Authorization", "bearer x.y.z"),
                        ("x-nothing", ""), ("x-tab", "a\tb"),
                    ]))
            #expect(response.status == 200)
            #expect(response.header("Content-Type") == "application/json")
            #expect(response.header("x-empty") == "")
            #expect(response.header("x-other") == nil)
            let echo = try Echo(response)
            #expect(echo.method == "POST" && echo.body == "payload")
            #expect(echo.headers[":path"] == "/echo?a=b%20c")
            #expect(echo.headers["apns-topic"] == "app.example")
            #expect(echo.headers["authorization"] == "bearer x.y.z")
            #expect(echo.headers["x-nothing"] == "" && echo.headers["x-tab"] == "a\tb")
            #expect(echo.headers["content-length"] == "7")
            // What libcurl would add by itself, and no receiver asked for.
            #expect(echo.headers["content-type"] == nil && echo.headers["expect"] == nil)
        }
    }

    @Test(
        "one handle after the other method leaves nothing of it behind",
        arguments: [
            ["POST", "GET", "POST", "HEAD", "DELETE", "PUT", "PATCH", "GET", "HEAD", "POST"]
        ])
    func methods(methods: [String]) async throws {
        try await withServer { server, client in
            for method in methods {
                let takesBody = ["POST", "PUT", "PATCH"].contains(method)
                let response = try await client.send(
                    server.request("/echo", method: method, body: takesBody ? "b" : ""))
                #expect(response.status == 200)
                if method == "HEAD" { continue }
                let echo = try Echo(response)
                #expect(echo.method == method && echo.body == (takesBody ? "b" : ""))
                #expect(echo.headers["content-length"] == (takesBody ? "1" : nil))
            }
        }
    }

    @Test func `an empty POST and a long one arrive whole`() async throws {
        try await withServer([], { $0.bodyLimit = 1 << 22 }) { server, client in
            let none = try Echo(try await client.send(server.request("/echo")))
            #expect(none.body == "" && none.headers["content-length"] == "0")
            // Longer than a connection's first window (RFC 9113 section 6.9.2) and than the
            // length from which HTTP/1.1 would ask first.
            let long = String(repeating: "0123456789", count: 150_000)
            let echo = try Echo(try await client.send(server.request("/echo", body: long)))
            #expect(echo.body == long)
        }
    }

    @Test(
        "every status is an answer, and redirects are not followed",
        arguments: [200, 204, 301, 307, 400, 403, 404, 410, 429, 500, 503])
    func statuses(status: Int) async throws {
        try await withServer { server, client in
            let response = try await client.send(server.request("/status/\(status)"))
            #expect(response.status == status)
            #expect(response.body.isEmpty)
        }
    }

    @Test func `many at once share few connections`() async throws {
        let settings: (inout HTTPSettings) -> Void = {
            $0.connectionsPerHost = 2
            $0.streamsPerConnection = 20
        }
        try await withServer([], settings) { server, client in
            let echoes = try await withThrowingTaskGroup(of: Echo.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        try Echo(
                            try await client.send(server.request("/echo", body: "\(number)")))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(echoes.map(\.body)).count == 500)
            #expect(Set(echoes.map(\.connection)).count <= 2)
            #expect(echoes.allSatisfy { $0.live <= 20 })
        }
    }

    /// The server ends a connection with more.
    @Test("a server that allows few streams at once gets no more", arguments: [1, 3])
    func fewStreams(limit: Int) async throws {
        let few: (inout HTTPSettings) -> Void = { $0.streamsPerConnection = limit }
        try await withServer(["--streams", "\(limit)"], few) { server, client in
            try await withThrowingTaskGroup(of: Echo.self) { group in
                for _ in 0..<60 {
                    group.addTask { try Echo(try await client.send(server.request("/echo"))) }
                }
                for try await echo in group { #expect(echo.live <= limit) }
            }
        }
    }

    @Test func `later requests use the connection of earlier ones`() async throws {
        try await withServer { server, client in
            var connections: Set<Int> = []
            for _ in 0..<5 {
                connections.insert(
                    try Echo(try await client.send(server.request("/echo"))).connection)
            }
            #expect(connections.count == 1)
        }
    }

    @Test func `an old connection is replaced`() async throws {
        let short: (inout HTTPSettings) -> Void = { $0.connectionLife = .seconds(1) }
        try await withServer([], short) { server, client in
            let first = try Echo(try await client.send(server.request("/echo"))).connection
            try await eventually("another connection is used", within: .seconds(60)) {
                try Echo(try await client.send(server.request("/echo"))).connection != first
            }
        }
    }

    @Test(
        "HTTP/1.1 is spoken where it must be, and nowhere else",
        arguments: [
            (HTTPSettings.HTTP2.preferred, true), (.never, true), (.required, false),
        ])
    func oldServer(http2: HTTPSettings.HTTP2, works: Bool) async throws {
        try await withServer(["--http1"], { $0.http2 = http2 }) { server, client in
            if works {
                for method in ["POST", "GET"] {
                    let response = try await client.send(server.request("/", method: method))
                    #expect(response.body == Array(method.utf8))
                    #expect(response.header("x-connection") != nil)
                }
            } else {
                let failure = try await client.failure(of: server.request("/"))
                #expect(failure.cause == .disconnected, "\(failure)")
            }
        }
    }

    @Test func `many requests over HTTP 1 share the connections that are allowed`() async throws {
        try await withServer(["--http1"], { $0.connectionsPerHost = 3 }) { server, client in
            let connections = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await client.send(server.request("/")).header("X-CONNECTION")
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect((1...3).contains(connections.count))
        }
    }

    @Test func `the environment's proxies are not used`() async {
        // In a process of its own: variables are no thread's to change while others read them.
        await #expect(processExitsWith: .success) {
            unsafe setenv("https_proxy", "http://localhost:1", 1)
            unsafe setenv("all_proxy", "http://localhost:1", 1)
            try await withServer { server, client in
                try await client.expectAnswer(to: server.request("/echo"))
            }
        }
    }

    @Test func `plain text is spoken only where it is allowed`() async throws {
        let plain: (inout HTTPSettings) -> Void = {
            $0.allowsPlainText = true
            $0.http2 = .required
        }
        try await withServer(["--plain"], plain) { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let strict = HTTPClient(server.settings { $0.http2 = .required })
            let failure = try await strict.failure(of: server.request("/echo"))
            #expect(failure.cause == .local && !failure.isAmbiguous)
            await strict.close()
        }
    }
}
