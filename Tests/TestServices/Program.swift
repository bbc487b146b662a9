import Foundation
import Glibc

/// One process that a test has started, with what it prints kept in files.
package final class Program: Sendable {
    package struct Trouble: Error, CustomStringConvertible {
        package var description: String
        package init(_ text: String) { description = text }
    }

    /// How a process ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)
    }

    package let id: Int32
    private let process: Process
    private let folder: URL

    /// Where the command that is tested lies.
    package static var errand: String {
        ProcessInfo.processInfo.environment["ERRAND_BINARY"] ?? ".build/debug/errand"
    }

    /// Starts a program; `environment` is added to the tests' own.
    package init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        input: String? = nil
    ) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        func file(_ name: String, _ content: String = "") throws -> URL {
            let file = folder.appending(path: name)
            try Data(content.utf8).write(to: file)
            return file
        }
        let process = Process()
        self.process = process
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: file("input", input ?? ""))
        process.standardOutput = try FileHandle(forWritingTo: file("output"))
        process.standardError = try FileHandle(forWritingTo: file("errors"))
        try process.run()
        id = process.processIdentifier
    }

    deinit {
        signal(SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    package var isRunning: Bool { process.isRunning }
    package var output: String { text("output") }
    package var errors: String { text("errors") }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    /// Sends a signal, unless it has ended: its number may be another's by then.
    package func signal(_ number: Int32) {
        if process.isRunning { _ = kill(id, number) }
    }

    /// Waits for its end, without holding a thread.
    package func end(within limit: Duration) async throws -> End {
        do {
            try await eventually("the end of process \(id)", within: limit) { !process.isRunning }
        } catch {
            throw Trouble("\(error)\n\(errors.suffix(4_000))")
        }
        switch process.terminationReason {
        case .uncaughtSignal: return .killed(by: process.terminationStatus)
        default: return .exited(process.terminationStatus)
        }
    }
}
