import Foundation
import ErrandHTTP
import ErrandTestServices
import Testing

@Suite("HTTP refusals")
struct RefusalTests {
    @Test(
        "a request that cannot be sent is refused before anything is",
        arguments: [
            ("POST ", "/", "a", "b"), ("", "/", "a", "b"), ("POST", "/ ", "a", "b"),
            ("POST", "/\r\n", "a", "b"), ("POST", "/ü", "a", "b"), ("POST", "/", "", "b"),
            ("POST", "/", "a:", "b"), ("POST", "/", "a b", "b"),
            ("POST", "/", "authorization", "sekret\r\nx: y"),
            ("POST", "/", "authorization", "sekret\0"),
            ("POST", "/", "authorization", "sekret\u{7f}"),
        ])
    func unsendable(method: String, path: String, name: String, value: String) async throws {
        let client = HTTPClient(HTTPSettings())
        let failure = try await client.failure(
            of: HTTPRequest(
                method: method, url: "https://localhost:1\(path)", headers: [(name, value)],
                timeout: .seconds(60)))
        #expect(failure.cause == .local && !failure.isAmbiguous)
        #expect(!failure.description.contains("sekret"))
        await client.close()
    }

    @Test(
        "a URL that is none, or that holds a password, is refused",
        arguments: [
            "", "localhost", "ftp://localhost/", "https://", "https://user:tok@localhost:1/",
            "file:///etc/passwd", "https://localhost:99999/",
        ])
    func urls(url: String) async throws {
        let client = HTTPClient(HTTPSettings(allowsPrivateAddresses: true))
        let failure = try await client.failure(
            of: HTTPRequest(method: "GET", url: url, timeout: .seconds(60)))
        #expect(!failure.isAmbiguous)
        #expect(failure.cause == .local || url == "localhost", "\(failure)")
        #expect(!failure.description.contains("sekret"))
        await client.close()
    }

    @Test(
        "names and numbers of private addresses are refused at connecting",
        arguments: [
            "localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0",
            "169.254.169.254", "[fd00:ec2::254]", "[64:ff9b::7f00:1]",
        ])
    func privateAddress(host: String) async throws {
        try await withServer([], { $0.allowsPrivateAddresses = false }) { server, client in
            let failure = try await client.failure(of: server.request("/echo", host: host))
            #expect(failure.cause == .refusedAddress && !failure.isAmbiguous, "\(failure)")
        }
    }

    @Test func `an answer that is too long is cut off`() async throws {
        try await withServer([], { $0.bodyLimit = 100_000 }) { server, client in
            let whole = try await client.send(server.request("/bytes/100000"))
            #expect(whole.body.count == 100_000)
            let failure = try await client.failure(of: server.request("/bytes/100001"))
            #expect(failure.cause == .tooLarge && failure.isAmbiguous)
            try await client.expectAnswer(to: server.request("/echo"))
        }
    }

    @Test func `a certificate that is not trusted, or of another name, is refused`() async throws {
        try await withServer { server, client in
            let other = HTTPClient(server.settings { $0.authorityFile = nil })
            let untrusted = try await other.failure(of: server.request("/echo"))
            #expect(untrusted.cause == .insecure && !untrusted.isAmbiguous, "\(untrusted)")
            await other.close()
        }
        try await withServer(names: ["elsewhere.test"]) { server, client in
            let foreign = try await client.failure(of: server.request("/echo"))
            #expect(foreign.cause == .insecure && !foreign.isAmbiguous, "\(foreign)")
        }
    }

    @Test func `a server that is not there is told from a name that is not`() async throws {
        let client = HTTPClient(HTTPSettings(allowsPrivateAddresses: true))
        var free: LocalListener? = try LocalListener()
        let port = try #require(free?.port)
        free = nil
        let closed = try await client.failure(
            of: HTTPRequest(
                method: "GET", url: "https://127.0.0.1:\(port)/", timeout: .seconds(60)))
        #expect(closed.cause == .connect && !closed.isAmbiguous, "\(closed)")
        // RFC 6761: a name that never resolves.
        let unknown = try await client.failure(
            of: HTTPRequest(method: "GET", url: "https://a.invalid/", timeout: .seconds(60)))
        #expect(unknown.cause == .resolve && !unknown.isAmbiguous, "\(unknown)")
        await client.close()
    }

    @Test func `those that wait for a connection share its failure`() async throws {
        let client = HTTPClient(HTTPSettings(allowsPrivateAddresses: true))
        var free: LocalListener? = try LocalListener()
        let port = try #require(free?.port)
        free = nil
        await withTaskGroup(of: HTTPFailure.Cause?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let request = HTTPRequest(
                        method: "GET", url: "https://127.0.0.1:\(port)/", timeout: .seconds(60))
                    return try? await client.failure(of: request).cause
                }
            }
            for await cause in group { #expect(cause == .connect) }
        }
        await client.close()
    }
}
