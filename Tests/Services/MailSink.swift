package import Foundation
import Glibc

/// A running `smtp_sink.py`, with what it kept.
package struct MailSink {
    /// One line of the sink's index.
    package struct Entry: Decodable {
        package let file: String
        package let connection: Int
        package let from: String
        package let to: [String]
        package let user: String?
        package let tls: Bool
        package let hello: String
        package let message_id: String?
    }

    /// Why a sink could not be used.
    package struct Trouble: Error {
        package let text: String
        package init(text: String) { self.text = text }
    }

    package let port: Int
    package let folder: URL
    fileprivate let program: Program

    /// The sink's URL for a mailer, by the name that its certificate is for.
    package func url(
        _ parameters: String = "?starttls=never", scheme: String = "smtp", user: String = ""
    )
        -> String
    {
        "\(scheme)://\(user)localhost:\(port)\(parameters)"
    }

    package func kept() throws -> [Entry] {
        let index = try Data(contentsOf: folder.appending(path: "index.ndjson"))
        return try index.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Entry.self, from: $0)
        }
    }

    package func content(of entry: Entry) throws -> Data {
        try Data(contentsOf: folder.appending(path: entry.file))
    }

    /// Ends the sink as an operator would.
    @discardableResult package func stop() async throws -> Program.End {
        program.signal(SIGTERM)
        return try await program.end(within: .seconds(60))
    }

    fileprivate static func start(_ options: [String]) async throws -> MailSink {
        let folder = try temporaryFolder()
        let program = try Program(
            "/usr/bin/env",
            [
                "python3", Checkout.simulators.appending(path: "servers/smtp_sink.py").path,
                "--folder", folder.path,
            ]
                + ["--with-parent"] + options)
        try await eventually("a mail sink listens, with \(options)", within: .seconds(60)) {
            guard program.isRunning else {
                throw Trouble(text: "the sink ended at once: \(options)\n\(program.errors)")
            }
            return program.output.hasSuffix("\n")
        }
        let words = program.output.split { $0 == ":" || $0.isWhitespace }
        guard words.first == "LISTENING", let port = words.last.flatMap({ Int($0) }) else {
            throw Trouble(text: "the sink said \(words)")
        }
        return MailSink(port: port, folder: folder, program: program)
    }
}

/// Runs a sink for the time of `body`.
package func withMailSink(
    _ options: [String] = [], _ body: (MailSink) async throws -> Void
) async throws {
    let sink = try await MailSink.start(options)
    defer { try? FileManager.default.removeItem(at: sink.folder) }
    try await body(sink)
    try await sink.stop()
}

package func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(
        path: "errand-mail-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// What a command wrote to its standard output.
package func output(of command: [String]) async throws -> String {
    let program = try Program("/usr/bin/env", command)
    let end = try await program.end(within: .seconds(60))
    guard end == .exited(0) else {
        throw MailSink.Trouble(text: "\(command.prefix(2)) ended with \(end)\n\(program.errors)")
    }
    return program.output
}
