import Delivery
import Foundation

/// A running `smtp_sink.py`, with what it kept.
struct MailSink {
    /// One line of the sink's index.
    struct Entry: Decodable {
        let file: String
        let connection: Int
        let from: String
        let to: [String]
        let user: String?
        let tls: Bool
        let hello: String
        let message_id: String?
    }

    /// Why a sink could not be used.
    struct Trouble: Error { let text: String }

    let port: Int
    let folder: URL
    fileprivate let process: Process

    /// The sink's URL for a mailer, by the name that its certificate is for.
    func url(_ parameters: String = "?starttls=never", scheme: String = "smtp", user: String = "")
        -> String
    {
        "\(scheme)://\(user)localhost:\(port)\(parameters)"
    }

    func mailer(
        _ parameters: String = "?starttls=never", scheme: String = "smtp", user: String = "",
        connections: Int = 4, transferLimit: Duration = .seconds(60)
    ) throws -> SMTPMailer {
        let url = url(parameters, scheme: scheme, user: user)
        return SMTPMailer(
            try SMTPSettings(url: url, transferLimit: transferLimit), connections: connections)
    }

    func kept() throws -> [Entry] {
        let index = try Data(contentsOf: folder.appending(path: "index.ndjson"))
        return try index.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Entry.self, from: $0)
        }
    }

    func content(of entry: Entry) throws -> Data {
        try Data(contentsOf: folder.appending(path: entry.file))
    }

    /// Ends the sink as an operator would; its exit status.
    @discardableResult func stop() -> Int32 {
        process.terminate()
        process.waitUntilExit()
        return process.terminationStatus
    }

    static let simulators = URL(filePath: #filePath)
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
func withMailSink(
    _ options: [String] = [], _ body: (MailSink) async throws -> Void
) async throws {
    let sink = try MailSink.start(options)
    defer {
        sink.stop()
        try? FileManager.default.removeItem(at: sink.folder)
    }
    try await body(sink)
}

func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(
        path: "errand-mail-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// What a command wrote to its standard output.
func output(of command: [String]) throws -> Data {
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

/// A certificate and the authority that signed it, made anew.
struct Certificate {
    let folder: URL

    init(for names: String...) throws {
        folder = try temporaryFolder()
        let script = MailSink.simulators.appending(path: "make_cert.sh").path
        _ = try output(of: [script, folder.path] + names)
    }

    var authority: String { folder.appending(path: "ca.pem").path }

    var options: [String] {
        [
            "--cert", folder.appending(path: "cert.pem").path,
            "--key", folder.appending(path: "key.pem").path,
        ]
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

/// A plain message; each has its own identifier.
func message(
    from: String = "news@errand.example", to: String = "someone@example.org",
    subject: String = "A coupon near you", text: String = "Show it at the till.\n",
    html: String? = nil, headers: [EmailMessage.Header] = []
) throws -> EmailMessage {
    try EmailMessage(
        from: Mailbox(from), to: Mailbox(to), subject: subject, text: text, html: html,
        messageID: "<\(UUID().uuidString)@errand.example>",
        date: Date(timeIntervalSince1970: 1_795_212_000), headers: headers)
}

extension EmailVerdict {
    var reason: String {
        switch self {
        case .delivered(let reply): reply
        case .deferred(let reason, _), .rejected(let reason, _), .misconfigured(let reason):
            reason
        }
    }
}
