package import Foundation

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
    fileprivate let process: Process

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

    /// Ends the sink as an operator would; its exit status.
    @discardableResult package func stop() -> Int32 {
        process.terminate()
        process.waitUntilExit()
        return process.terminationStatus
    }

    package static let simulators = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Simulators")

    fileprivate static func start(_ options: [String]) throws -> MailSink {
        let folder = try temporaryFolder()
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["python3", simulators.appending(path: "smtp_sink.py").path, "--folder", folder.path]
            + ["--with-parent"] + options
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Trouble(text: "the sink ended at once: \(options)") }
            line += more
        }
        let words = String(decoding: line, as: UTF8.self).split { $0 == ":" || $0.isWhitespace }
        guard words.first == "LISTENING", let port = words.last.flatMap({ Int($0) }) else {
            throw Trouble(text: "the sink said \(words)")
        }
        return MailSink(port: port, folder: folder, process: process)
    }
}

/// Runs a sink for the time of `body`.
package func withMailSink(
    _ options: [String] = [], _ body: (MailSink) async throws -> Void
) async throws {
    let sink = try MailSink.start(options)
    defer {
        sink.stop()
        try? FileManager.default.removeItem(at: sink.folder)
    }
    try await body(sink)
}

package func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(
        path: "errand-mail-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// What a command wrote to its standard output.
package func output(of command: [String]) throws -> Data {
    // A file, not a pipe: another child may hold a pipe's other end open, and it never ends then.
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "output")
    try Data().write(to: file)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.standardOutput = try FileHandle(forWritingTo: file)
    try process.run()
    process.waitUntilExit()
    let data = try Data(contentsOf: file)
    guard process.terminationStatus == 0 else {
        throw MailSink.Trouble(text: "\(command.prefix(2)) ended with \(process.terminationStatus)")
    }
    return data
}
