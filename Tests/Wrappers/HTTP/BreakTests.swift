import Foundation
import ErrandHTTP
import ErrandTestServices
import Testing

@Suite("HTTP breaks")
struct BreakTests {
    @Test func `a timeout after the request was sent is ambiguous`() async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let failure = try await client.failure(
                of: server.request("/hang", timeout: .milliseconds(300)))
            #expect(failure.cause == .timedOut && failure.isAmbiguous, "\(failure)")
            try await client.expectAnswer(to: server.request("/echo"))
        }
    }

    @Test func `a timeout before there was a connection is not ambiguous`() async throws {
        let silent = try LocalListener()
        let client = HTTPClient(HTTPSettings(allowsPrivateAddresses: true))
        let url = "https://127.0.0.1:\(silent.port)/"
        // The first waits for TLS, the others for the first.
        await withTaskGroup(of: HTTPFailure?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try? await client.failure(
                        of: HTTPRequest(method: "GET", url: url, timeout: .milliseconds(300)))
                }
            }
            for await failure in group {
                #expect(failure?.cause == .timedOut && failure?.isAmbiguous == false)
            }
        }
        await client.close()
    }

    @Test func `the limit for connecting holds`() async throws {
        let silent = try LocalListener()
        let client = HTTPClient(
            HTTPSettings(connectLimit: .milliseconds(200), allowsPrivateAddresses: true))
        let failure = try await client.failure(
            of: HTTPRequest(
                method: "GET", url: "https://127.0.0.1:\(silent.port)/", timeout: .seconds(3600)))
        #expect(failure.cause == .timedOut && !failure.isAmbiguous, "\(failure)")
        await client.close()
    }

    @Test func `cancelling the task cancels the request`() async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let sending = Task { try await client.failure(of: server.request("/hang")) }
            // Two are on their way once the server counts the one that hangs.
            try await eventually("the request has arrived", within: .seconds(60)) {
                try Echo(try await client.send(server.request("/echo"))).live == 2
            }
            sending.cancel()
            let failure = try await sending.value
            #expect(failure.cause == .cancelled && failure.isAmbiguous, "\(failure)")
            // The stream was reset: the server does not hold it any more.
            try await eventually("the server forgot the request", within: .seconds(60)) {
                try Echo(try await client.send(server.request("/echo"))).live == 1
            }
        }
    }

    @Test func `one that was cancelled before it was sent is not`() async throws {
        try await withServer { server, client in
            let sending = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return try await client.failure(of: server.request("/once/cancelled"))
            }
            let failure = try await sending.value
            #expect(failure.cause == .cancelled && !failure.isAmbiguous, "\(failure)")
            let seen = try await client.send(server.request("/seen/cancelled"))
            #expect(seen.body == Array("0".utf8))
        }
    }

    @Test func `those that wait their turn are cancelled and time out too`() async throws {
        let narrow: (inout HTTPSettings) -> Void = {
            $0.connectionsPerHost = 1
            $0.streamsPerConnection = 1
        }
        try await withServer([], narrow) { server, client in
            let blocker = Task { try await client.failure(of: server.request("/hang/first")) }
            let watcher = HTTPClient(server.settings())
            try await eventually("the first one takes up the connection", within: .seconds(60)) {
                try await watcher.send(server.request("/seen/first")).body == Array("1".utf8)
            }
            await watcher.close()
            let late = Task {
                try await client.failure(of: server.request("/echo", timeout: .milliseconds(300)))
            }
            let cancelled = Task { try await client.failure(of: server.request("/echo")) }
            let overdue = try await late.value
            #expect(overdue.cause == .timedOut, "\(overdue)")
            cancelled.cancel()
            #expect(try await cancelled.value.cause == .cancelled)
            blocker.cancel()
            #expect(try await blocker.value.cause == .cancelled)
            try await client.expectAnswer(to: server.request("/echo"))
        }
    }

    @Test func `a first request that is never answered does not hold up the others`() async throws {
        try await withServer([], { $0.connectLimit = .seconds(3) }) { server, client in
            let stuck = Task { try await client.failure(of: server.request("/hang")) }
            let others = (0..<20).map { _ in
                Task { try await client.expectAnswer(to: server.request("/echo")) }
            }
            for other in others { try await other.value }
            stuck.cancel()
            #expect(try await stuck.value.cause == .cancelled)
        }
    }

    @Test func `closing ends what is on its way, and what comes after`() async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let sending = (0..<10).map { _ in
                Task { try await client.failure(of: server.request("/hang")) }
            }
            try await eventually("the requests have arrived", within: .seconds(60)) {
                try Echo(try await client.send(server.request("/echo"))).live == 11
            }
            await client.close()
            for task in sending {
                let failure = try await task.value
                #expect(failure.cause == .cancelled && failure.isAmbiguous, "\(failure)")
            }
            let late = try await client.failure(of: server.request("/echo"))
            #expect(late.cause == .cancelled && !late.isAmbiguous)
            await client.close()
        }
    }

    @Test func `a client that is let go of ends its thread`() async throws {
        func threads() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter {
                let name = try? String(
                    contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
                return name == "errand-http\n"
            }.count
        }
        // More than the tests beside this one have.
        var clients = (0..<100).map { _ in HTTPClient(HTTPSettings()) }
        try await eventually("the threads run", within: .seconds(60)) { try threads() >= 100 }
        clients = []
        try await eventually("the threads end", within: .seconds(60)) { try threads() < 100 }
        #expect(clients.isEmpty)
    }

    @Test(
        "a stream that the server refuses unread goes again", arguments: [1, 3, 5])
    func refused(times: Int) async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            try await client.expectAnswer(to: server.request("/refuse/\(times)"))
        }
    }

    @Test func `one that is refused again and again fails, but not ambiguously`() async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let failure = try await client.failure(of: server.request("/refuse/1000"))
            #expect(failure.cause == .disconnected && !failure.isAmbiguous, "\(failure)")
        }
    }

    @Test("a break in the middle is ambiguous", arguments: ["/reset", "/drop"])
    func breaks(path: String) async throws {
        try await withServer { server, client in
            for _ in 0..<3 {
                let failure = try await client.failure(of: server.request(path))
                #expect(failure.cause == .disconnected && failure.isAmbiguous, "\(failure)")
                try await client.expectAnswer(to: server.request("/echo"))
            }
        }
    }

    /// libcurl on its own would send such a request a second time.
    @Test(
        "a request whose connection breaks is not sent twice", arguments: ["POST", "GET"],
        [[], ["--http1"]])
    func notTwice(method: String, options: [String]) async throws {
        try await withServer(options) { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let failure = try await client.failure(
                of: server.request("/once/twice", method: method))
            #expect(failure.cause == .disconnected && failure.isAmbiguous, "\(failure)")
            let seen = try await client.send(server.request("/seen/twice"))
            #expect(seen.body == Array("1".utf8))
        }
    }

    @Test("after GOAWAY requests go on a new connection", arguments: ["together", "apart"])
    func goAway(how: String) async throws {
        try await withServer { server, client in
            for _ in 0..<200 {
                let first = try await client.send(server.request("/goaway/\(how)"))
                #expect(first.status == 200)
                let next = try await client.send(server.request("/echo"))
                #expect(next.header("x-connection") != first.header("x-connection"))
            }
        }
    }

    /// Above the last stream that a GOAWAY names nothing was read, so that it may be sent again.
    @Test("a request that a GOAWAY leaves unread goes again", arguments: [1, 3])
    func unread(times: Int) async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            try await client.expectAnswer(to: server.request("/goaway-unread/\(times)"))
        }
    }

    @Test func `one that is left unread again and again fails, but not ambiguously`() async throws {
        try await withServer { server, client in
            let failure = try await client.failure(of: server.request("/goaway-unread/1000"))
            #expect(failure.cause == .disconnected && !failure.isAmbiguous, "\(failure)")
            try await client.expectAnswer(to: server.request("/echo"))
        }
    }

    @Test func `a server that dies and comes back is reached again`() async throws {
        try await withServer { server, client in
            try await client.expectAnswer(to: server.request("/echo"))
            let hanging = Task { try await client.failure(of: server.request("/hang")) }
            try await eventually("the request has arrived", within: .seconds(60)) {
                try Echo(try await client.send(server.request("/echo"))).live == 2
            }
            try await server.kill()
            let failure = try await hanging.value
            #expect(failure.cause == .disconnected && failure.isAmbiguous, "\(failure)")
            let after = try await client.failure(of: server.request("/echo"))
            #expect(after.cause == .connect && !after.isAmbiguous, "\(after)")
        }
    }

    @Test func `no failure shows what a request held`() async throws {
        try await withServer { server, client in
            for path in ["/reset", "/drop", "/refuse/1000000", "/hang"] {
                let failure = try await client.failure(
                    of: server.request(
                        path + "/secret-path", body: "secret-body",
                        headers: [("authorization", "secret-header")],
                        timeout: path == "/hang" ? .milliseconds(200) : .seconds(60)))
                #expect(!"\(failure)".contains("secret"))
                #expect(!String(reflecting: failure).contains("secret"))
            }
        }
    }
}
