package import Foundation
import Glibc
import Synchronization

/// Keys and a certificate for a ``PushSink`` and its clients, made once for a run of the tests.
package struct PushCredentials: Sendable {
    package let folder: URL

    /// The authority that vouches for the sink.
    package var authority: String { folder.appending(path: "ca.pem").path }
    /// The key of APNs' provider tokens.
    package var keyFile: String { folder.appending(path: "apns.p8").path }
    /// The service account of FCM.
    package var accountFile: String { folder.appending(path: "account.json").path }

    private static let making = Task {
        let credentials = PushCredentials(folder: try temporaryFolder())
        leftAtEnd.withLock { $0.append(credentials.folder) }
        atexit { leftAtEnd.withLock { $0.forEach { try? FileManager.default.removeItem(at: $0) } } }
        let certificate = Checkout.simulators.appending(path: "servers/make_cert.sh").path
        _ = try await output(of: [certificate, credentials.folder.path])
        _ = try await output(of: PushSink.command + ["--make-keys", credentials.folder.path])
        return credentials
    }

    /// Those of this run.
    package static var shared: PushCredentials {
        get async throws { try await making.value }
    }
}

/// What all tests of the run share, removed when its process ends.
private let leftAtEnd = Mutex<[URL]>([])

/// A running `push_sink.py`, with what it was asked.
package struct PushSink: Sendable {
    /// One line of what it wrote down; which fields are there depends on the stage.
    package struct Request: Decodable, Sendable {
        package let stage: String
        package let connection: Int
        package let id: String?
        package let token: String?
        package let topic: String?
        package let type: String?
        package let priority: String?
        package let expiration: String?
        package let collapse: String?
        package let path: String?
        package let timestamp: String?
        package let signatures: String?
        package let body: String?
        /// When the provider token was made, in seconds since 1970.
        package let iat: Int?
        package let status: Int
        package let verdict: String

        package var wasAccepted: Bool { verdict == "accepted" }
    }

    package let port: Int
    package let folder: URL
    package let credentials: PushCredentials
    fileprivate let program: Program

    /// By the name that its certificate is for.
    package var url: String { "https://localhost:\(port)" }

    /// All requests so far, in the order of their answers.
    package func requests(_ stage: String? = nil) throws -> [Request] {
        let lines = try Data(contentsOf: folder.appending(path: "requests.ndjson"))
        return try lines.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Request.self, from: $0)
        }.filter { stage == nil || $0.stage == stage }
    }

    /// Ends the sink as an operator would.
    @discardableResult package func stop() async throws -> Program.End {
        program.signal(SIGTERM)
        return try await program.end(within: .seconds(60))
    }

    fileprivate static let command = [
        "/usr/bin/python3", Checkout.simulators.appending(path: "servers/push_sink.py").path,
    ]

    fileprivate static func start(_ options: [String]) async throws -> PushSink {
        let credentials = try await PushCredentials.shared
        let folder = try temporaryFolder()
        func file(_ name: String) -> String { credentials.folder.appending(path: name).path }
        let program = try Program(
            "/usr/bin/env",
            command + [
                "--folder", folder.path, "--keys", credentials.folder.path, "--with-parent",
                "--cert", file("cert.pem"), "--key", file("key.pem"),
            ] + options)
        try await eventually("a push sink listens, with \(options)", within: .seconds(60)) {
            guard program.isRunning else {
                throw MailSink.Trouble(
                    text: "the sink ended at once: \(options)\n\(program.errors)")
            }
            return program.output.hasSuffix("\n")
        }
        let words = program.output.split { $0 == ":" || $0.isWhitespace }
        guard words.first == "LISTENING", let port = words.last.flatMap({ Int($0) }) else {
            throw MailSink.Trouble(text: "the sink said \(words)")
        }
        return PushSink(port: port, folder: folder, credentials: credentials, program: program)
    }
}

/// Runs a sink for the time of `body`, with these rules and options.
package func withPushSink(
    _ rules: [String] = [], options: [String] = [], _ body: (PushSink) async throws -> Void
) async throws {
    let sink = try await PushSink.start(rules.flatMap { ["--fail", $0] } + options)
    defer { try? FileManager.default.removeItem(at: sink.folder) }
    try await body(sink)
    try await sink.stop()
}
