import Foundation
import Glibc
import ErrandHTTP
import ErrandTestServices
import Testing

/// A running `http2_server.py`.
struct HTTPServer {
    let port: Int
    let authority: String
    private let scheme: String
    private let program: Program

    func url(_ path: String, host: String = "localhost") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    /// Settings with which a client trusts and reaches it.
    func settings(_ change: (inout HTTPSettings) -> Void = { _ in }) -> HTTPSettings {
        var settings = HTTPSettings(authorityFile: authority, allowsPrivateAddresses: true)
        change(&settings)
        return settings
    }

    func request(
        _ path: String, method: String = "POST", body: String = "", host: String = "localhost",
        headers: [(name: String, value: String)] = [], timeout: Duration = .seconds(60)
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, url: url(path, host: host), headers: headers, body: Array(body.utf8),
            timeout: timeout)
    }

    /// Cuts all connections and ends.
    func kill() async throws {
        program.signal(SIGKILL)
        _ = try await program.end(within: .seconds(60))
    }

    fileprivate static func start(
        _ options: [String], names: [String], in folder: URL
    ) async throws -> HTTPServer {
        let isPlain = options.contains("--plain")
        let script = Checkout.simulators.appending(path: "servers/make_cert.sh").path
        _ = try await output(of: ["sh", script, folder.path] + names)
        let files = ["cert", "key"].flatMap { ["--\($0)", folder.path + "/\($0).pem"] }
        let program = try Program(
            "/usr/bin/python3",
            [Checkout.simulators.appending(path: "servers/http2_server.py").path, "--with-parent"]
                + files + options)
        try await eventually("an HTTP server listens, with \(options)", within: .seconds(60)) {
            guard program.isRunning else { throw Program.Trouble(program.errors) }
            return program.output.hasSuffix("\n")
        }
        let words = program.output.split { $0 == ":" || $0.isWhitespace }
        guard let port = words.last.flatMap({ Int($0) }) else {
            throw Program.Trouble("the server said \(words)")
        }
        return HTTPServer(
            port: port, authority: folder.path + "/ca.pem", scheme: isPlain ? "http" : "https",
            program: program)
    }
}

/// Runs a server, and a client that trusts it, for the time of `body`.
func withServer(
    _ options: [String] = [], names: [String] = [],
    _ change: (inout HTTPSettings) -> Void = { _ in },
    _ body: (HTTPServer, HTTPClient) async throws -> Void
) async throws {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try await HTTPServer.start(options, names: names, in: folder)
    let client = HTTPClient(server.settings(change))
    do {
        try await body(server, client)
    } catch {
        await client.close()
        throw error
    }
    await client.close()
    try await server.kill()
}

/// What `/echo` tells of a request.
struct Echo: Decodable {
    var connection: Int
    var stream: Int
    var method: String
    var headers: [String: String]
    var body: String
    var live: Int

    init(_ response: HTTPResponse) throws {
        self = try JSONDecoder().decode(Echo.self, from: Data(response.body))
    }
}

extension HTTPClient {
    /// Sends a request that must be answered with 200.
    func expectAnswer(
        to request: HTTPRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let status = try await send(request).status
        #expect(status == 200, sourceLocation: sourceLocation)
    }

    /// The failure of a request that must not succeed.
    func failure(of request: HTTPRequest) async throws -> HTTPFailure {
        do throws(HTTPFailure) {
            let response = try await send(request)
            throw HTTPFailure(
                cause: .local, isAmbiguous: false, detail: "answered \(response.status)")
        } catch {
            return error
        }
    }
}
