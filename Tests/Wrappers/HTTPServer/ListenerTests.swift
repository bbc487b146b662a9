import ErrandHTTP
import ErrandHTTPServer
import ErrandTestServices
import Testing

@Suite("HTTP server") struct ListenerTests {
    @Test(
        arguments: [
            ("9464", "127.0.0.1", 9464), (":9464", "127.0.0.1", 9464), ("0", "127.0.0.1", 0),
            ("65535", "127.0.0.1", 65535), ("0.0.0.0:9464", "0.0.0.0", 9464),
            ("[::]:9464", "::", 9464),
            ("127.0.0.1:80", "127.0.0.1", 80), ("localhost:1", "localhost", 1),
            ("[::1]:9464", "::1", 9464), ("[fe80::1%eth0]:9", "fe80::1%eth0", 9),
        ] as [(String, String, UInt16)])
    func `an address is read`(text: String, host: String, port: UInt16) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.host == host && address.port == port)
        #expect(ListenAddress(address.description) == address)
    }

    @Test(
        arguments: [
            "", ":", "a", "65536", "-1", "+1", "1 ", "::1:80", "[::1]", "[1.2.3.4]:80", "[]:80",
            "a b:80", "a/b:80", "host:", "١٢",
        ])
    func `what is no address is refused`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test func `a process of this machine finds it`() {
        #expect(ListenAddress(port: 9).localAuthority == "127.0.0.1:9")
        #expect(ListenAddress(host: "0.0.0.0", port: 9).localAuthority == "127.0.0.1:9")
        #expect(ListenAddress(host: "::", port: 9).localAuthority == "127.0.0.1:9")
        #expect(ListenAddress(host: "::1", port: 9).localAuthority == "[::1]:9")
    }

    @Test func `GET has a body, HEAD has its length alone`() async throws {
        try await withListener { question in
            .now(
                HTTPServerResponse(
                    question.path == "/none" ? 404 : 200, "\(question.path) \(question.accept)"))
        } _: { url, client in
            let answer = try await client.send(
                HTTPRequest(
                    method: "GET", url: url + "/a%20b?c=d", headers: [("Accept", "text/x")],
                    timeout: .seconds(20)))
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "/a b text/x")
            #expect(answer.header("Content-Type") == "text/plain; charset=utf-8")
            #expect(answer.header("Cache-Control") == "no-store")
            let head = try await client.send(
                HTTPRequest(
                    method: "HEAD", url: url + "/abc", headers: [("Accept", "*/*")],
                    timeout: .seconds(20)))
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.header("Content-Length") == "8")
            #expect(try await client.get(url + "/none").status == 404)
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
    func `other methods are refused`(method: String) async throws {
        try await withListener { _ in
            .now(HTTPServerResponse(200, "never"))
        } _: { url, client in
            let answer = try await client.send(
                HTTPRequest(
                    method: method, url: url, body: method == "DELETE" ? [] : [1, 2, 3],
                    timeout: .seconds(20)))
            #expect(answer.status == 405)
            #expect(answer.header("Allow") == "GET, HEAD")
        }
    }

    @Test func `answers that take time do not hold up each other`() async throws {
        let arrived = Notebook<String>()
        var limits = HTTPListener.Limits()
        limits.connectionsPerAddress = 64
        try await withListener(limits: limits) { question in
            guard question.path != "/now" else { return .now(HTTPServerResponse(200, "now")) }
            return .later {
                arrived.add(question.path)
                // None of them is answered before all of them are asked.
                while arrived.count < 20, !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(1))
                }
                return HTTPServerResponse(200, question.path)
            }
        } _: { url, client in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    if number == 10 {
                        try await eventually("ten to be asked") { arrived.count == 10 }
                        #expect(try await client.get(url + "/now").text == "now")
                    }
                    group.addTask {
                        try await client.get(url + "/\(number)").text == "/\(number)"
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func `a port that is taken is named, and why`() async throws {
        try await withListener { _ in
            .now(HTTPServerResponse(200, ""))
        } _: { url, _ in
            let port = try #require(UInt16(url.split(separator: ":").last ?? ""))
            let failure = #expect(throws: HTTPServerFailure.self) {
                try HTTPListener(ListenAddress(port: port)) { _ in .now(HTTPServerResponse(200, ""))
                }
            }
            #expect(failure?.isTaken == true)
            #expect(failure?.description.contains("\(port)") == true)
        }
        let failure = #expect(throws: HTTPServerFailure.self) {
            try HTTPListener(ListenAddress(host: "host.invalid", port: 0)) { _ in
                .now(HTTPServerResponse(200, ""))
            }
        }
        #expect(failure?.isTaken == false)
    }

    @Test func `stopping cancels what is being answered, and closes`() async throws {
        let arrived = Notebook<String>()
        let ended = Notebook<String>()
        let listener = try HTTPListener(ListenAddress(host: "127.0.0.1", port: 0)) { question in
            .later {
                arrived.add(question.path)
                try? await Task.sleep(for: .seconds(3_600))
                ended.add(question.path)
                return HTTPServerResponse(200, "late")
            }
        }
        let client = HTTPClient(plain)
        let url = "http://127.0.0.1:\(listener.port)/"
        let asking = Task { try await client.get(url) }
        try await eventually("the question to arrive") { arrived.count == 1 }
        await listener.stop()
        #expect(ended.count == 1)
        _ = try? await asking.value
        await #expect(throws: HTTPFailure.self) { try await client.get(url) }
        await listener.stop()
        await client.close()
    }

    /// The address of this machine beside those of loopback; nil if it has none.
    private func outerAddress() async throws -> String? {
        try await output(of: ["hostname", "-I"]).split(whereSeparator: \.isWhitespace)
            .first { !$0.contains(":") }.map(String.init)
    }

    @Test(arguments: ["0", "0.0.0.0:0", "[::]:0"])
    func `only a given address opens it to others`(text: String) async throws {
        let listener = try HTTPListener(try #require(ListenAddress(text))) { _ in
            .now(HTTPServerResponse(200, "x"))
        }
        let client = HTTPClient(plain)
        let near = try? await client.get("http://127.0.0.1:\(listener.port)/")
        #expect(near?.text == "x")
        // The machine may have no address but those of loopback, which tell them apart too.
        let outer = try await outerAddress()
        for far in ["127.0.0.2", outer].compactMap(\.self) {
            let answer = try? await client.get("http://\(far):\(listener.port)/")
            #expect((answer?.text == "x") == (text != "0"), "\(far)")
        }
        await client.close()
        await listener.stop()
    }
}

/// For plain HTTP on this machine.
let plain = HTTPSettings(
    connectionsPerHost: 32, bodyLimit: 1 << 23, http2: .never, allowsPrivateAddresses: true,
    allowsPlainText: true)

extension HTTPClient {
    func get(_ url: String) async throws -> HTTPResponse {
        try await send(HTTPRequest(method: "GET", url: url, timeout: .seconds(20)))
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A server on a free port of this machine, with a client.
func withListener(
    limits: HTTPListener.Limits = .init(),
    _ handler: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply,
    _ body: (String, HTTPClient) async throws -> Void
) async throws {
    let listener = try HTTPListener(
        ListenAddress(host: "127.0.0.1", port: 0), limits: limits, handler: handler)
    let client = HTTPClient(plain)
    do { try await body("http://127.0.0.1:\(listener.port)", client) } catch {
        await client.close()
        await listener.stop()
        throw error
    }
    await client.close()
    await listener.stop()
}
